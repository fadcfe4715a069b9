import CoreTypes

/// Stores have spelled the same value as a string, a number or a boolean at different times.
extension KeyedDecodingContainer {
  /// A string, or a number or boolean as its text. Nil when absent or null.
  func lenientText(_ key: Key) throws -> String? {
    // A failed try only means that the value has one of the other spellings. It costs more than one that succeeds, and
    // nearly all are texts.
    do { return try decodeIfPresent(String.self, forKey: key) } catch {}
    if let integer = try? decode(Int64.self, forKey: key) { return String(integer) }
    if let flag = try? decode(Bool.self, forKey: key) { return flag ? "true" : "false" }
    return try decode(String.self, forKey: key)
  }

  /// An integer, or text that is one. Nil when absent, null or empty.
  func lenientInteger(_ key: Key) throws -> Int64? {
    guard let text = try lenientText(key), !text.isEmpty else { return nil }
    guard let integer = Int64(text) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self, debugDescription: "not an integer: \(text)")
    }
    return integer
  }

  /// Does what ``lenientInteger(_:)`` does, in less time where it is a number.
  func lenientNumber(_ key: Key) throws -> Int64? {
    if let integer = try? decodeIfPresent(Int64.self, forKey: key) { return integer }
    return try lenientInteger(key)
  }

  /// A boolean, 0 or 1, or one of these as text. Nil when absent or null.
  func lenientFlag(_ key: Key) throws -> Bool? {
    switch try lenientText(key) {
    case nil: return nil
    case "true", "1": return true
    case "false", "0": return false
    case .some(let text):
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self, debugDescription: "not a boolean: \(text)")
    }
  }

  /// An array, or its only member without brackets. Nil when absent or null.
  func lenientList<Element: Decodable>(_ key: Key) throws -> [Element]? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    do {
      return try decode([Element].self, forKey: key)
    } catch DecodingError.typeMismatch(_, let context) where context.codingPath.last?.intValue == nil {
      return [try decode(Element.self, forKey: key)]
    }
  }
}

/// A member name of `verifyReceipt`'s documents.
struct VerifyReceiptKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(_ name: String) {
    stringValue = name
  }

  init?(stringValue: String) {
    self.init(stringValue)
  }

  init?(intValue: Int) {
    return nil
  }
}
