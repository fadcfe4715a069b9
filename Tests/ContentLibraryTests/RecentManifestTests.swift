import Commerce
import ContentPackage
import CoreTypes
import Files
import PackageTesting
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

@Suite("The manifest that readers ask for again")
struct RecentManifestTests {
  private let operations = FaultyFileOperations()
  private let fixture: LibraryFixture
  private let package: FixturePackage

  init() throws {
    fixture = try LibraryFixture(operations: operations)
    package = try FixturePackage.inSections()
  }

  /// Whether a question of a reader reads the manifest's file.
  private func reads() async throws -> Bool {
    let isRead = Locked(false)
    let name = "/.pullbox/\(package.manifest.version)"
    operations.answer { call, path in
      if call == .read, path.hasSuffix(name) { isRead.withLock { $0 = true } }
      return nil
    }
    let found = try await fixture.library.manifest(
      of: package.manifest.product, version: package.manifest.version)
    #expect(found?.manifestDigest == package.manifest.manifestDigest)
    return isRead.current
  }

  @Test("it is read once, and again when its file has changed, or nobody has asked for a minute")
  func readOnce() async throws {
    try await fixture.place(package)
    #expect(try await reads())
    let now = SystemMonotonicClock().now()
    #expect(try await !reads())
    fixture.library.recentManifest.dropIdle(at: now + .seconds(59))
    #expect(try await !reads())
    fixture.library.recentManifest.dropIdle(at: now + .seconds(3600))
    #expect(try await reads())
    try fixture.library.write(package.manifest)
    #expect(try await reads())
  }

  @Test("one that is gone, or is another than the record's, is not answered from memory")
  func gone() async throws {
    try await fixture.place(package)
    #expect(try await reads())
    let (product, version) = (package.manifest.product, package.manifest.version)
    let path = "\(fixture.library.folder(of: product))/\(version)"
    try DurableFile.write([1, 2, 3].span, to: path)
    #expect(try await fixture.library.manifest(of: product, version: version) == nil)
    try FileSystem.removeFile(path)
    #expect(try await fixture.library.manifest(of: product, version: version) == nil)
  }

  @Test("it speaks of the sections that are here now, and each is told with its files")
  func sections() async throws {
    let hires = try #require(SectionTag("hires"))
    let product = package.manifest.product
    try await fixture.place(package, by: package.manifest.selecting([hires]))
    func here() async throws -> [String] {
      let manifest = try await fixture.library.manifest(of: product, version: package.manifest.version)
      return (manifest?.files ?? []).map(\.path.text)
    }
    #expect(try await here() == ["001.jpg", "002.jpg", "hires/001.jpg", "hires/002.jpg"])
    _ = try await fixture.library.drop(hires, of: product)
    #expect(try await here() == ["001.jpg", "002.jpg"])
    let found = try #require(try await fixture.library.sections(of: product)).sections
    #expect(found.map(\.tag.description) == ["hires", "lang-fr"])
    #expect(found.map(\.files) == [2, 2] && found.map(\.isHere) == [false, false])
    let lengths = ["hires/", "fr/"].map { folder in
      package.files.filter { $0.key.hasPrefix(folder) }.reduce(0) { $0 + Int64($1.value.count) }
    }
    #expect(found.map(\.length.rawValue) == lengths)
  }
}
