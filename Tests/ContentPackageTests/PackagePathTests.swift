import Testing

@testable import ContentPackage

@Suite("Paths in packages")
struct PackagePathTests {
  @Test(
    "a relative path of plain segments is safe",
    arguments: [
      "a", "a/b/c.jpg", ".hidden", "...", "a..b/c", "Ü/é.txt", "con1/x", "COM10.jpg", "consul.txt", "a b/c d",
      "nul-and-void", String(repeating: "x", count: 255), "..a/b..",
    ])
  func safe(_ text: String) throws {
    #expect(try PackagePath(text).text == text)
  }

  @Test(
    "an unsafe path is refused for its reason",
    arguments: [
      ("", PackagePathFault.empty), ("/etc/passwd", .absolute), ("..", .dotSegment), ("a/../b", .dotSegment),
      ("../a", .dotSegment), ("a/..", .dotSegment), ("./a", .dotSegment), ("a/.", .dotSegment),
      ("a//b", .emptySegment), ("a/", .emptySegment), ("a\\b", .backslash), ("..\\a", .backslash),
      ("a\u{0}b", .controlCharacter), ("a\nb", .controlCharacter), ("a\u{7F}", .controlCharacter),
      ("a\u{85}", .controlCharacter), ("CON", .reservedName), ("a/nul.txt", .reservedName),
      ("Com1", .reservedName), ("lpt9.tar.gz/x", .reservedName), ("aux .txt", .reservedName),
      ("COM¹", .reservedName), (String(repeating: "x", count: 256), .segmentTooLong),
      (String(repeating: "abc/", count: 256) + "x", .tooLong),
    ])
  func unsafe(_ text: String, _ fault: PackagePathFault) {
    #expect(throws: fault) { try PackagePath(text) }
  }

  @Test("paths are compared and ordered by their bytes, not by what Unicode calls the same")
  func bytes() throws {
    let composed = try PackagePath("\u{E9}")
    let decomposed = try PackagePath("e\u{301}")
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed]).count == 2)
    #expect(decomposed < composed)
    #expect(try PackagePath("a/b") < PackagePath("a0"))
    #expect(try PackagePath("a.b") < PackagePath("a/b"))
  }

  @Test("the extension is what follows the last dot of the name, in lower case")
  func fileExtension() throws {
    #expect(try PackagePath("a.b/c.JPG").fileExtension == "jpg")
    #expect(try PackagePath("a.b/c").fileExtension == "")
    #expect(try PackagePath("a/.hidden").fileExtension == "")
  }
}
