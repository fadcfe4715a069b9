import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Files
import Glibc
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

/// docs/agent.md, "What was taken back".
@Suite("Content that was taken back", .timeLimit(.minutes(2)))
struct LibraryWithdrawalTests {
  let product: ProductIdentifier
  let package: FixturePackage

  init() throws {
    product = try #require(ProductIdentifier(FixturePackage.product))
    package = try FixturePackage.file(length: 100_000)
  }

  func entry(_ kind: FeedEntry.Kind, keep: Bool? = nil) throws -> FeedEntry {
    FeedEntry(
      kind: kind, product: product, transaction: try #require(TransactionIdentifier("1")), keep: keep)
  }

  func hear(_ kind: FeedEntry.Kind, keep: Bool? = nil, _ library: Library) async throws {
    _ = try await library.noteOwnership(of: [try entry(kind, keep: keep)])
  }

  func hidden(_ fixture: LibraryFixture) -> String {
    "\(fixture.paths.withdrawn)/\(product)/\(package.manifest.version)"
  }

  func isThere(_ path: String) throws -> Bool { try FileSystem.status(of: path) != nil }

  @Test("a revocation moves every version out of the tree that readers see, and its reversal brings all back")
  func course() async throws {
    let fixture = try LibraryFixture()
    let later = try FixturePackage.file(length: 50_000, version: "1.1", seed: 2)
    for package in [package, later] { try await fixture.place(package) }
    try await hear(.revoked, fixture.library)
    let settled = await fixture.library.settleWithdrawals()
    #expect(settled.changed.map(\.withdrawn) == [true, true] && !settled.isPending)
    for package in [package, later] { #expect(try !isThere(fixture.path(package))) }
    #expect(try isThere(hidden(fixture)))
    #expect(try FileSystem.status(of: fixture.paths.withdrawn)?.permissions == 0o700)
    let items = try await fixture.library.items()
    #expect(items.allSatisfy { $0.withdrawn == true && $0.state == .offline && $0.owned == false })
    #expect(items.first?.path == fixture.path(package, "issue.pdf"))
    // Nothing more is to be done, and nothing is read or leased.
    #expect(await fixture.library.settleWithdrawals().changed.isEmpty)
    let refused = await #expect(throws: Problem.self) {
      _ = try await fixture.library.lease(product, nil)
    }
    #expect(refused?.code == .entitlementRevoked)
    await #expect(throws: Problem.self) {
      _ = try await fixture.library.manifest(of: product, version: package.manifest.version)
    }
    #expect(try await fixture.held(package) == nil)

    try await hear(.reinstated, fixture.library)
    let back = await fixture.library.settleWithdrawals()
    #expect(back.changed.map(\.state) == [.present, .present])
    for package in [package, later] { #expect(try isThere(fixture.path(package))) }
    #expect(try !isThere("\(fixture.paths.withdrawn)/\(product)"))
    #expect(try await fixture.held(package)?.state == .present)
  }

  @Test(
    "what its publisher leaves to its buyers stays where it is, and so does what the server told nothing of")
  func kept() async throws {
    let fixture = try LibraryFixture()
    try await fixture.place(package)
    #expect(await fixture.library.settleWithdrawals().changed.isEmpty)
    try await hear(.revoked, keep: true, fixture.library)
    #expect(await fixture.library.settleWithdrawals().changed.isEmpty)
    let item = try #require(try await fixture.library.items().first)
    #expect(item.owned == false && item.state == .present && item.withdrawn == nil)
    // The publisher thinks again.
    try await hear(.revoked, fixture.library)
    #expect(await fixture.library.settleWithdrawals().changed.count == 1)
  }

  @Test("who has a file open reads on, and whoever opens it then does not")
  func open() async throws {
    let fixture = try LibraryFixture()
    try await fixture.place(package)
    let name = try #require(package.files.keys.first)
    let file = try FileDescriptor.open(fixture.path(package, name), .readOnly)
    let lease = try await fixture.library.lease(product, nil)
    #expect(lease != nil)
    try await hear(.revoked, fixture.library)
    #expect(await fixture.library.settleWithdrawals().changed.count == 1)
    var bytes: [UInt8] = []
    try file.read(upTo: 100_000, at: .zero, into: &bytes)
    #expect(bytes.count == 100_000)
    #expect(throws: SystemError.self) {
      _ = try FileDescriptor.open(fixture.path(package, name), .readOnly)
    }
  }

