import ContentPackage
import ContentPacking
import CoreTypes
import PackageTesting
import Testing

@Suite("The pages of an archive, found by its directory")
struct ArchivePagesTests {
  private static func entries(of bytes: [UInt8]) -> [ArchivedFile]? {
    let length = ByteCount(bytes.count)
    let tail = ArchivePages.tail(of: length)
    let last = Array(bytes[Int(tail.lowerBound)..<Int(tail.upperBound)])
    guard let directory = ArchivePages.directory(inTail: last, of: length) else { return nil }
    return ArchivePages.entries(
      inDirectory: Array(bytes[Int(directory.lowerBound)..<Int(directory.upperBound)]))
  }

  private static func content(of entry: ArchivedFile, in bytes: [UInt8]) -> [UInt8]? {
    let header = Array(bytes[Int(entry.header.lowerBound)..<Int(entry.header.upperBound)])
    return entry.file(behind: header).map {
      Array(bytes[Int($0.range.lowerBound)..<Int($0.range.upperBound)])
    }
  }

  private static let archive = ZipMaker([
    ZipMaker.Entry("b/p10.png", "ten"), ZipMaker.Entry("b/p2.png", "two"),
    ZipMaker.Entry("a/p3.png", "three").with { $0.extra = [0x55, 0x54, 1, 0, 0] },
    ZipMaker.Entry("notes.txt", "x"), ZipMaker.Entry("__MACOSX/p1.png", "y"), ZipMaker.Entry("p1.png", ""),
  ])

  @Test("they come in the order in which they are read, and each has its bytes")
  func order() throws {
    for maker in [
      Self.archive, Self.archive.with { $0.isReversed = true }, Self.archive.with { $0.hasWideEnd = true },
      Self.archive.with { $0.comment = [UInt8](repeating: 0x20, count: 60_000) },
    ] {
      let bytes = maker.bytes
      let entries = try #require(Self.entries(of: bytes))
      #expect(entries.map(\.path) == ["a/p3.png", "b/p2.png", "b/p10.png"])
      #expect(
        entries.map { Self.content(of: $0, in: bytes) } == ["three", "two", "ten"].map { Array($0.utf8) })
      #expect(entries.map(\.length.rawValue) == [5, 3, 3])
    }
  }

  @Test("where there is no directory nothing is found, and no header is taken for another")
  func refusals() throws {
    let bytes = Self.archive.bytes
    for cut in [0, 10, 21, bytes.count - 1] { #expect(Self.entries(of: Array(bytes.prefix(cut))) == nil) }
    let entry = try #require(Self.entries(of: bytes)?.first)
    #expect(entry.file(behind: []) == nil)
    #expect(entry.file(behind: [UInt8](repeating: 0, count: Int(entry.header.count))) == nil)
    #expect(ArchivePages.entries(inDirectory: [1, 2, 3]) == nil)
  }

  @Test("a comic's document says which way it is read and which pages have names")
  func guide() throws {
    let guide = try #require(
      ComicGuide(
        Array(
          """
          <ComicInfo><Manga>YesAndRightToLeft</Manga><Pages><Page Image="4" Bookmark=" The  end "/>\
          <Page Image="0" Bookmark="Start"/><Page Image="-1" Bookmark="x"/><Page Image="1"/></Pages></ComicInfo>
          """.utf8)))
    #expect(guide.isRightToLeft == true)
    #expect(guide.bookmarks.map(\.page) == [0, 4])
    #expect(guide.bookmarks.map(\.title) == ["Start", "The end"])
    #expect(ComicGuide(Array("<ComicInfo/>".utf8))?.isRightToLeft == nil)
    #expect(ComicGuide(Array("<ComicInfo><Manga>No</Manga></ComicInfo>".utf8))?.isRightToLeft == false)
    #expect(ComicGuide(Array("<Other/>".utf8)) == nil)
    #expect(ComicGuide(Array("<ComicInfo>".utf8)) == nil)
    #expect(ComicGuide.path(among: ["a/ComicInfo.xml", "comicinfo.xml"]) == "comicinfo.xml")
    #expect(ComicGuide.path(among: ["a/ComicInfo.xml", "a/p.png"]) == "a/ComicInfo.xml")
    #expect(ComicGuide.path(among: ["a/ComicInfo.xml", "b/p.png"]) == nil)
  }
}
