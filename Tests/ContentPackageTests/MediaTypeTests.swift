import ContentPackage
import Testing

@Suite("Media types")
struct MediaTypeTests {
  @Test(
    "the type follows from the extension",
    arguments: [
      ("a.cbz", "application/vnd.comicbook+zip"), ("a.b.EPUB", "application/epub+zip"),
      ("a.pdf", "application/pdf"), ("a.zip", "application/zip"), ("a.bin", "application/octet-stream"),
      ("a", "application/octet-stream"),
    ])
  func guess(_ name: String, _ type: String) {
    #expect(MediaType.guess(forFileNamed: name).text == type)
  }

  @Test(
    "a text that is no type in lower case is refused",
    arguments: ["", "a", "a/", "/b", "a/b/c", "A/b", "a/b;c=d", "a /b", "a/\u{E9}"])
  func refused(_ text: String) {
    #expect(MediaType(text) == nil)
  }
}
