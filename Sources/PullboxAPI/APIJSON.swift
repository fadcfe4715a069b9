import CoreTypes
import FoundationEssentials

/// The one way JSON is written and read on every interface: UTF-8, camelCase, sorted keys, dates by ``Timestamp``.
public enum APIJSON {
  /// The document's UTF-8 bytes: keys ascending, slashes not escaped, no line feed at the end. Throws
  /// `EncodingError` for a number that is not finite.
  public static func encode(_ value: some Encodable) throws -> [UInt8] {
    if let value = value as? any SelfWritten { return try JSONObjectWriter.bytes(of: value) }
    return try JSONDocumentWriter.bytes(of: value)
  }

  /// The value in `bytes`. Members that `type` does not have are ignored, but refused in what is ``OperatorWritten``. Throws `DecodingError`,
  /// which ``explain(_:in:)`` puts into a sentence. `allowsJSON5` is for files that people write.
  public static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: [UInt8], allowsJSON5: Bool = false
  ) throws -> Value {
    let isOperatorWritten = type is any OperatorWritten.Type
    if !allowsJSON5 {
      if !isOperatorWritten {
        if let value = JSONDocumentReader.value(type, in: bytes) { return value }
      } else if let traced = JSONDocumentReader.value(TracedMembers<Value>.self, in: bytes) {
        return traced.value
      }
    }
    let (decoder, data) = (JSONDecoder(), Data(bytes))
    decoder.allowsJSON5 = allowsJSON5
    guard isOperatorWritten else {
      do {
        return try decoder.decode(type, from: data)
      } catch DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty {
        // Foundation says no JSON where it means a number that its type cannot hold. Read again, that has a place.
        decoder.userInfo[PassedOver.key] = PassedOver.members
        return try decoder.decode(TracedMembers<Value>.self, from: data).value
      }
    }
    return try decoder.decode(TracedMembers<Value>.self, from: data).value
  }

  /// The value in the answer of a service, which may be of a later version: a word that is none of its list does not make it unreadable. In place of
  /// the word stands the list's own ``ListedWords/fallback``. Without one the member is absent; where it has to be there, the object around
  /// it is left out of its list, or is absent in turn. Throws `DecodingError` as ``decode(_:from:allowsJSON5:)`` does, also for a word without which nothing is
  /// left. Requests, and what is kept on a disk, are read by that.
  public static func decode<Value: Decodable>(answer type: Value.Type, from bytes: [UInt8]) throws -> Value {
    do {
      return try decode(type, from: bytes)
    } catch let error as DecodingError where error.isOfUnknownWord {
      // Rare: it is read again.
      let decoder = JSONDecoder()
      decoder.userInfo[PassedOver.key] = PassedOver.membersAndWords
      return try decoder.decode(TracedMembers<Value>.self, from: Data(bytes)).value
    }
  }

  /// A sentence for people about what a decoder refused, naming the member. `place` is where the decoded value stands in a larger
  /// document, as `products.[7]`.
  public static func explain(_ error: any Error, in place: String? = nil) -> String {
    guard let fault = fault(error) else {
      return place.map { "\($0) is not readable as JSON" } ?? "not readable as JSON"
    }
    let names = fault.path.map { Int($0).map { "[\($0)]" } ?? $0 }
    let name =
      names.isEmpty ? place ?? "the document" : ((place.map { [$0] } ?? []) + names).joined(separator: ".")
    return "\(name)\(fault.isSentence ? ":" : "") \(fault.message)"
  }

  /// Returns the place and the reason of a decoding error: the path of the member, with positions in lists as numbers,
  /// and the message. Nil for another error. `isSentence` is true if the message stands for itself, and false if it
  /// continues the member's name.
  public static func fault(_ error: any Error) -> (path: [String], message: String, isSentence: Bool)? {
    guard let error = error as? DecodingError else { return nil }
    func names(_ path: [any CodingKey]) -> [String] {
      path.map { key in key.intValue.map { "\($0)" } ?? key.stringValue }
    }
    switch error {
    case .typeMismatch(let type, let context):
      return (names(context.codingPath), "is not \(words(for: type))", false)
    case .valueNotFound(_, let context): return (names(context.codingPath), "is null", false)
    case .keyNotFound(let key, let context): return (names(context.codingPath + [key]), "is missing", false)
    case .dataCorrupted(let context):
      // Foundation says so of a whole document.
      guard !context.debugDescription.hasPrefix("The given data was not valid JSON") else {
        return (names(context.codingPath), "not JSON", true)
      }
      return (names(context.codingPath), context.debugDescription, true)
    @unknown default: return ([], "cannot be read", false)
    }
  }

  /// Returns words for the JSON value that a decoder expects for the type.
  private static func words(for type: Any.Type) -> String {
    switch type {
    case is String.Type: return "a text in quotation marks"
    case is Bool.Type: return "true or false"
    case is any BinaryInteger.Type: return "a whole number"
    case is any BinaryFloatingPoint.Type: return "a number"
    default:
      let name = "\(type)"
      if name.hasPrefix("Array") || name.hasPrefix("Set") { return "a list in square brackets" }
      if name.hasPrefix("Dictionary") || name.hasPrefix("KeyedDecodingContainer") {
        return "an object in braces"
      }
      return name.contains("Container") ? "a list in square brackets" : "a \(name)"
    }
  }
}

/// A body that an operator writes, often by hand. ``APIJSON`` refuses members in it that its type does not have, at every
/// depth, and names the first: ignored, `{"percentag":10}` would release to all devices.
///
/// Everything else ignores unknown members, so that programs of different versions understand one another.
public protocol OperatorWritten: Decodable {}
