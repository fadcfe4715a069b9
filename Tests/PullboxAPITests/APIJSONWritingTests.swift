import Foundation
import PullboxAPI
import Testing

/// Documents are compared with those of Foundation's encoder, with the same order of keys and the same slashes.
@Suite("Written JSON")
struct APIJSONWritingTests {
  private func expectFoundations(_ value: some Encodable, location: SourceLocation = #_sourceLocation) throws
  {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let written = String(decoding: try APIJSON.encode(value), as: UTF8.self)
    #expect(written == String(decoding: try encoder.encode(value), as: UTF8.self), sourceLocation: location)
  }

  @Test("numbers of every type")
  func numbers() throws {
    for value in [
      0, -0.0, 1, -1.5, 0.1, 1e-7, 1e16, Double.greatestFiniteMagnitude, .leastNonzeroMagnitude, 1 / 3.0,
    ] {
      try expectFoundations([value])
      if Float(value).isFinite { try expectFoundations([Float(value)]) }
    }
    try expectFoundations([Int64.min, 0, Int64.max])
    try expectFoundations([UInt64.max])
    try expectFoundations([Int8.min])
    try expectFoundations([UInt16.max])
    try expectFoundations([true, false])
  }

  @Test("texts with every character below U+0100, and some beyond")
  func texts() throws {
    for scalar in 0..<0x100 {
      let text = String(try #require(Unicode.Scalar(UInt32(scalar))))
      try expectFoundations(["a" + text: text + "b"])
    }
    try expectFoundations(["\u{2028}\u{FEFF}é漢🦉/\\\"", "e\u{301}", ""])
  }

  @Test("names ascend by their bytes")
  func names() throws {
    try expectFoundations([
      "b": 1, "a": 2, "B": 3, "10": 4, "9": 5, "é": 6, "z": 7, "\u{FFFD}": 8, "🦉": 9, "": 10,
    ])
  }

  @Test("lists and objects within each other, empty ones and null among them")
  func nesting() throws {
    try expectFoundations([[String: [Int?]]]())
    try expectFoundations(
      ["a": [["b": [1, nil], "c": []]], "d": [], "e": [[:]]] as [String: [[String: [Int?]]]])
    try expectFoundations([Int?]([nil, 1]))
    try expectFoundations([[[[7]]]])
  }

  /// Uses what synthesized conformances do not.
  private struct Unusual: Encodable {
    enum Key: String, CodingKey { case z, a, list, object, twice, missing }

    struct Part: Encodable {
      func encode(to encoder: any Encoder) throws {
        var first = encoder.container(keyedBy: Key.self)
        try first.encode("first", forKey: .twice)
        var second = encoder.container(keyedBy: Key.self)
        try second.encode(2, forKey: .twice)
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      var list = container.nestedUnkeyedContainer(forKey: .list)
      var object = container.nestedContainer(keyedBy: Key.self, forKey: .object)
      try list.encode(1)
      try object.encode("x", forKey: .z)
      try container.encode(Part(), forKey: .z)
      try container.encodeNil(forKey: .a)
      try container.encodeIfPresent(Int?.none, forKey: .missing)
      // After the members beside them.
      var inner = list.nestedContainer(keyedBy: Key.self)
      try list.encodeNil()
      try inner.encode(true, forKey: .a)
      var lists = list.nestedUnkeyedContainer()
      try lists.encode("deep")
      #expect(list.count == 4)
      try [3, 4].encode(to: list.superEncoder())
      try object.encode(UInt8(7), forKey: .a)
      try "above".encode(to: container.superEncoder())
      try 5.5.encode(to: container.superEncoder(forKey: .twice))
      var again = encoder.container(keyedBy: Key.self)
      try again.encode("later", forKey: .object)
    }
  }

  @Test("containers that are filled side by side, and members that are written twice")
  func unusual() throws {
    try expectFoundations(Unusual())
    try expectFoundations(["a": [Unusual()]])
  }
}
