import Crypto
import Testing

@testable import ContentDelivery
@testable import RouteAccess

@Suite("Structured fields (RFC 9651)")
struct StructuredFieldTests {
  @Test(
    "items",
    arguments: [
      ("?1", StructuredField.boolean(true)), ("?0", .boolean(false)), ("  ?1  ", .boolean(true)),
      ("42", .integer(42)),
      ("-7", .integer(-7)), ("0", .integer(0)), ("00", .integer(0)),
      ("999999999999999", .integer(999_999_999_999_999)),
      ("5;foo=bar;q=\"a;b\";c", .integer(5)), (":aGVsbG8=:", .bytes(Array("hello".utf8))), ("::", .bytes([])),
      ("1.5", .other), ("\"a \\\" b\"", .other), ("tok/en:x", .other), ("@1659578233", .other),
    ])
  func items(text: String, expected: StructuredField) {
    #expect(StructuredField.item([text]) == expected)
  }

  @Test(
    "what is not exactly an item is nothing",
    arguments: [
      [], [""], ["?2"], ["?"], ["?1x"], ["?1 ?1"], ["?1", "?1"], ["?1,"], ["1000000000000000"], ["1."],
      ["1.2345"],
      ["1234567890123.1"], ["-"], ["--1"], ["+1"], ["1 2"], ["\"a"], ["\"a\\b\""], ["\"é\""], [":a:"],
      [":aGVs"],
      ["5;"], ["5;F=1"], ["(1 2)"], ["\t1"], ["{}"],
    ])
  func malformed(lines: [String]) {
    #expect(StructuredField.item(lines) == nil)
  }

  @Test("dictionaries") func dictionaries() {
    #expect(
      StructuredField.dictionary(["max-size=10 ,\tmin-size=0;x, flag;p=1, z"])
        == ["max-size": .integer(10), "min-size": .integer(0), "flag": .boolean(true), "z": .boolean(true)])
    #expect(StructuredField.dictionary(["a=1, b=2", "a=?0"]) == ["a": .boolean(false), "b": .integer(2)])
    #expect(StructuredField.dictionary([""]) == [:])
    #expect(StructuredField.dictionary([]) == [:])
  }

  @Test(
    "a dictionary with a fault anywhere is nothing",
    arguments: ["a=1,", ",a=1", "a=1 b=2", "A=1", "a=", "a==1", "a=(1 2)", "1=a", "a=1;", "a=:x:"])
  func malformedDictionaries(text: String) {
    #expect(StructuredField.dictionary([text]) == nil)
  }

  @Test("a length is an integer of zero or more; anything else is no length")
  func lengths() {
    #expect(StructuredField.length(["0"]) == 0)
    #expect(StructuredField.length(["2147483648"]) == 2_147_483_648)
    for text in ["-1", "1.0", "?1", "\"1\"", "1,1", "0x10"] { #expect(StructuredField.length([text]) == nil) }
  }

  @Test("the strongest digest that is known counts; others, and broken fields, are ignored")
  func digests() {
    let sha256 = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
    #expect(DigestField.checksum([sha256])?.algorithm == .sha256)
    #expect(DigestField.sha256([sha256])?.hexadecimal.hasPrefix("44aff4ab2d7c3250") == true)
    #expect(DigestField.checksum(["md5=:1B2M2Y8AsgTpgAmY7PhCfg==:"]) == nil)
    #expect(DigestField.checksum(["sha-256=:AAAA:"]) == nil)
    #expect(DigestField.checksum([sha256 + ","]) == nil)
    let zeros = String(repeating: "A", count: 86) + "=="
    #expect(DigestField.checksum([sha256, "sha-512=:\(zeros):"])?.algorithm == .sha512)
  }

  @Test("a file's name is taken from Content-Disposition, and a path never") func dispositions() {
    #expect(ContentDisposition.filename("attachment; filename=\"an issue.cbz\"") == "an issue.cbz")
    #expect(ContentDisposition.filename("attachment;FileName=a.epub") == "a.epub")
    for field in ["", "attachment", "attachment; filename=\"../a\"", "a; filename=", "a; filename=\"..\""] {
      #expect(ContentDisposition.filename(field) == nil)
    }
  }
}
