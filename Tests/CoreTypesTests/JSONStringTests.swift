import CoreTypes
import FoundationEssentials
import Testing

@Suite("Strings of JSON")
struct JSONStringTests {
  private func quoted(_ text: String, _ form: JSONString.Form = .canonical) -> String {
    var bytes: [UInt8] = []
    JSONString.append(text, to: &bytes, form: form)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(
    "RFC 8785 §3.2.2.2: controls have their short escape or \\u00xx in lower case, all else is itself",
    arguments: [
      ("\u{8}\t\n\u{C}\r", #""\b\t\n\f\r""#), ("\u{0}\u{1}\u{B}\u{1F}", #""\u0000\u0001\u000b\u001f""#),
      (#"a"b\c/d"#, #""a\"b\\c/d""#), ("", #""""#),
      ("\u{7F}\u{80}\u{9F}\u{A0}\u{2028}\u{2029}", "\"\u{7F}\u{80}\u{9F}\u{A0}\u{2028}\u{2029}\""),
      ("é漫\u{FFFF}\u{10FFFF}😀", "\"é漫\u{FFFF}\u{10FFFF}😀\""),
    ])
  func canonical(text: String, expected: String) {
    #expect(quoted(text) == expected)
  }

  @Test(
    "what is escaped is found at every place of a long text, and what looks like it is not",
    arguments: [
      ("\"", #"\""#), ("\\", #"\\"#), ("\u{0}", #"\u0000"#), ("\u{1F}", #"\u001f"#), (" ", " "), ("!", "!"),
      ("#", "#"),
      ("[", "["), ("]", "]"), ("\u{7F}", "\u{7F}"), ("\u{80}", "\u{80}"), ("é", "é"),
    ])
  func everyPlace(text: String, expected: String) {
    for (before, after) in (0..<40).map({ ($0, 40 - $0) }) + [
      (0, 0), (7, 0), (8, 0), (8, 8), (15, 0), (16, 0),
    ] {
      let (start, end) = (String(repeating: "a", count: before), String(repeating: "Z", count: after))
      #expect(quoted(start + text + end) == "\"\(start)\(expected)\(end)\"")
      #expect(quoted(start + text + text + end) == "\"\(start)\(expected)\(expected)\(end)\"")
    }
  }

  @Test(
    "U+0000 is found in any text and name of a document, at every place, and what looks like its escape is not",
    arguments: [
      (#"\u0000"#, true), (#"\\\u0000"#, true), (#"\"\u0000"#, true), (#"\u0000\u0000"#, true),
      ("\u{0}", true), (#"\\u0000"#, false), (#"\\\\u0000"#, false), (#"\u0001"#, false),
      (#"\u1000"#, false), (#"\u0100"#, false), (#"\u0010"#, false), ("u0000", false), ("0000", false),
      (#"\u000"#, false), (#"\"#, false), ("\u{1}\u{80}\u{FF}[]", false), ("", false),
    ])
  func null(text: String, isFound: Bool) {
    for (before, after) in (0..<20).map({ ($0, 20 - $0) }) + [(0, 0), (7, 0), (8, 0), (2, 0)] {
      let (start, end) = (String(repeating: "a", count: before), String(repeating: "\"", count: after))
      #expect(JSONString.hasNull(inDocument: Array((start + text + end).utf8)) == isFound, "\(before)")
    }
    #expect(JSONString.hasNull(inDocument: Array(#"{"a\u0000b":[1,{"c":"d"}]}"#.utf8)))
    // In UTF-16, which RFC 8259 §8.1 does not allow, an escape is none of these bytes.
    #expect(
      JSONString.hasNull(inDocument: #"{"a":"b"}"#.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }))
  }

  @Test("the RFC's own sample (§3.2.2)")
  func rfcSample() {
    #expect(
      quoted("\u{20AC}$\u{F}\u{A}A'\u{42}\u{22}\u{5C}\\\"/") == #""€$\u000f\nA'B\"\\\\\"/""#)
  }

  @Test(
    "on one line nothing ends a line or moves a cursor, and what is beside those is itself",
    arguments: [
      ("\u{7F}\u{80}\u{85}\u{9F}", #""\u007f\u0080\u0085\u009f""#), ("\u{2028}\u{2029}", #""\u2028\u2029""#),
      ("~\u{A0}\u{BF}\u{C0}", "\"~\u{A0}\u{BF}\u{C0}\""),
      ("\u{2027}\u{202A}\u{2068}\u{20A8}", "\"\u{2027}\u{202A}\u{2068}\u{20A8}\""),
      ("\u{1B}[2J", #""\u001b[2J""#),
      ("€😀\u{10FFFF}", "\"€😀\u{10FFFF}\""),
    ])
  func oneLine(text: String, expected: String) {
    #expect(quoted(text, .oneLine) == expected)
  }

  @Test(
    "every scalar, and so every pair of surrogates, is read back by a JSON decoder",
    arguments: [
      JSONString.Form.canonical, .oneLine,
    ])
  func roundTrip(form: JSONString.Form) throws {
    var text = ""
    for value in stride(from: UInt32(0), through: 0x10FFFF, by: 1) where value < 0x3000 || value % 251 == 0 {
      if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
    }
    var bytes: [UInt8] = []
    JSONString.append(text, to: &bytes, form: form)
    #expect(try JSONDecoder().decode(String.self, from: Data(bytes)) == text)
    #expect(!bytes.contains { $0 < 0x20 })
  }

  @Test(
    "half of a surrogate pair is found in a document, and a whole one is none",
    arguments: [
      (#""\ud800""#, true), (#""\udfff""#, true), (#""\uD83D\uDE00""#, false), (#""\ud83d \ude00""#, true),
      (#""\ud83d\u0041""#, true), (#""\\ud800""#, false), (#""\\\ud800""#, true), (#""\ud8"#, false),
      (#""\"#, false),
      (#""é漢\u00e9""#, false), ("", false),
    ])
  func surrogates(text: String, isLone: Bool) {
    #expect(JSONString.hasLoneSurrogate(inDocument: Array(text.utf8)) == isLone)
  }
}
