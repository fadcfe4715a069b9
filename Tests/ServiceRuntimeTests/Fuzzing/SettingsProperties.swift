@testable import ServiceRuntime

/// ``JSON5Parser``: a fault stands at a place of the text, what is taken is no deeper than is allowed, and means the same once it
/// is written and read again.
enum SettingsProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    let value: ConfigurationValue
    do throws(ConfigurationError) {
      value = try JSON5Parser.parse(bytes, source: .file("f"))
    } catch {
      guard error.faults.count == 1, let origin = error.faults.first?.origin else { return "not one fault" }
      return isPlace(origin, of: bytes) ? nil : "a fault at \(origin)"
    }
    if let broken = checkShape(value, of: bytes, depth: 0) { return broken }
    do throws(ConfigurationError) {
      let again = try JSON5Parser.parse(Array(value.json5.utf8), source: .file("f"))
      return isSame(value, again) ? nil : "\(value.json5) is read as \(again.json5)"
    } catch {
      return "\(value.json5) is refused: \(error)"
    }
  }

  /// Behind the last character, at most.
  private static func isPlace(_ origin: ConfigurationOrigin, of bytes: [UInt8]) -> Bool {
    guard case .file("f", let line, let column) = origin else { return false }
    return (1...1 + bytes.count { $0 == 10 || $0 == 13 }).contains(line)
      && (1...1 + bytes.count).contains(column)
  }

  private static func checkShape(_ value: ConfigurationValue, of bytes: [UInt8], depth: Int) -> String? {
    if depth > JSON5Parser.maximumDepth { return "\(depth) levels" }
    guard isPlace(value.origin, of: bytes) else { return "a value at \(value.origin)" }
    let inner: [ConfigurationValue]
    switch value.content {
    case .list(let elements): inner = elements
    case .table(let members): inner = Array(members.values)
    case .number(let number): return number.isFinite ? nil : "\(number)"
    case .text: return "a text of no file"
    case .null, .boolean, .integer, .string: return nil
    }
    for element in inner {
      if let broken = checkShape(element, of: bytes, depth: depth + 1) { return broken }
    }
    return nil
  }

  /// But for the places.
  private static func isSame(_ left: ConfigurationValue, _ right: ConfigurationValue) -> Bool {
    switch (left.content, right.content) {
    case (.list(let one), .list(let two)):
      one.count == two.count && zip(one, two).allSatisfy { isSame($0, $1) }
    case (.table(let one), .table(let two)):
      one.count == two.count && one.allSatisfy { key, value in two[key].map { isSame(value, $0) } ?? false }
    default: left.content == right.content
    }
  }
}
