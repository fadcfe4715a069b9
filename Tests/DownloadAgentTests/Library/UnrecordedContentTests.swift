import Commerce
import ContentPackage
import CoreTypes
import Glibc
import HTTPClient
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary
@testable import DownloadAgent

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

  @Test(
    "a download that is cancelled after its content was placed and before that was recorded leaves none of it"
  )
  func cancelled() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.folder()
    let server = FakeServer([package])
    let root = "\(harness.library)/\(package.manifest.product)/\(package.manifest.version)"
    try server.queuePurchase()
    // From the moment in which the content has its name nothing can be read any more, so that it gets no record.
    let isBroken = Locked(true)
    harness.operations.answer { call, name in
      guard isBroken.current, call == .status || call == .open,
        (try? FileSystem.status(of: root)).flatMap({ $0 }) != nil
      else { return nil }
      return EIO
    }
    let hour = Backoff(initial: .seconds(3600), factor: 1, cap: .seconds(3600), jitter: 0)
    let retry = RetryPolicy(backoff: hour, longestRequestedDelay: .seconds(3600), requestedJitter: 0)
    try await server.open { url in
      try await harness.run(server: url, retry: retry) { agent in
        let waiting = try await agent.download(.waiting, "storage-failure")
        #expect(try FileSystem.status(of: root) != nil)
        isBroken.withLock { $0 = false }
        #expect(try await harness.ask("POST", "/v1/downloads/\(waiting.id)/cancel").status == 200)
        _ = try await agent.download(.cancelled)
      }
      try await harness.run(server: url) { _ in
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.isEmpty)
      }
    }
    #expect(try FileSystem.status(of: root) == nil)
    #expect(try FileSystem.status(of: FileSystem.parent(of: root)) == nil)
    #expect(try FileSystem.list("\(harness.library)/.staging").isEmpty)
    #expect(try FileSystem.list("\(harness.library)/.trash").isEmpty)
  }
}
