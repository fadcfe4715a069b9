import CoreTypes
import ServiceRuntime
import SystemCalls
import Testing

@Suite("Text of others, for people")
struct PlainTextTests {
  @Test(
    "what a terminal would obey goes, and what turns a line around; the rest stays",
    arguments: [
      ("plain", "plain"), ("\u{1B}[31mred\u{07}", "[31mred"), ("a\u{9B}2Jb", "a2Jb"), ("a\u{7F}b", "ab"),
      ("one\ntwo\tthree", "one two three"), ("one\r\ntwo", "one  two"), ("a\u{85}b", "a b"),
      ("\u{202E}evil\u{202C}", "evil"), ("\u{2066}x\u{2069}", "x"), ("a\u{200B}b\u{FEFF}", "ab"),
      ("Astérix 漫画 👩‍🚀", "Astérix 漫画 👩‍🚀"),
    ])
  func line(text: String, expected: String) {
    #expect(PlainText.line(text) == expected)
    #expect(TextWidth.cut(text, to: 80) == expected)
  }

  @Test("a moment is told by the clock of its reader's zone")
  func localTime() {
    let moment = Timestamp(millisecondsSinceEpoch: 1_795_327_805_999)
    // The zone is the machine's: the two forms differ in nothing but its offset.
    let text = LocalTime.text(moment)
    #expect(text.wholeMatch(of: /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/) != nil)
    #expect(LocalTime.withZone(moment).wholeMatch(of: /(.*) [+-]\d{4}/)?.1 == text[...])
  }
}
