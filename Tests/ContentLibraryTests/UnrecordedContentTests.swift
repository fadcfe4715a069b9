import ContentPackage
import CoreTypes
import Files
import PackageTesting
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

/// Content lies in the library before it has a record. A job that ends between the two and is given up leaves nothing.
@Suite(.serialized, .timeLimit(.minutes(10))) struct UnrecordedContentTests {
  /// Content that a job of an earlier process placed and did not record.
  private struct Remains {
    let fixture: LibraryFixture
    let package: FixturePackage
    let job = ContentJobIdentifier.random()

    init() async throws {
      fixture = try LibraryFixture()
      package = try FixturePackage.folder()
      try await fixture.place(package)
      for record in try fixture.database.libraryRecords() { try fixture.database.remove(record) }
      let kept = fixture.paths.paths(of: job)
      try FileSystem.createDirectories(kept.state)
      try DurableFile.write(package.manifest.canonicalBytes().span, to: kept.manifest)
    }

    var isThere: Bool {
      get throws { try FileSystem.status(of: fixture.path(package)) != nil }
    }
  }

  @Test("what a job has placed without a record goes with it, and files of other programs stay")
  func discarded() async throws {
    let remains = try await Remains()
    try DurableFile.write([1].span, to: remains.fixture.path(remains.package, "bookmark"))
    try await remains.fixture.library.discard(remains.job)
    #expect(try !remains.isThere)
    let product = "\(remains.fixture.paths.library)/\(remains.package.manifest.product)"
    #expect(try FileSystem.list(product).map(\.name) == ["\(remains.package.manifest.version).others"])
    #expect(try FileSystem.list(remains.fixture.paths.downloads).isEmpty)
    #expect(try FileSystem.list(remains.fixture.paths.trash).isEmpty)
  }

  @Test("at the start it is found by the manifest that the job kept")
  func leftovers() async throws {
    let remains = try await Remains()
    let library = remains.fixture.library
    #expect(try library.discardLeftovers(except: [remains.job]).isEmpty)
    #expect(try library.discardLeftovers(except: []) == [remains.job])
    try await library.discard(remains.job)
    #expect(try !remains.isThere)
    #expect(try library.discardLeftovers(except: []).isEmpty)
  }

  @Test("content with a record stays, and that of another manifest")
  func others() async throws {
    let remains = try await Remains()
    let manifest = remains.package.manifest
    try remains.fixture.database.save(
      LibraryRecord(manifest, placedAt: LibraryFixture.now, sizeOnDisk: .zero), stamps: nil)
    try await remains.fixture.library.discard(remains.job)
    #expect(try remains.isThere)

    let stranger = try await Remains()
    let other = try FixturePackage.folder(firstPage: FixturePackage.noise(300_000, seed: 99))
    try DurableFile.write(
      other.manifest.canonicalBytes().span, to: stranger.fixture.paths.paths(of: stranger.job).manifest)
    try await stranger.fixture.library.discard(stranger.job)
    #expect(try stranger.isThere)
  }

  @Test("while the library is away the job's manifest waits for it")
  func away() async throws {
    let remains = try await Remains()
    let (library, paths) = (remains.fixture.library, remains.fixture.paths)
    try FileSystem.rename(paths.library, to: paths.library + ".away")
    try await library.discard(remains.job)
    #expect(try library.discardLeftovers(except: []).isEmpty)
    try FileSystem.rename(paths.library + ".away", to: paths.library)
    #expect(try library.look() == .online)
    #expect(try library.discardLeftovers(except: []) == [remains.job])
  }
}
