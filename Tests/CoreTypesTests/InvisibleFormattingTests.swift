import CoreTypes
import Testing

@Suite("Characters that are not to be seen")
struct InvisibleFormattingTests {
  @Test(
    "they are taken out of what is shown, and nothing else is",
    arguments: [
      ("plain – Ünïcödé 漫画", "plain – Ünïcödé 漫画"), ("", ""), ("\u{202E}gpj.exe", "gpj.exe"),
      ("a\u{200B}b\u{FEFF}c\u{AD}d", "abcd"), ("\u{2066}x\u{2069}\u{E0041}", "x"), ("\u{200D}\u{200C}", ""),
      ("a\u{2028}b\u{2029}c", "abc"), ("e\u{301}\u{200D}e", "e\u{301}e"),
      ("tab\tand\nline", "tab\tand\nline"),
      ("\u{645}\u{6CC}\u{200C}\u{62E}", "\u{645}\u{6CC}\u{200C}\u{62E}"),
      ("\u{645}\u{200C}\u{200C}\u{62E}", "\u{645}\u{200C}\u{62E}"),
      ("\u{2764}\u{FE0F}", "\u{2764}\u{FE0F}"), ("\u{645}\u{202B}\u{200C}\u{62E}", "\u{645}\u{200C}\u{62E}"),
    ])
  func removed(text: String, shown: String) {
    #expect(Array(text.removingInvisibleFormatting.unicodeScalars) == Array(shown.unicodeScalars))
    #expect(text.hasInvisibleFormatting == (text.unicodeScalars.count != shown.unicodeScalars.count))
    #expect(!shown.hasInvisibleFormatting)
  }
}
