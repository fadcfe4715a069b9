/// The type of one value on a bus: a single complete type of the D-Bus specification ("Type system"), such as `s` or `a{sv}`.
public struct BusType: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// Arrays, structures and dictionary entries in one another at most, as libraries for D-Bus read them.
  public static let maximumDepth = 32

  /// The signature: 1 to 255 bytes.
  public let description: String

  /// Nil for a text that is no single complete type.
  public init?(_ text: String) {
    let types = Self.list(text)
    guard let types, types.count == 1 else { return nil }
    description = text
  }

  /// A type in the program's text; traps where it is none.
  public init(stringLiteral text: StaticString) {
    guard let type = BusType("\(text)") else { preconditionFailure("\(text) is no type") }
    self = type
  }

  /// A type whose text is known to be one.
  init(unchecked text: String) { description = text }

  /// The types of a signature, one after another; nil where it is malformed.
  public static func list(_ signature: String) -> [BusType]? {
    guard signature.utf8.count <= 255 else { return nil }
    var types: [BusType] = []
    var rest = signature.utf8[...]
    while !rest.isEmpty {
      let start = rest
      guard skipType(&rest, depth: 0) else { return nil }
      types.append(
        BusType(
          unchecked: String(decoding: start.prefix(start.count - rest.count), as: UTF8.self)))
    }
    return types
  }

  private static let basic = Set("ybnqiuxtdsogh".utf8)

  /// Takes one complete type from the front; false where there is none.
  private static func skipType(_ rest: inout Substring.UTF8View, depth: Int) -> Bool {
    guard depth <= maximumDepth, let code = rest.popFirst() else { return false }
    switch code {
    case UInt8(ascii: "v"): return true
    case UInt8(ascii: "a"):
      guard rest.first == UInt8(ascii: "{") else { return skipType(&rest, depth: depth + 1) }
      rest.removeFirst()
      guard let key = rest.popFirst(), basic.contains(key), skipType(&rest, depth: depth + 2) else {
        return false
      }
      return rest.popFirst() == UInt8(ascii: "}")
    case UInt8(ascii: "("):
      guard rest.first != UInt8(ascii: ")") else { return false }
      while let next = rest.first, next != UInt8(ascii: ")") {
        guard skipType(&rest, depth: depth + 1) else { return false }
      }
      return rest.popFirst() != nil
    default: return basic.contains(code)
    }
  }
}
