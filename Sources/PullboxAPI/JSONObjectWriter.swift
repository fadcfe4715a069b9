import CoreTypes
package import Crypto

/// A document that is written all the time, and so writes its members itself: by way of `Encodable` each of them costs some
/// calls through containers and an allocation or two. Both write the same bytes.
package protocol SelfWritten: Encodable {
  /// Writes all members, in the order of their names.
  func write(to object: inout JSONObjectWriter) throws

  /// Bytes that the document will have, about.
  var expectedLength: Int { get }
}

extension SelfWritten {
  package var expectedLength: Int { 2048 }
}

/// Writes the members of one JSON object, each behind the one before.
package struct JSONObjectWriter {
  private var bytes: [UInt8] = []
  private var lastName: String?

  /// The value's document. Throws what it holds throws when it is encoded.
  static func bytes(of value: some SelfWritten) throws -> [UInt8] {
    var object = JSONObjectWriter()
    object.bytes.reserveCapacity(value.expectedLength)
    try object.writeObject(value)
    return object.bytes
  }

  package mutating func set(_ name: String, to text: String) {
    begin(name)
    JSONString.append(text, to: &bytes)
  }

  package mutating func set(_ name: String, to number: Int64) {
    begin(name)
    bytes.append(contentsOf: String(number).utf8)
  }

  /// The digest's text, which costs no string.
  package mutating func set(_ name: String, to digest: SHA256Digest) {
    begin(name)
    bytes.append(UInt8(ascii: "\""))
    Hexadecimal.append(digest.bytes.span, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  package mutating func set(_ name: String, to flag: Bool) {
    begin(name)
    bytes.append(contentsOf: (flag ? "true" : "false").utf8)
  }

  package mutating func set(_ name: String, to values: [some SelfWritten]) throws {
    begin(name)
    let outer = lastName
    bytes.append(UInt8(ascii: "["))
    for (place, value) in values.enumerated() {
      if place > 0 { bytes.append(UInt8(ascii: ",")) }
      try writeObject(value)
    }
    bytes.append(UInt8(ascii: "]"))
    lastName = outer
  }

  package mutating func set(_ name: String, to value: some SelfWritten) throws {
    begin(name)
    let outer = lastName
    try writeObject(value)
    lastName = outer
  }

  /// Nothing for nil.
  package mutating func set(_ name: String, encoding value: (some Encodable)?) throws {
    guard let value else { return }
    begin(name)
    bytes += try APIJSON.encode(value)
  }

  private mutating func writeObject(_ value: some SelfWritten) throws {
    lastName = nil
    bytes.append(UInt8(ascii: "{"))
    try value.write(to: &self)
    bytes.append(UInt8(ascii: "}"))
  }

  private mutating func begin(_ name: String) {
    if let lastName {
      assert(lastName < name, "members stand in the order of their names")
      bytes.append(UInt8(ascii: ","))
    }
    lastName = name
    // A member's name is written in the sources: it has nothing to escape.
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: name.utf8)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }
}
