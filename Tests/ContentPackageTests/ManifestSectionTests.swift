import Commerce
import CoreTypes
import Crypto
import PackageTesting
import Testing

@testable import ContentPackage

/// Rules of docs/formats/manifest.md, "Sections".
@Suite("A manifest's sections")
struct ManifestSectionTests {
  private func tag(_ text: String) throws -> SectionTag { try #require(SectionTag(text)) }

  /// Three files of 400, 600 and 2,000,000 bytes in a package of three pieces; `fr.jpg` lies in the first piece, `hires.jpg` in all but
  /// the first 1,101 bytes.
  private func draft(
    _ sections: [ManifestSection], _ tags: [String: String]
  ) throws -> ManifestDraft {
    var draft = try makeDraft()
    draft.length = ByteCount(2_097_153)
    draft.pieces = [.of([2]), .of([3]), .of([4])]
    draft.files = [
      try makeFile("a.jpg", 40, 400), try makeFile("fr.jpg", 500, 600),
      try makeFile("hires.jpg", 1_100_000, 900_000),
    ]
    draft.unpackedLength = ByteCount(901_000)
    draft.cover = try PackagePath("a.jpg")
    draft.readingOrder = [try PackagePath("a.jpg"), try PackagePath("fr.jpg")]
    var bySection: [PackagePath: SectionTag] = [:]
    for (path, name) in tags { bySection[try PackagePath(path)] = try tag(name) }
    draft.setSections(sections, of: bySection)
    return draft
  }

  private func issues(_ draft: ManifestDraft) throws -> [String] {
    try #require(throws: PackageValidationError.self) { try Manifest(draft, limits: .standard) }
      .faults.map(\.description)
  }

  private func whole() throws -> Manifest {
    try Manifest(
      draft(
        [
          ManifestSection(
            tag: try tag("lang-fr"), policy: .prefetch, titles: ["fr": "Français", "en": "French"]),
          ManifestSection(tag: try tag("hires"), policy: .onDemand),
        ], ["fr.jpg": "lang-fr", "hires.jpg": "hires"]), limits: .standard)
  }

  @Test("they travel as extensions in canonical JSON, which readers that know none keep byte by byte")
  func canonical() throws {
    let text = String(decoding: try whole().canonicalBytes(), as: UTF8.self)
    let sections =
      #""extensions":{"sections":{"hires":{"policy":"on-demand"},"lang-fr":{"policy":"prefetch","title":{"en":"French","fr":"Français"}}}}"#
    #expect(text.contains(sections))
    #expect(text.contains(#""extensions":{"section":"lang-fr"},"length":600"#))
    let read = try UnverifiedManifest(Array(text.utf8)).proposed()
    #expect(read.sections.map(\.tag.description) == ["hires", "lang-fr"])
    #expect(read.sections.map(\.policy) == [.onDemand, .prefetch])
    #expect(read.sections.last?.titles == ["fr": "Français", "en": "French"])
    #expect(read.files.map(\.section?.description) == [nil, "lang-fr", "hires"])
    #expect(read.canonicalBytes() == Array(text.utf8))
  }

  @Test("the files of one section have their extensions once, whatever lies between them")
  func sharedExtensions() throws {
    let draft = try draft(
      [
        ManifestSection(tag: try tag("fr"), policy: .required),
        ManifestSection(tag: try tag("hires"), policy: .onDemand),
      ], ["a.jpg": "fr", "fr.jpg": "hires", "hires.jpg": "fr"])
    let read = try UnverifiedManifest(draft.canonicalBytes()).proposed()
    let name = try #require(ManifestName("section"))
    for files in [draft.files, read.files] {
      let places = try files.map { file in
        let value = try #require(file.extensions?[name])
        return unsafe value.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
      }
      #expect(files.map { $0.section?.description } == ["fr", "hires", "fr"])
      #expect(places[0] == places[2] && places[0] != places[1])
    }
  }

  @Test("content without sections is one whole")
  func without() throws {
    let manifest = try Manifest(makeDraft(), limits: .standard)
    #expect(manifest.sections.isEmpty && manifest.extensions == nil)
    #expect(manifest.selecting([try tag("hires")]) == manifest)
    #expect(PieceMap(manifest).missingCount == 2)
  }

  @Test("each broken rule is named")
  func rules() throws {
    let french = ManifestSection(tag: try tag("fr"), policy: .prefetch)
    #expect(
      try issues(draft([french], ["a.jpg": "de"])) == [
        "section-invalid: a.jpg: section: the manifest names no section de",
        "section-invalid: sections: no file belongs to fr",
      ])
    #expect(
      try issues(draft([french], ["a.jpg": "fr", "fr.jpg": "fr", "hires.jpg": "fr"])) == [
        "section-invalid: sections: no file is required, and a purchase would end with nothing"
      ])
    let wrong = ManifestSection(
      tag: try tag("fr"), policy: .prefetch,
      titles: ["": "x", "fr": "", "de": String(repeating: "ä", count: 256)])
    #expect(
      try issues(draft([wrong], ["fr.jpg": "fr"])) == [
        "section-invalid: sections: fr:  is no language",
        "section-invalid: sections: fr: a title has 1 to 255 characters",
        "section-invalid: sections: fr: a title has 1 to 255 characters",
      ])
  }

  @Test(
    "a value that is no object of sections is refused",
    arguments: [
      #"7"#, #"{}"#, #"{"fr":7}"#, #"{"fr":{}}"#, #"{"fr":{"policy":"never"}}"#,
      #"{"Fr":{"policy":"prefetch"}}"#,
      #"{"-fr":{"policy":"prefetch"}}"#, #"{"fr":{"more":1,"policy":"prefetch"}}"#,
      #"{"fr":{"policy":"prefetch","title":"French"}}"#,
    ])
  func malformed(_ value: String) throws {
    var draft = try draft([ManifestSection(tag: try tag("fr"), policy: .prefetch)], ["fr.jpg": "fr"])
    draft.extensions = ManifestExtensions([try #require(ManifestName("sections")): Array(value.utf8)])
    #expect(try issues(draft).allSatisfy { $0.hasPrefix("section-invalid: sections: ") })
  }

  @Test("a file's tag that is no tag is refused, and so are sections of a single file")
  func fileRules() throws {
    var draft = try makeDraft()
    let file = draft.files[0]
    let name = try #require(ManifestName("section"))
    draft.files[0] = ManifestFile(
      path: file.path, offset: file.offset, storedLength: file.storedLength, length: file.length,
      method: file.method, digest: file.digest, extensions: ManifestExtensions([name: Array(#""A b""#.utf8)]))
    #expect(try issues(draft) == ["section-invalid: a.jpg: section: no tag of a section"])
  }

  @Test("a thousand sections fit, and one more does not")
  func bound() throws {
    func issues(_ count: Int) throws -> [PackageValidationIssue] {
      var draft = try makeDraft()
      draft.files =
        try (0..<count).map { try makeFile("\(10_000 + $0).jpg", 40 + $0, 1) } + [try makeFile("z", 9000, 1)]
      draft.unpackedLength = ByteCount(count + 1)
      let sections = try (0..<count).map { ManifestSection(tag: try tag("s\($0)"), policy: .onDemand) }
      let tags = Dictionary(uniqueKeysWithValues: zip(draft.files.map(\.path), sections.map(\.tag)))
      draft.setSections(sections, of: tags)
      do {
        let bytes = try Manifest(draft, limits: .standard).canonicalBytes()
        #expect(try UnverifiedManifest(bytes).proposed().sections.count == count)
        return []
      } catch {
        return error.faults
      }
    }
    #expect(try issues(1000) == [])
    #expect(try issues(1001).map(\.code) == [.sectionInvalid])
  }

  @Test("what is selected has the required files and those of no section, and the rest is not needed")
  func selection() throws {
    let whole = try whole()
    let required = whole.selecting([])
    #expect(required.files.map(\.path.text) == ["a.jpg"])
    #expect(required.unpackedLength == ByteCount(400))
    #expect(required.readingOrder?.map(\.text) == ["a.jpg"])
    #expect(required.selectedSections.isEmpty)
    // 400 bytes of the first piece; a piece is needed whole or not at all.
    #expect(PieceMap(required).bytesNeeded == ByteCount(1_048_576))
    let sharp = whole.selecting([try tag("hires"), try tag("no-such")])
    #expect(sharp.files.map(\.path.text) == ["a.jpg", "hires.jpg"])
    // The second piece has bytes of hires.jpg; the third has one byte, of no file.
    #expect(PieceMap(sharp).bytesNeeded == ByteCount(2_097_152))
    #expect(whole.selecting([try tag("hires"), try tag("lang-fr")]) == whole)
    #expect(PieceMap(whole).bytesNeeded == ByteCount(2_097_153))
  }

  @Test("the document, its digest and what it is stand for the whole, whatever is selected")
  func identity() throws {
    let whole = try whole()
    let part = whole.selecting([try tag("hires")])
    #expect(part.canonicalBytes() == whole.canonicalBytes())
    #expect(part.manifestDigest == whole.manifestDigest)
    #expect(part != whole)
    #expect(part.unabridged == whole)
    #expect(whole.identity == whole.manifestDigest)
    #expect(Set([whole.identity, part.identity, whole.selecting([]).identity]).count == 3)
    #expect(part.selecting([try tag("lang-fr")]).files.map(\.path.text) == ["a.jpg", "fr.jpg"])
  }

  @Test("a map is complete when the pieces that are needed are verified, and others are not asked for")
  func pieces() throws {
    var map = PieceMap(try whole().selecting([try tag("hires")]))
    #expect(map.nextMissingRun(from: 0) == 0..<2)
    #expect(map.nextMissingRun(from: 2) == nil)
    map.markVerified(2)
    #expect(!map.isComplete && map.missingCount == 2)
    map.markVerified(0)
    map.markVerified(1)
    #expect(map.isComplete)
    map.markMissing(2)
    #expect(map.isComplete)
    map.markMissing(1)
    #expect(!map.isComplete && map.nextMissingRun(from: 0) == 1..<2)
  }
}