  @Test("a reader's own notes stay, and so does what lies in the way when the content comes back")
  func foreign() async throws {
    let fixture = try LibraryFixture()
    try await fixture.place(package)
    func write(_ path: String) throws {
      try FileSystem.createDirectories(FileSystem.parent(of: path))
      try DurableFile.write([1, 2, 3].span, to: path)
    }
    try write(fixture.path(package, "notes.txt"))
    try await hear(.revoked, fixture.library)
    _ = await fixture.library.settleWithdrawals()
    #expect(try isThere("\(fixture.path(package)).others/notes.txt"))
    try write(fixture.path(package, "another.txt"))
    try await hear(.reinstated, fixture.library)
    #expect(await fixture.library.settleWithdrawals().changed.map(\.state) == [.present])
    #expect(try isThere("\(fixture.path(package)).others/another.txt"))
    #expect(try await fixture.held(package) != nil)
  }

  @Test("what was changed where nobody should comes back as damaged, and is not called whole")
  func damaged() async throws {
    let fixture = try LibraryFixture()
    try await fixture.place(package)
    try await hear(.revoked, fixture.library)
    _ = await fixture.library.settleWithdrawals()
    let name = try #require(package.files.keys.first)
    try fixture.flip("\(hidden(fixture))/\(name)", at: 10)
    try await hear(.reinstated, fixture.library)
    #expect(await fixture.library.settleWithdrawals().changed.map(\.state) == [.damaged])
    #expect(try isThere(fixture.path(package)))
  }

  @Test("what is bought again is taken from where it lies, before the feed tells of it")
  func boughtAgain() async throws {
    let clock = ManualWallClock(LibraryFixture.now)
    let fixture = try LibraryFixture(clock: clock)
    try await fixture.place(package)
    try await hear(.revoked, fixture.library)
    _ = await fixture.library.settleWithdrawals()
    #expect(try await fixture.held(package) == nil)
    // A grant that was asked for before the revocation says nothing.
    #expect(try await fixture.library.noteGranted(product, asked: LibraryFixture.now - .seconds(1)).isEmpty)
    clock.advance(by: .seconds(60))
    #expect(try await fixture.library.noteGranted(product, asked: clock.now()).map(\.owned) == [true])
    #expect(try await fixture.held(package)?.state == .present)
    #expect(try isThere(fixture.path(package)))
  }

  @Test("it counts against the quota, goes before all else, and is no room that could be fetched again")
  func room() async throws {
    let fixture = try LibraryFixture(reserve: .zero, quota: .mebibytes(5))
    let large = try FixturePackage.file(length: 2 << 20)
    let other = try FixturePackage.file(length: 2 << 20, product: "com.example.other", seed: 3)
    for package in [large, other] { try await fixture.place(package) }
    _ = try await fixture.library.setPinned(true, product)
    let job = ContentJobIdentifier.random()
    let need = SpaceNeed(unpacked: .mebibytes(2))
    let before = try #require(try fixture.library.space.shortage(of: need, for: job))
    // The other alone, since this one is pinned.
    #expect(before.shortage.removable >= .mebibytes(2) && before.shortage.removable < .mebibytes(3))
    try await hear(.revoked, fixture.library)
    _ = await fixture.library.settleWithdrawals()
    _ = try await fixture.library.setPinned(false, product)
    let after = try #require(try fixture.library.space.shortage(of: need, for: job))
    #expect(after.missing == before.missing && after.shortage.removable == before.shortage.removable)
    let removed = Locked<[String]>([])
    fixture.library.evictionAdvice = Library.EvictionAdvice(
      removable: { _ in Library.Removable(products: [other.manifest.product]) },
      noteRemoval: { item in removed.withLock { $0.append("\(item.product)") } })
    let third = try #require(ProductIdentifier("com.example.third"))
    let reservation = try await fixture.library.reserve(need, for: job, of: third, allocating: false)
    #expect(removed.withLock { $0 } == [FixturePackage.product])
    #expect(try !isThere(fixture.paths.withdrawn + "/\(product)"))
    reservation.release()
  }

  @Test(
    "content that the server offers no more, or that is not owned, is no room that could be fetched again")
  func removable() async throws {
    let fixture = try LibraryFixture(reserve: .zero, quota: .mebibytes(3))
    try await fixture.place(try FixturePackage.file(length: 2 << 20))
    let need = SpaceNeed(unpacked: .mebibytes(2))
    func removable() throws -> ByteCount? {
      try fixture.library.space.shortage(of: need, for: ContentJobIdentifier.random())?.shortage.removable
    }
    #expect(try #require(try removable()) >= .mebibytes(2))
    for (kind, keep, isRemovable) in [
      (FeedEntry.Kind.issueAvailable, nil, true), (.withdrawn, nil, false), (.reinstated, nil, true),
      (.revoked, true, false), (.reinstated, nil, true),
    ] {
      try await hear(kind, keep: keep, fixture.library)
      let room = try removable() ?? .zero
      #expect((room >= .mebibytes(2)) == isRemovable, "\(kind)")
    }
  }

