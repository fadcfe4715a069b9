import Foundation
import PullboxTesting
import Testing

@testable import ServiceRuntime

@Suite("JSON5, and where it stands")
struct JSON5ParserTests {
  private func parse(_ text: String) throws -> ConfigurationValue {
    try JSON5Parser.parse(Array(text.utf8), source: .file("f"))
  }

  private func failure(_ bytes: [UInt8]) -> String? {
    do throws(ConfigurationError) {
      _ = try JSON5Parser.parse(bytes, source: .file("f"))
      return nil
    } catch {
      return error.description
    }
  }

  // The example of https://spec.json5.org, section 1.2, with finite numbers.
  @Test("the example of the specification is read")
  func specification() throws {
    let value = try parse(
      """
      {
        // comments
        unquoted: 'and you can quote me on that',
        singleQuotes: 'I can use "double quotes" here',
        lineBreaks: "Look, Mom! \\
      No \\\\n's!",
        hexadecimal: 0xdecaf,
        leadingDecimalPoint: .8675309, andTrailing: 8675309.,
        positiveSign: +1,
        trailingComma: 'in objects', andIn: ['arrays',],
        "backwardsCompatible": "with JSON",
      }
      """)
    let members = try #require(value.members)
    #expect(members["unquoted"]?.content == .string("and you can quote me on that"))
    #expect(members["singleQuotes"]?.content == .string("I can use \"double quotes\" here"))
    #expect(members["lineBreaks"]?.content == .string("Look, Mom! No \\n's!"))
    #expect(members["hexadecimal"]?.content == .integer(912_559))
    #expect(members["leadingDecimalPoint"]?.content == .number(0.8675309))
    #expect(members["andTrailing"]?.content == .number(8_675_309))
    #expect(members["positiveSign"]?.content == .integer(1))
    #expect(members["andIn"]?.json5 == "[\"arrays\"]")
    #expect(members.count == 10)
  }

  @Test(
    "numbers are read as the specification writes them",
    arguments: [
      ("0", .integer(0)), ("-7", .integer(-7)), ("-0x10", .integer(-16)), ("1e3", .number(1000)),
      ("1.5E-1", .number(0.15)), ("5.", .number(5)), (".5", .number(0.5)),
      ("9223372036854775807", .integer(.max)), ("9223372036854775808", .number(9_223_372_036_854_775_808)),
    ] as [(String, ConfigurationValue.Content)])
  func numbers(text: String, content: ConfigurationValue.Content) throws {
    #expect(try parse(text).content == content)
  }

