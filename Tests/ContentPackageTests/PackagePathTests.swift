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
    "a slash ends a name and a dot a stem, whatever mark follows that would make one character with it",
    arguments: [UInt32(0x301), 0x338, 0x20DD, 0x1D16D])
  func marks(_ scalar: UInt32) throws {
    let mark = String(try #require(Unicode.Scalar(scalar)))
    let path = try PackagePath("a/\(mark)b/\(mark).jpg")
    #expect(path.segments.map { Array($0.utf8) } == ["a", "\(mark)b", "\(mark).jpg"].map { Array($0.utf8) })
    #expect(try PackagePath("a.\(mark)").fileExtension.unicodeScalars.elementsEqual(mark.unicodeScalars))
    #expect(throws: PackagePathFault.reservedName) { try PackagePath("nul.\(mark)") }
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

  @Test(
    "a character that is not to be seen is refused wherever it stands",
    arguments: [
      // Bidirectional controls, zero-width characters, soft hyphen, byte order mark, tags, fillers, separators.
      0x202A, 0x202E, 0x2066, 0x2069, 0x200B, 0x200E, 0x200F, 0x061C, 0xAD, 0xFEFF, 0xE0001, 0xE0041, 0x2060,
      0x180E, 0x34F, 0x115F, 0x3164, 0xFFA0, 0xFFF9, 0x1D173, 0x2028, 0x2029, 0x200C, 0x200D, 0xFE0F, 0xE0100,
    ])
  func invisible(_ scalar: UInt32) throws {
    let character = String(try #require(Unicode.Scalar(scalar)))
    for text in [
      "a\(character)b.jpg", character, "\(character)a", "a/\(character)/b", "a\(character)", "é\(character)é",
    ] {
      #expect(throws: PackagePathFault.invisibleCharacter, "\(text.debugDescription)") {
        try PackagePath(text)
      }
    }
  }

  @Test(
    "joiners and variation selectors are taken where scripts and emoji are not written without them, once",
    arguments: [
      "\u{645}\u{6CC}\u{200C}\u{62E}\u{648}\u{627}\u{647}\u{645}.pdf", "\u{915}\u{94D}\u{200D}\u{937}",
      "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}/a", "\u{2764}\u{FE0F}\u{200D}\u{1F525}.jpg",
      "\u{845B}\u{E0100}",
    ])
  func joined(_ text: String) throws {
    #expect(try PackagePath(text).text == text)
    let scalars = Array(text.unicodeScalars)
    let invisible = scalars.indices.filter { index in
      [0x200C, 0x200D, 0xFE0F, 0xE0100].contains(scalars[index].value)
    }
    #expect(!invisible.isEmpty)
    for index in invisible {
      var doubled = String.UnicodeScalarView()
      doubled.append(contentsOf: scalars[...index])
      doubled.append(contentsOf: scalars[index...])
      #expect(throws: PackagePathFault.invisibleCharacter) { try PackagePath(String(doubled)) }
    }
  }

  @Test("a file lies at most 64 folders deep")
  func depth() throws {
    let deepest = String(repeating: "d/", count: 64) + "f"
    #expect(try PackagePath(deepest).segments.count == 65)
    #expect(throws: PackagePathFault.tooDeep) { try PackagePath("d/" + deepest) }
    #expect(PackagePathFault.tooDeep.code == .folderTooDeep)
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
