import CoreTypes
import Foundation
import PullboxTesting
import Testing

@Suite("A list that is decoded element by element")
struct JSONElementsTests {
  private struct Whole: Decodable, Hashable {
    var items: [Item]
    var note: String?
  }

  private struct Item: Decodable, Hashable {
    var name: String
    var inner: [[Int]]?
  }

  private static func split(_ text: String, upTo limit: Int = 10) throws(JSONElementsError) -> (
    elements: [String], rest: String
  ) {
    let bytes = Array(text.utf8)
    let split = try JSONElements(of: "items", in: bytes, upTo: limit)
    return (
      split.places.map { String(decoding: bytes[$0], as: UTF8.self) },
      String(decoding: split.rest, as: UTF8.self)
    )
  }

  private static func refusal(_ text: String, upTo limit: Int = 10) -> JSONElementsError.Code? {
    do {
      _ = try split(text, upTo: limit)
      return nil
    } catch {
      return error.code
    }
  }

  @Test(
    "elements are found wherever the list stands among the members, and the rest is the document without them"
  )
  func places() throws {
    let found = try Self.split(#" { "note" : "a" , "items" : [ {"name":"b"} ,1, "c" ,[2]] , "z":{} } "#)
    #expect(found.elements == [#"{"name":"b"}"#, "1", #""c""#, "[2]"])
    #expect(found.rest == #" { "note" : "a" , "items" : [] , "z":{} } "#)
    #expect(try Self.split(#"{"items":[]}"#) == ([], #"{"items":[]}"#))
    #expect(try Self.split(#"{"items":[ ]}"#).elements.isEmpty)
  }

  @Test("brackets, quotes and commas within texts and within elements end nothing")
  func nesting() throws {
    let element = #"{"a":"]},[\"\\","b":[{"c":[1,2]},"{"]}"#
    #expect(try Self.split("{\"items\":[\(element),\(element)]}").elements == [element, element])
    // A list of that name within another member is another list.
    let other = #"{"note":{"items":[1,2]},"items":[3]}"#
    #expect(try Self.split(other).elements == ["3"])
  }

  @Test("a document without such a list is left to the decoder as it is", arguments: ["null", "{}", "7"])
  func noList(value: String) throws {
    let text = "{\"items\":\(value)}"
    let found = try Self.split(text)
    #expect(found.elements.isEmpty)
    #expect(found.rest == text)
    #expect(try Self.split("{}").rest == "{}")
  }

  @Test(
    "what is no object, ends early, or lacks a comma is refused",
    arguments: [
      "", "[]", "null", "\"items\"", "{", #"{"items"#, #"{"items":"#, #"{"items":["#, #"{"items":[1"#,
      #"{"items":[1,"#, #"{"items":[{"name":"a"#, #"{"items":[1]"#, #"{"items":[1 2]}"#,
      #"{"items":[1}}"#, #"{"items":[1]]}"#, #"{"items":[1]}}"#, #"{"items":[1] "note":"a"}"#,
      #"{"items":[1],}"#, #"{items:[1]}"#, #"{"items" [1]}"#, "{\0\"\0i\0",
    ])
  func malformed(text: String) {
    #expect(Self.refusal(text) == .malformed)
  }

  @Test("an element that is missing is one that no decoder takes", arguments: ["[,]", "[1,]", "[,1]"])
  func missingElements(list: String) throws {
    let elements = try Self.split("{\"items\":\(list)}").elements
    #expect(elements.contains(""))
  }

  @Test("which list is meant is clear: one is there once, and its name is written without escapes")
  func ambiguous() {
    #expect(Self.refusal(#"{"items":[1],"items":[2]}"#) == .ambiguous)
    #expect(Self.refusal(#"{"items":null,"items":[2]}"#) == nil)
    #expect(Self.refusal(#"{"items":[2],"items":null}"#) == .ambiguous)
    #expect(Self.refusal(#"{"\u0069tems":[1]}"#) == .ambiguous)
  }

  @Test("a list has as many elements as it may have, and not one more")
  func limit() throws {
    #expect(try Self.split(#"{"items":[1,2]}"#, upTo: 2).elements.count == 2)
    #expect(Self.refusal(#"{"items":[1,2,3]}"#, upTo: 2) == .tooMany)
    #expect(Self.refusal("{\"items\":[" + String(repeating: ",", count: 100_000), upTo: 2) == .tooMany)
  }

  @Test("depth costs no stack")
  func depth() {
    let deep = String(repeating: "[", count: 1_000_000)
    #expect(Self.refusal("{\"items\":[\(deep)") == .malformed)
    #expect(Self.refusal("{\"other\":\(deep)") == .malformed)
  }

  @Test("a mark of the byte order before the object is passed over")
  func byteOrderMark() throws {
    #expect(try Self.split("\u{FEFF}{\"items\":[1]}").elements == ["1"])
  }

  @Test("an error says what is expected, and where")
  func message() {
    let error = #expect(throws: JSONElementsError.self) { try Self.split(#"{"items":[1 2]}"#) }
    #expect(error?.description == "a comma or ] follows an element, at byte 12")
  }

  /// Returns the value that the parts have together; nil where one of them is refused.
  private func readInParts(_ bytes: [UInt8]) -> Whole? {
    guard let split = try? JSONElements(of: "items", in: bytes, upTo: 100),
      var whole = try? JSONDecoder().decode(Whole.self, from: Data(split.rest))
    else { return nil }
    for place in split.places {
      guard let item = try? JSONDecoder().decode(Item.self, from: Data(bytes[place])) else { return nil }
      whole.items.append(item)
    }
    return whole
  }

  @Test("whatever the bytes are, what is read in parts is what a decoder reads of the whole")
  func anything() {
    var mutator = Mutator(
      seed: 7,
      seeds: [
        #"{"note":"a\"]","items":[{"name":"b","inner":[[1,2],[]]},{"name":"c{"}"#
          + #",{"inner":null,"name":"\u0064"}]}"#,
        #"{"items":[]}"#, #"{"items":[{"name":"a"}],"note":null}"#,
      ],
      words: [
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0041", "null", "1", " ", "\0", "\u{FEFF}",
        "\"items\":[", "\"note\":\"a\"", #"{"name":"e"}"#, #","x":[{}]"#,
      ])
    var read = 0
    for _ in 0..<20_000 {
      let bytes = mutator.next()
      guard let inParts = readInParts(bytes) else { continue }
      read += 1
      let whole = try? JSONDecoder().decode(Whole.self, from: Data(bytes))
      #expect(inParts == whole, "\(String(decoding: bytes, as: UTF8.self))")
    }
    #expect(read > 1000)
  }
}
