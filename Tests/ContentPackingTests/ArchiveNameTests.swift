import ContentPackage
import PackageTesting
import Testing

@testable import ContentPacking

@Suite("Names in archives that are never unpacked")
struct ArchiveNameTests {
  @Test(
    "a name that leads elsewhere is refused, by either separator; a backslash inside of a character is none",
    arguments: [
      ("../a", .dotSegment), ("a/../b", .dotSegment), ("a/..", .dotSegment), ("..", .dotSegment),
      ("a\\..\\b", .dotSegment), ("/a", .absolute), ("\\a", .absolute), ("c:/a", .absolute),
      ("C:\\a", .absolute),
      ("", .empty), ("a\0b", .controlCharacter), ("a..b/..c/d..", nil), ("...", nil),
      ("C: The End/1.jpg", nil),
      ("con.jpg", nil), ("a\nb", nil), ("a//b", nil), ("./a", nil),
      (String(repeating: "a", count: 3000), nil),
    ] as [(String, PackagePathFault?)])
  func faults(_ name: String, _ fault: PackagePathFault?) {
    #expect(ArchiveName(Array(name.utf8)).fault == fault)
  }

  @Test("bytes that are no UTF-8 are read as Shift-JIS where they all are, else as code page 437")
  func encodings() {
    let japanese = ArchiveName([0x95, 0x5C, 0x2E, 0x2E, 0x2F, 0x31])
    #expect(japanese.encoding == .shiftJIS && japanese.path == "表../1" && japanese.fault == nil)
    let dos = ArchiveName([0x82, 0x2D, 0x81])
    #expect(dos.encoding == .codePage437 && dos.path == "é-ü" && dos.fault == nil)
    #expect(ArchiveName([0x82, 0x2D, 0x81, 0x2F, 0x2E, 0x2E, 0x2F, 0x61]).fault == .dotSegment)
    #expect(ArchiveName([0xE9, 0x5C, 0x2E, 0x2E, 0x5C, 0x2E, 0x2E, 0x5C, 0x61]).fault == .dotSegment)
  }

  @Test("an archive of 65,535 entries is looked through, and every page counts")
  func many() throws {
    let folder = try Folder()
    let entries = (0..<65_535).map { ZipMaker.Entry("\($0).jpg", [0xFF, 0xD8, 0xFF]) }
    try folder.write(ZipMaker(entries).with { $0.hasWideEnd = true }.bytes, to: "many.cbz")
    let package = try Sample.builder.describe(file: "\(folder.path)/many.cbz")
    #expect(package.manifest.pageCount == 65_535)
    #expect(package.report.cover == "0.jpg")
  }
}
