import Testing

@testable import OperatorConsole

@Suite("Fields that were left alone")
struct EditedFieldsTests {
  /// HTML: a field of one line has no line breaks, one of several has CRLF; the console shows U+FFFD for control characters.
  @Test(
    "what a browser sends of a field that was left alone is known as that",
    arguments: [
      ("\nFirst\nsecond", "\r\nFirst\r\nsecond", true), ("a\rb\u{85}", "a\u{FFFD}b\u{FFFD}", true),
      ("a\r\nb", "a\r\nb", true), ("a\nb", "ab", false), ("a\tb", "a\tb", false), ("", "", false),
    ])
  func untouched(value: String, sent: String, isLong: Bool) {
    let field = EditedFields.Field(name: "f", label: "", value: value, isLong: isLong)
    #expect(field.digest(of: sent) == field.shownDigest)
  }

  @Test("a change of a line break, or of a character, is one")
  func touched() {
    let field = EditedFields.Field(name: "f", label: "", value: "a\nb", isLong: true)
    for sent in ["a\r\n\r\nb", "ab", "a b", "a\nb "] { #expect(field.digest(of: sent) != field.shownDigest) }
  }
}
