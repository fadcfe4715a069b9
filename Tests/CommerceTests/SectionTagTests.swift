import Commerce
import Testing

@Suite("Tags of sections")
struct SectionTagTests {
  @Test(
    "lower-case letters, digits and inner dashes make a tag",
    arguments: ["a", "0", "chapter-2", "lang-fr", "a--b", String(repeating: "x", count: 64)])
  func allowed(text: String) {
    #expect(SectionTag(text)?.description == text)
  }

  @Test(
    "anything else makes none",
    arguments: [
      "", "-", "-a", "a-", "A", "é", "a.b", "a_b", "a b", "a/b", "a=b", String(repeating: "x", count: 65),
    ])
  func refused(text: String) {
    #expect(SectionTag(text) == nil)
  }
}
