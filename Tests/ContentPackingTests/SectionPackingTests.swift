import Commerce
import CoreTypes
import Files
import PackageTesting
import PullboxTesting
import SystemCalls
import Testing

@testable import ContentPackage
@testable import ContentPacking

@Suite("Sections of a package")
struct SectionPackingTests {
  private func tag(_ text: String) throws -> SectionTag { try #require(SectionTag(text)) }

  private func rule(_ name: String, _ patterns: String..., policy: SectionPolicy = .prefetch) throws
    -> SectionRules.Rule
  {
    SectionRules.Rule(
      section: ManifestSection(tag: try tag(name), policy: policy),
      patterns: try patterns.map { try #require(PathPattern($0)) })
  }

  @Test(
    "a pattern fits whole paths: * and ? within a folder, ** over folders, a slash at the end for all of a folder",
    arguments: [
      ("a.jpg", "a.jpg", true), ("a.jpg", "b/a.jpg", false), ("*.jpg", "a.jpg", true),
      ("*.jpg", "b/a.jpg", false),
      ("?.jpg", "é.jpg", true), ("?.jpg", "ab.jpg", false), ("fr/**", "fr/a/b.jpg", true),
      ("fr/**", "fr.jpg", false),
      ("fr/", "fr/a/b.jpg", true), ("**/a.jpg", "a.jpg", true), ("**/a.jpg", "b/c/a.jpg", true),
      ("**/fr/*.jpg", "x/fr/1.jpg", true), ("**/fr/*.jpg", "x/fr/y/1.jpg", false), ("A.jpg", "a.jpg", false),
      ("a*b*c", "aXbXbc", true), ("a*b*c", "aXbXbd", false), ("**", "a/b", true), ("*", "a/b", false),
    ])
  func patterns(_ pattern: String, _ path: String, _ fits: Bool) throws {
    #expect(try #require(PathPattern(pattern)).matches(try PackagePath(path)) == fits)
  }

  @Test(
    "what is no pattern is none", arguments: ["", "/a", "a//b", "/", String(repeating: "a", count: 1025)])
  func noPattern(_ text: String) {
    #expect(PathPattern(text) == nil)
  }

  @Test("stars in a row take no time that grows beyond both lengths")
  func manyStars() throws {
    let pattern = try #require(PathPattern(String(repeating: "*a", count: 120)))
    #expect(!pattern.matches(try PackagePath(String(repeating: "a", count: 119))))
  }

  @Test("a file in two sections, and a pattern that no file fits, are faults with their names")
  func faults() throws {
    let files = try ["a.jpg", "fr/b.jpg"].map { try PackagePath($0) }
    let rules = try SectionRules([
      try rule("fr", "fr/**"), try rule("all", "**/b.jpg"), try rule("hires", "hires/**"),
    ])
    let error = try #require(throws: PackageValidationError.self) { try rules.assignment(of: files) }
    #expect(
      error.faults.map(\.description) == [
        "section-invalid: fr/b.jpg: the file belongs to two sections, fr and all",
        "section-invalid: no file fits hires/**, which belongs to the section hires",
      ])
    #expect(throws: PackageValidationError.self) {
      try SectionRules([try rule("fr", "a"), try rule("fr", "b")])
    }
  }

  @Test("a section's files lie together, behind those of none, so that it shares few pieces")
  func layout() throws {
    let folder = try Folder()
    for (path, length) in [
      ("a.jpg", 70_000), ("fr/b.jpg", 70_000), ("fr/note.txt", 20), ("c.jpg", 70_000),
      ("hires/d.jpg", 70_000),
      ("z.txt", 10),
    ] {
      try folder.write([UInt8](repeating: UInt8(path.utf8.count), count: length), to: path)
    }
    let rules = try SectionRules([try rule("hires", "hires/", policy: .onDemand), try rule("fr", "fr/**")])
    let manifest = try Sample.builder.pack(
      folder: folder.path, to: folder.directory.path("first"), sections: rules
    ).manifest
    let order = manifest.files.sorted { $0.offset < $1.offset }.map(\.path.text)
    #expect(order == ["a.jpg", "c.jpg", "z.txt", "fr/b.jpg", "fr/note.txt", "hires/d.jpg"])
    #expect(manifest.sections.map(\.tag.description) == ["fr", "hires"])
    #expect(manifest.selecting([]).files.map(\.path.text) == ["a.jpg", "c.jpg", "z.txt"])
    // The next version keeps every place.
    let again = try Sample.builder.pack(
      folder: folder.path, to: folder.directory.path("second"), sections: rules, following: manifest
    ).manifest
    #expect(again == manifest)
  }
  @Test("a folder that its manifest refuses leaves no package, and the one before it stays") func refused()
    throws
  {
    let folder = try Folder()
    try folder.write([1, 2, 3], to: "a.jpg")
    let output = folder.directory.path("package.zip")
    var limits = PackageLimits.standard
    limits.maximumManifestLength = ByteCount(64)
    let sample = try Sample.builder
    let builder = PackageBuilder(product: sample.product, version: sample.version, limits: limits)
    #expect(throws: PackageValidationError.self) { try builder.pack(folder: folder.path, to: output) }
    #expect(try FileSystem.status(of: output) == nil)
    _ = try Sample.builder.pack(folder: folder.path, to: output)
    let before = try FileSystem.read(output, upTo: .mebibytes(1))
    try folder.write([4, 5, 6, 7], to: "b.jpg")
    #expect(throws: PackageValidationError.self) { try builder.pack(folder: folder.path, to: output) }
    #expect(try FileSystem.read(output, upTo: .mebibytes(1)) == before)
  }
}
