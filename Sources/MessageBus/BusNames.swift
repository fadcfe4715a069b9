/// The name of a connection to a bus, as the D-Bus specification writes it ("Bus names"): well-known such as `org.freedesktop.UPower`, or
/// unique such as `:1.42`, which the bus gives and never gives again.
public struct BusName: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The name's text: 3 to 255 bytes of ASCII.
  public let description: String

  /// Nil for a text that is no name of a bus.
  public init?(_ text: String) {
    let isUnique = text.utf8.first == UInt8(ascii: ":")
    // By bytes: a mark behind the colon would be dropped with it.
    let body = isUnique ? Substring(text.utf8.dropFirst()) : text[...]
    guard text.utf8.count <= BusSyntax.maximumLength,
      BusSyntax.hasElements(body, dashes: true, digitsFirst: isUnique)
    else { return nil }
    description = text
  }

  /// A name in the program's text; traps where it is none.
  public init(stringLiteral text: StaticString) {
    guard let name = BusName("\(text)") else { preconditionFailure("\(text) is no name of a bus") }
    self = name
  }

  /// Whether the bus gave the name.
  public var isUnique: Bool { description.utf8.first == UInt8(ascii: ":") }

  /// The bus itself.
  public static let bus: BusName = "org.freedesktop.DBus"
}

/// The name of an interface (D-Bus specification, "Interface names"): `org.freedesktop.DBus.Properties`.
public struct BusInterface: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The name's text: 3 to 255 bytes of ASCII.
  public let description: String

  /// Nil for a text that is no name of an interface.
  public init?(_ text: String) {
    guard text.utf8.count <= BusSyntax.maximumLength,
      BusSyntax.hasElements(text[...], dashes: false, digitsFirst: false)
    else { return nil }
    description = text
  }

  /// A name in the program's text; traps where it is none.
  public init(stringLiteral text: StaticString) {
    guard let name = BusInterface("\(text)") else { preconditionFailure("\(text) is no interface") }
    self = name
  }

  /// The bus itself.
  public static let bus: BusInterface = "org.freedesktop.DBus"
  /// Properties of an object.
  public static let properties: BusInterface = "org.freedesktop.DBus.Properties"
  /// The description of an object.
  public static let introspectable: BusInterface = "org.freedesktop.DBus.Introspectable"
  /// The objects below an object.
  public static let objectManager: BusInterface = "org.freedesktop.DBus.ObjectManager"
  /// A connection's sign of life, which the library answers.
  public static let peer: BusInterface = "org.freedesktop.DBus.Peer"
}

/// The path of an object (D-Bus specification, "Valid object paths").
public struct BusPath: Hashable, Sendable, Comparable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The longest path that is taken, in bytes; the specification has no bound.
  public static let maximumLength = 1024

  /// The path's text: `/`, or names of letters, digits and underscores, each after a slash.
  public let description: String

  /// Nil for a text that is no path, or that is longer than ``maximumLength``.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.maximumLength, text.utf8.first == UInt8(ascii: "/") else { return nil }
    let names = text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard
      text == "/"
        || names.allSatisfy({ !$0.isEmpty && $0.allSatisfy { BusSyntax.isWord($0, dashes: false) } })
    else { return nil }
    description = text
  }

  /// A path in the program's text; traps where it is none.
  public init(stringLiteral text: StaticString) {
    guard let path = BusPath("\(text)") else { preconditionFailure("\(text) is no path of an object") }
    self = path
  }

  /// The path of an object below this one. Bytes of `identifier` other than letters and digits are written as an underscore and two
  /// hexadecimal digits, as sd_bus_path_encode(3) does, so that ``identifier(below:)`` reads it back. Nil for a path that is too long.
  public func appending(identifier: String) -> BusPath? {
    BusPath((description == "/" ? "" : description) + "/" + Self.encoded(identifier))
  }

  /// The identifier that ``appending(identifier:)`` has written behind `parent`; nil for another path.
  public func identifier(below parent: BusPath) -> String? {
    let start = parent.description == "/" ? "/" : parent.description + "/"
    guard description.hasPrefix(start) else { return nil }
    return Self.decoded(description.utf8.dropFirst(start.utf8.count))
  }

  /// Whether the path is `ancestor` or lies below it.
  public func isWithin(_ ancestor: BusPath) -> Bool {
    ancestor.description == "/" || self == ancestor || description.hasPrefix(ancestor.description + "/")
  }

  /// Orders by the bytes of the text.
  public static func < (left: BusPath, right: BusPath) -> Bool { left.description < right.description }

  private static func encoded(_ identifier: String) -> String {
    guard !identifier.isEmpty else { return "_" }
    var text = ""
    for (index, byte) in identifier.utf8.enumerated() {
      let isDigit = BusSyntax.isDigit(byte)
      if BusSyntax.isLetter(byte) || (isDigit && index > 0) {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16)
        text += digits.utf8.count == 1 ? "_0\(digits)" : "_\(digits)"
      }
    }
    return text
  }

  private static func decoded(_ text: Substring.UTF8View) -> String? {
    if text.elementsEqual("_".utf8) { return "" }
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      if byte != UInt8(ascii: "_") {
        guard byte != UInt8(ascii: "/") else { return nil }
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
  }
}

/// The characters of names.
enum BusSyntax {
  /// The longest name, in bytes.
  static let maximumLength = 255

  /// Whether a text has two or more words with dots between them.
  static func hasElements(_ text: Substring, dashes: Bool, digitsFirst: Bool) -> Bool {
    let elements = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return elements.count >= 2
      && elements.allSatisfy { element in
        guard let first = element.first, digitsFirst || !isDigit(first) else { return false }
        return element.allSatisfy { isWord($0, dashes: dashes) }
      }
  }

  /// Whether a text is the name of a method, a signal or a property: a letter or underscore, then digits too; 255 bytes at most.
  static func isMember(_ text: String) -> Bool {
    guard let first = text.utf8.first, !isDigit(first), text.utf8.count <= maximumLength else { return false }
    return text.utf8.allSatisfy { isWord($0, dashes: false) }
  }

  static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  static func isLetter(_ byte: UInt8) -> Bool {
    let lower = byte | 0x20
    return lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z")
  }

  static func isWord(_ byte: UInt8, dashes: Bool) -> Bool {
    isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "_") || (dashes && byte == UInt8(ascii: "-"))
  }
}
