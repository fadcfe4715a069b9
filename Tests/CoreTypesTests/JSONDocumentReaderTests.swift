import CoreTypes
import Foundation
import PullboxTesting
import Testing

/// Values that are read are compared with those of Foundation's decoder.
@Suite("JSON documents that are read without Foundation")
struct JSONDocumentReaderTests {
  /// Any document, by what each value can be decoded as.
  private indirect enum Anything: Decodable, Hashable {
    case null
    case flag(Bool)
    case integer(Int64)
    case real(Double)
    case text(String)
    case list([Anything])
    case object([String: Anything])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let flag = try? container.decode(Bool.self) {
        self = .flag(flag)
      } else if let integer = try? container.decode(Int64.self) {
        self = .integer(integer)
      } else if let real = try? container.decode(Double.self) {
        self = .real(real)
      } else if let text = try? container.decode(String.self) {
        self = .text(text)
      } else if let list = try? container.decode([Anything].self) {
        self = .list(list)
      } else {
        self = .object(try container.decode([String: Anything].self))
      }
    }
  }

  /// One member of every type that a container is asked for by its own name.
  private struct Members: Codable, Hashable {
    var name: String
    var note: String?
    var isOn: Bool?
    var count: Int
    var small: UInt8?
    var large: Int64?
    var share: Double?
    var part: Float?
    var numbers: [Int]?
    var children: [Members]?
    var prices: [String: UInt16]?
    var inner: Inner?

    struct Inner: Codable, Hashable {
      var text: String?
    }
  }

  /// Uses what synthesized conformances do not.
  private struct Nested: Decodable, Hashable {
    enum Key: String, CodingKey, CaseIterable { case object, list, text, gone }

    var names: [String]
    var texts: [String] = []
    var isNull: Bool

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      names = container.allKeys.map(\.stringValue).sorted()
      let object = try container.nestedContainer(keyedBy: Key.self, forKey: .object)
      isNull = try object.decodeNil(forKey: .text)
      var list = try container.nestedUnkeyedContainer(forKey: .list)
      while !list.isAtEnd {
        if try list.decodeNil() { continue }
        if list.currentIndex == 1 {
          texts.append(try list.nestedContainer(keyedBy: Key.self).decode(String.self, forKey: .text))
        } else if list.currentIndex == 2 {
          var inner = try list.nestedUnkeyedContainer()
          texts.append("\(inner.count ?? -1) \(try inner.decode(Int.self))")
        } else {
          texts.append(try list.decode(String.self))
        }
      }
    }
  }

  private func read<Value: Decodable & Hashable>(_ type: Value.Type, _ text: String) throws -> Value? {
    let bytes = Array(text.utf8)
    let value = JSONDocumentReader.value(type, in: bytes)
    if let value { #expect(try JSONDecoder().decode(type, from: Data(bytes)) == value, "\(text)") }
    return value
  }

  private static let whole = #"""
    {"name": "a", "note": "b\n\u00e9\/\"\\ \u2028", "isOn": true, "count": -12, "small": 255, "large": 999999999999999999,
     "share": 3, "part": 16777217, "numbers": [0, 1, -1], "children": [{"name": "", "count": 0, "note": null}],
     "prices": {"FRA": 299, "": 65535}, "inner": {}, "later": [[], {}, false, {"x": [null]}]}
    """#

  @Test(
    "documents of texts, whole numbers, flags, lists and objects are read, as Foundation reads them",
    arguments: [
      whole, #"{"count":1,"name":"漫画 😀 e\#u{301}"}"#, "\t\r\n {\"name\"\n:\"\" , \"count\" :1} \n",
      #"{"name":"a","count":1,"isOn":null,"children":null,"inner":null}"#,
    ])
  func members(text: String) throws {
    #expect(try read(Members.self, text) != nil)
    #expect(try read(Anything.self, text) != nil)
  }

  @Test(
    "a document may be any value",
    arguments: ["null", "true", "false", "0", "-1", "\"\"", "[]", "{}", "[[1]]"])
  func fragments(text: String) throws {
    #expect(try read(Anything.self, text) != nil)
  }

  @Test("of members with one name the first counts, as with Foundation")
  func twice() throws {
    let text = #"{"name":"first","count":1,"name":"second","count":2,"prices":{"a":1,"a":2}}"#
    let value = try #require(try read(Members.self, text))
    #expect((value.name, value.count, value.prices) == ("first", 1, ["a": 1]))
  }

  @Test("containers within containers, null among the elements, and names that the type does not know")
  func nested() throws {
    let text =
      #"{"object":{"text":null},"other":1,"list":["a",{"text":"b"},[7,8],null,"c"],"text":"d"}"#
    let value = try #require(try read(Nested.self, text))
    #expect(value.names == ["list", "object", "text"])
    #expect(value.texts == ["a", "b", "2 7", "c"] && value.isNull)
    #expect(try read(Nested.self, #"{"object":{},"list":[]}"#) == nil)
    #expect(try read(Nested.self, #"{"object":{"text":1},"list":[""]}"#)?.isNull == false)
  }

  @Test(
    "what does not fit the type is left to Foundation",
    arguments: [
      #"{"count":1}"#, #"{"name":null,"count":1}"#, #"{"name":1,"count":1}"#, #"{"name":"a","count":"1"}"#,
      #"{"name":"a","count":true}"#, #"{"name":"a","count":1,"small":256}"#,
      #"{"name":"a","count":1,"small":-1}"#,
      #"{"name":"a","count":1,"isOn":1}"#, #"{"name":"a","count":1,"numbers":{}}"#,
      #"{"name":"a","count":1,"inner":[]}"#, #"{"name":"a","count":1,"numbers":[null]}"#, "[]", "null",
    ])
  func misfits(text: String) throws {
    #expect(try read(Members.self, text) == nil)
  }

  @Test(
    "what is no document, or a rare one, is left to Foundation",
    arguments: [
      "", " ", "{", "}", "[1,]", "[,]", "{\"a\":}", "{\"a\" 1}", "{a:1}", "{\"a\":1,}", "[1 2]", "1 2", "nul",
      "nulls", "True", "'a'", "\"a", "\"\\", "\"\\q\"", "\"\\u12\"", "\"\\u12g4\"", "\"\u{1}\"", "\"\n\"",
      "+1",
      "01", "-", "-0", "--1", "1.0", "1e1", "1E1", "1.", ".5", "NaN", "1234567890123456789", "0x1",
      "\u{FEFF}1", #""\ud83d\ude00""#, #""\uD83D""#, #"{"\u0061":1}"#, #"{"é":1}"#, "[1]//", "/**/1",
    ])
  func others(text: String) throws {
    #expect(try read(Anything.self, text) == nil)
  }

  @Test("bytes that are no UTF-8 are left to Foundation, wherever they stand")
  func encoding() {
    for bytes in [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80]] as [[UInt8]] {
      let text = Array(#"{"later":""#.utf8) + bytes + Array(#"","name":"a","count":1}"#.utf8)
      #expect(JSONDocumentReader.value(Members.self, in: text) == nil)
    }
  }

  @Test("a document at the limits is read, and one beyond them is left to Foundation")
  func limits() throws {
    func lists(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(try read(Anything.self, lists(JSONDocumentReader.maximumDepth)) != nil)
    #expect(try read(Anything.self, lists(JSONDocumentReader.maximumDepth + 1)) == nil)
    func list(_ count: Int) -> String {
      "[" + Array(repeating: "1", count: count).joined(separator: ",") + "]"
    }
    // The list is a value as well.
    #expect(try read([Int].self, list(JSONDocumentReader.maximumValues - 1)) != nil)
    #expect(try read([Int].self, list(JSONDocumentReader.maximumValues)) == nil)
    func object(_ count: Int) -> String {
      "{" + (0..<count).map { "\"\($0)\":1" }.joined(separator: ",") + "}"
    }
    #expect(try read([String: Int].self, object(JSONDocumentReader.maximumMembers)) != nil)
    #expect(try read([String: Int].self, object(JSONDocumentReader.maximumMembers + 1)) == nil)
    let long = [UInt8](repeating: 0x20, count: JSONDocumentReader.maximumLength) + [0x31]
    #expect(JSONDocumentReader.value(Int.self, in: Array(long.dropFirst())) == 1)
    #expect(JSONDocumentReader.value(Int.self, in: long) == nil)
  }

  @Test("whatever the bytes are, what is read is what Foundation reads")
  func anything() throws {
    var mutator = Mutator(
      seed: 9, seeds: [Self.whole, #"[[{"a":"b"},"c"],[1,2,{"d":null}],true]"#, #"{"name":"a","count":1}"#],
      words: [
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0041", "\\n", "null", "true", "1", "-1", "1.5", "é",
        " ",
        "\"name\":", "\"count\":2", "\"isOn\":false", "\"x\":{}",
      ])
    var reads = 0
    for _ in 0..<20_000 {
      let bytes = mutator.next()
      if let value = JSONDocumentReader.value(Anything.self, in: bytes) {
        reads += 1
        let expected = try? JSONDecoder().decode(Anything.self, from: Data(bytes))
        #expect(expected == value, "\(String(decoding: bytes, as: UTF8.self))")
      }
      if let value = JSONDocumentReader.value(Members.self, in: bytes) {
        let expected = try? JSONDecoder().decode(Members.self, from: Data(bytes))
        #expect(expected == value, "\(String(decoding: bytes, as: UTF8.self))")
      }
    }
    #expect(reads > 2000)
  }
}