  @Test(
    "escapes stand for what the specification says",
    arguments: [
      (#""\b\f\n\r\t\v\0""#, "\u{8}\u{C}\n\r\t\u{B}\0"), (#""\x41\u00e9\ud83d\ude00""#, "Aé😀"),
      (#"'\'\"\/\q'"#, "'\"/q"),
    ])
  func escapes(text: String, value: String) throws {
    #expect(try parse(text).content == .string(value))
  }

  @Test("each value and each key knows its line and its column, in characters")
  func places() throws {
    let value = try parse("{\n  é: 'ö', b: [1,\r\n2],\r  c: {d: 3} }")
    #expect(value.value(at: ["é"])?.origin == .file(path: "f", line: 2, column: 6))
    #expect(value.value(at: ["b"])?.keyOrigin == .file(path: "f", line: 2, column: 11))
    #expect(value.value(at: ["b", "1"])?.origin == .file(path: "f", line: 3, column: 1))
    #expect(value.value(at: ["c", "d"])?.origin == .file(path: "f", line: 4, column: 10))
  }

  @Test(
    "what is no JSON5 is told at the place where it stops being that",
    arguments: [
      ("", "f:1:1: a value is expected here, not the end"),
      ("{", "f:1:2: the { of line 1, column 1 is not closed"),
      ("{\n a: 1\n b: 2}", "f:3:2: a comma or } is expected here, not 'b'"),
      ("{a 1}", "f:1:4: a colon is expected after 'a', not '1'"),
      ("{a: }", "f:1:5: a value is expected here, not '}'"),
      ("{,}", "f:1:2: a key is expected here, not ','"),
      ("{1a: 2}", "f:1:2: a key is expected here, not '1'"),
      ("[1 2]", "f:1:4: a comma or ] is expected here, not '2'"),
      ("{a: info}", "f:1:5: this is no value; a text stands in quotation marks"),
      ("[01]", "f:1:2: this is no number; a text stands in quotation marks"),
      ("[12px]", "f:1:2: this is no number; a text stands in quotation marks"),
      ("[NaN]", "f:1:2: this is no value; a text stands in quotation marks"),
      ("[-Infinity]", "f:1:2: this is no number; a text stands in quotation marks"),
      ("['a\nb']", "f:1:2: this text has no end in its line"),
      ("'a", "f:1:1: this text has no end in its line"),
      (#"'\u12g4'"#, "f:1:6: 4 hexadecimal digits are expected here, not 'g'"),
      (#"'\ud800x'"#, "f:1:3: half of a surrogate pair is no character"),
      (#"'\1'"#, "f:1:3: there is no escape '\\1'"), ("/* a", "f:1:1: this comment has no end"),
      ("/ a", "f:1:1: a comment is expected here: // or /*"),
      ("{a: 1, 'a': 2}", "f:1:8: 'a' stands in this table a second time"),
      ("{} x", "f:1:4: nothing is expected after the outermost value, but 'x'"),
      ("[1\u{202E}]", "f:1:3: a comma or ] is expected here, not the character U+202E"),
    ])
  func syntax(text: String, error: String) {
    #expect(failure(Array(text.utf8)) == error)
  }

  @Test("what is not UTF-8 is told at its place")
  func encoding() {
    #expect(failure(Array("{\n a: 'é".utf8) + [0xFF]) == "f:2:7: the text is not UTF-8 here")
    #expect(failure([0xC3]) == "f:1:1: the text is not UTF-8 here")
  }

  @Test("32 lists and tables may stand in one another, and no more")
  func depth() {
    func nested(_ depth: Int) -> [UInt8] {
      Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
    }
    #expect(failure(nested(32)) == nil)
    #expect(failure(nested(33)) == "f:1:33: at most 32 lists and tables may stand in one another")
    #expect(failure(Array(repeating: UInt8(ascii: "["), count: 1_000_000))?.hasPrefix("f:1:33: ") == true)
  }

  @Test("what Foundation takes as JSON5 is taken, and with the same values", .timeLimit(.minutes(1)))
  func foundation() throws {
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    let parts = [
      "{", "}", "[", "]", "a", ":", ",", "'b'", "\"\\n\"", "1", ".5", "-2", "0x1F", "true", "null", " ",
      "//c\n", "/**/",
    ]
    var random = SplitMix(seed: 20_261_122)
    var taken = 0
    for _ in 0..<20_000 {
      let content = (0..<Int.random(in: 1...9, using: &random)).map { _ in
        parts.randomElement(using: &random) ?? ""
      }
      // Foundation of Swift 6.3 reads beyond a text that ends with a number.
      let text = "[\(content.joined())]"
      guard let expected = try? decoder.decode(Tree.self, from: Data(text.utf8)) else { continue }
      // A key that stands twice is refused, and nothing else.
      if let message = failure(Array(text.utf8)) {
        #expect(message.contains("a second time"), "\(text)")
        continue
      }
      taken += 1
      #expect(try parse(text).json5 == ConfigurationValue(expected.content).json5, "\(text)")
    }
    #expect(taken > 500)
  }

  /// Foundation's reading of a text, without places.
  private struct Tree: Decodable {
    var content: ConfigurationValue.Content

    private struct Name: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
      if let container = try? decoder.container(keyedBy: Name.self) {
        // Only whether it is a table: members have places, which Foundation does not tell.
        content = .table(
          try container.allKeys.reduce(into: [:]) { members, key in
            let value = try container.decode(Tree.self, forKey: key)
            members[key.stringValue] = ConfigurationValue(value.content)
          })
      } else if var container = try? decoder.unkeyedContainer() {
        var elements: [ConfigurationValue] = []
        while !container.isAtEnd {
          elements.append(ConfigurationValue(try container.decode(Tree.self).content))
        }
        content = .list(elements)
      } else {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
          content = .null
        } else if let value = try? container.decode(Bool.self) {
          content = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
          content = .integer(value)
        } else if let value = try? container.decode(Double.self) {
          content = .number(value)
        } else {
          content = .string(try container.decode(String.self))
        }
      }
    }
  }
}
