import PackageTesting
import PullboxTesting
import Testing

@testable import ContentPackage
@testable import ContentPacking

@Suite("Titles, covers and pages")
struct MetadataTests {
  @Test("pages are read in the order people number them")
  func naturalOrder() {
    let pages = ["p10.jpg", "p9.jpg", "P2.jpg", "p1.jpg", "b/p1.jpg", "p02.jpg", "cover.jpg"]
    #expect(
      pages.sorted(by: NaturalOrder.precedes) == [
        "b/p1.jpg", "cover.jpg", "p1.jpg", "P2.jpg", "p02.jpg", "p9.jpg", "p10.jpg",
      ])
  }

  @Test("title, series, number, pages and cover are read from ComicInfo.xml")
  func comicInfo() throws {
    let document = """
      <?xml version="1.0" encoding="utf-8"?>
      <ComicInfo><Title> The Long &amp; the Short </Title><Series>Kestrel</Series><Number>1</Number>
      <PageCount>22</PageCount>
      <Pages><Page Image="0"/><Page Image="1" Type="FrontCover"/><Page Image="2" Type="FrontCover"/></Pages></ComicInfo>
      """
    let info = try #require(ComicInfoReader.read(Array(document.utf8)))
    #expect(
      info
        == ComicInfo(
          title: "The Long & the Short", series: "Kestrel", number: "1", pageCount: 22, coverPage: 1))
    let metadata = PublicationMetadata(pages: ["1.jpg", "2.jpg", "3.png"], comicInfo: info)
    #expect(metadata.title == "The Long & the Short")
    #expect(metadata.cover == "2.jpg")
    #expect(metadata.pageCount == 3)
    #expect(metadata.readingOrder == ["1.jpg", "2.jpg", "3.png"])
  }

  private func readMetron(_ document: String) -> ComicInfo? { MetronInfoReader.read(Array(document.utf8)) }

  @Test(
    "series, number and pages are read from MetronInfo.xml; the names of others in it are not the issue's")
  func metronInfo() throws {
    let document = """
      <?xml version="1.0" encoding="UTF-8"?>
      <MetronInfo xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="MetronInfo.xsd">
        <IDS><ID source="Metron" primary="true">290431</ID></IDS>
        <Publisher id="12"><Name>House</Name><Imprint>Small House</Imprint></Publisher>
        <Series id="65" lang="en"><Name> Kestrel &amp; Co </Name><SortName>Kestrel</SortName><Volume>2</Volume>
          <AlternativeNames><AlternativeName lang="de">Falke</AlternativeName></AlternativeNames></Series>
        <Number>1</Number>
        <Stories><Story id="9">The Long</Story><Story>The Short</Story></Stories>
        <CoverDate>2011-10-01</CoverDate><StoreDate>2011-08-31</StoreDate><PageCount>32</PageCount>
        <Arcs><Arc><Name>Origin</Name><Number>7</Number></Arc></Arcs>
        <Universes><Universe><Name>Main</Name></Universe></Universes>
        <AgeRating>Everyone</AgeRating>
        <Pages><Page Image="0"/><Page Image="1" Type="Other FrontCover"/></Pages>
      </MetronInfo>
      """
    let info = try #require(readMetron(document))
    #expect(info == ComicInfo(series: "Kestrel & Co", number: "1", pageCount: 32, coverPage: 1))
    #expect(info.displayTitle == "Kestrel & Co #1")
  }

  @Test(
    "the title of a collection comes before its series, and that of a story is one where there is no series",
    arguments: [
      (
        "<Series><Name>Kestrel</Name></Series><CollectionTitle>The First Year</CollectionTitle>",
        "The First Year"
      ),
      ("<Stories><Story>The Long</Story><Story>The Short</Story></Stories><Number>4</Number>", "The Long"),
      ("<Stories><Story/><Story><Title>The Long</Title><Notes>n</Notes></Story></Stories>", "The Long"),
      ("<Series><Name/></Series><Stories><Story>The Long</Story></Stories>", "The Long"), ("", nil),
    ] as [(String, String?)])
  func metronTitle(_ content: String, _ expected: String?) throws {
    let info = try #require(readMetron("<MetronInfo>\(content)</MetronInfo>"))
    #expect(info.displayTitle == expected)
  }

  @Test(
    "a MetronInfo.xml that could expand or fetch anything, or is none, is not read",
    arguments: [
      "<!DOCTYPE MetronInfo [<!ENTITY a \"b\">]><MetronInfo><CollectionTitle>&a;</CollectionTitle></MetronInfo>",
      "<!DOCTYPE MetronInfo><!DOCTYPE MetronInfo><MetronInfo/>", "<ComicInfo><Title>x</Title></ComicInfo>",
      "<x><MetronInfo/></x>", "<MetronInfo><Number>1</Number>", "", "x", "<MetronInfo>\u{0}</MetronInfo>",
    ])
  func metronRefused(_ document: String) {
    #expect(readMetron(document) == nil)
  }

  @Test("a MetronInfo.xml of too many levels or elements is not read")
  func metronBounds() {
    let deep = String(repeating: "<a>", count: 64) + String(repeating: "</a>", count: 64)
    let long = String(repeating: "<b/>", count: 200_000)
    for content in [deep, long] { #expect(readMetron("<MetronInfo>\(content)</MetronInfo>") == nil) }
    #expect(readMetron("<MetronInfo>\(deep.dropFirst(3).dropLast(4))</MetronInfo>") == ComicInfo())
  }

  @Test("a title is kept without invisible characters; a manifest of another tool is shown without them")
  func invisible() throws {
    let info = ComicInfo(title: "\u{202E}Kes\u{200B}trel\u{202C}")
    #expect(PublicationMetadata(pages: [], comicInfo: info).title == "Kestrel")
    #expect(PublicationMetadata(pages: [], comicInfo: ComicInfo(title: "\u{202E}")).title == nil)
    var draft = try makeDraft()
    draft.title = "\u{2066}Kestrel\u{2069}"
    let manifest = try Manifest(draft, limits: .standard)
    #expect(manifest.title == "\u{2066}Kestrel\u{2069}")
    #expect(manifest.displayTitle == "Kestrel")
  }

  @Test("without a title, series and number name the issue")
  func displayTitle() {
    #expect(ComicInfo(series: "Moss", number: "3").displayTitle == "Moss #3")
    #expect(ComicInfo(series: "Moss").displayTitle == "Moss")
    #expect(ComicInfo(number: "3").displayTitle == nil)
  }

  @Test("a cover that is no page falls back to the first page")
  func coverBeyond() {
    let metadata = PublicationMetadata(pages: ["1.jpg"], comicInfo: ComicInfo(coverPage: 7))
    #expect(metadata.cover == "1.jpg")
  }

  @Test(
    "a document that could expand or fetch anything, or is none, is not read",
    arguments: [
      "<!DOCTYPE ComicInfo [<!ENTITY a \"b\">]><ComicInfo><Title>&a;</Title></ComicInfo>",
      "<!DOCTYPE ComicInfo><!DOCTYPE ComicInfo><ComicInfo/>", "<!ENTITY a \"b\"><ComicInfo/>",
      "<Other><Title>x</Title></Other>",
      "<ComicInfo><Title>x</ComicInfo>", "", "x", "<ComicInfo>\u{0}</ComicInfo>",
    ])
  func refused(_ document: String) {
    #expect(ComicInfoReader.read(Array(document.utf8)) == nil)
  }

  @Test("a document type that declares nothing is passed over, and nothing is fetched for it")
  func documentType() {
    let document = "<!DOCTYPE ComicInfo SYSTEM \"file:///etc/passwd\"><ComicInfo><Title>T</Title></ComicInfo>"
    #expect(ComicInfoReader.read(Array(document.utf8)) == ComicInfo(title: "T"))
  }

  @Test("nesting, and the number of elements, are bounded")
  func markupBounds() {
    func read(_ document: String) -> Bool { XMLReader.read(Array(document.utf8)) { _, _ in } }
    let deepest = String(repeating: "<a>", count: 64) + String(repeating: "</a>", count: 64)
    #expect(read(deepest))
    #expect(!read("<a>" + deepest + "</a>"))
    #expect(read("<a>" + String(repeating: "<b/>", count: 199_999) + "</a>"))
    #expect(!read("<a>" + String(repeating: "<b/>", count: 200_000) + "</a>"))
  }

  @Test("bytes that are no text are not read")
  func otherEncodings() {
    #expect(ComicInfoReader.read([0xFF, 0xFE, 0x3C, 0x00]) == nil)
    #expect(ComicInfoReader.read([0x3C, 0xFF, 0x3E]) == nil)
  }

  @Test("a folder's manifest tells them")
  func manifest() throws {
    let folder = try Folder()
    try folder.write("<ComicInfo><Title>T</Title></ComicInfo>", to: "ComicInfo.xml")
    for page in 1...10 { try folder.write(jpeg(page), to: "p\(page).jpg") }
    let manifest = try Sample.builder.pack(folder: folder.path, to: folder.directory.path("package")).manifest
    #expect(manifest.title == "T")
    #expect(manifest.pageCount == 10)
    #expect(manifest.cover?.text == "p1.jpg")
    #expect(manifest.readingOrder?.last?.text == "p10.jpg")
  }
}