  @Test("what a license lists counts once it is saved, all of it or nothing, and moves what it says")
  func licensed() async throws {
    struct Full: Error {}
    let fixture = try LibraryFixture()
    try await fixture.place(package)
    try await hear(.issueAvailable, fixture.library)
    let license = License(
      serial: "s", device: try #require(DeviceIdentifier("d")), deviceKey: SigningKey().verificationKey,
      issued: LibraryFixture.now, expires: LibraryFixture.now + .seconds(86_400), owned: [],
      ended: [License.Ended(product: product, because: "closed-by-lapse")])
    let asked = SystemWallClock().now() + .seconds(1)
    await #expect(throws: Full.self) {
      _ = try await fixture.library.noteLicensed(license, asked: asked) { _ in throw Full() }
    }
    #expect(fixture.library.ownership[product]?.isOwned == true)
    let database = fixture.database
    let changed = try await fixture.library.noteLicensed(license, asked: asked) { news in
      try database.save(
        license: "text", of: "service", trust: LicenseTrust(kept: [license.deviceKey]), time: HighestTime(),
        news)
    }
    #expect(changed.map(\.because) == ["closed-by-lapse"])
    #expect(try database.ownership()[product]?.isOwned == false)
    #expect(try database.licenseText(of: "service") == "text")
    #expect(await fixture.library.settleWithdrawals().changed.map(\.withdrawn) == [true])
    // Told again it changes nothing, and is saved with nothing of ownership.
    let again = try await fixture.library.noteLicensed(license, asked: asked) { news in #expect(news.isEmpty)
    }
    #expect(again.isEmpty)
  }

  @Test("a license that was asked for before a purchase does not undo it, and a later one counts")
  func licenseInFlight() async throws {
    let clock = ManualWallClock(LibraryFixture.now)
    let fixture = try LibraryFixture(clock: clock)
    let library = fixture.library
    try await fixture.place(package)
    try await hear(.revoked, library)
    let license = License(
      serial: "s", device: try #require(DeviceIdentifier("d")), deviceKey: SigningKey().verificationKey,
      issued: LibraryFixture.now, expires: LibraryFixture.now + .seconds(86_400), owned: [],
      ended: [License.Ended(product: product, because: "revoked")])
    let asked = clock.now()
    clock.advance(by: .seconds(1))
    #expect(try await library.noteGranted(product, asked: clock.now()).map(\.owned) == [true])
    clock.advance(by: .seconds(1))
    let overtaken = try await library.noteLicensed(license, asked: asked) { news in #expect(news.isEmpty) }
    #expect(overtaken.isEmpty)
    #expect(library.ownership[product]?.isOwned == true)
    #expect(try await library.noteLicensed(license, asked: clock.now()) { _ in }.map(\.owned) == [false])
    // What was noted by a clock that was ahead is no later word.
    clock.advance(by: .seconds(86_400))
    try await hear(.reinstated, library)
    clock.set(LibraryFixture.now + .seconds(10))
    #expect(try await library.noteLicensed(license, asked: clock.now()) { _ in }.map(\.owned) == [false])
  }

  @Test("what was taken back is removed as anything else, and leaves nothing behind")
  func removed() async throws {
    let fixture = try LibraryFixture()
    try await fixture.place(package)
    try await hear(.revoked, fixture.library)
    _ = await fixture.library.settleWithdrawals()
    #expect(try await fixture.library.remove(product).count == 1)
    #expect(try await fixture.library.items().isEmpty)
    #expect(try !isThere("\(fixture.paths.withdrawn)/\(product)"))
    #expect(try !isThere(FileSystem.parent(of: fixture.path(package))))
  }

  @Test("a library whose records are lost knows what was taken back, and gives it back")
  func rebuilt() async throws {
    let fixture = try LibraryFixture()
    try await fixture.place(package)
    try await hear(.revoked, fixture.library)
    _ = await fixture.library.settleWithdrawals()
    fixture.library.close()
    let state = fixture.directory.path("another")
    try FileSystem.createDirectories(state)
    let paths = StatePaths(state: state, library: fixture.paths.library)
    let database = try AgentDatabase(path: paths.database)
    let library = Library(paths: paths, database: database, mayBegin: true, log: Log(level: .error))
    try #require(try library.look() == .online)
    #expect(try await library.items().map(\.withdrawn) == [true])
    try await hear(.issueAvailable, library)
    #expect(await library.settleWithdrawals().changed.map(\.state) == [.present])
    library.close()
  }
}
