import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Files
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

/// docs/agent.md, "Versions": how long an earlier version stays, and the way back to it.
@Suite("Versions of a product beside each other", .timeLimit(.minutes(2)))
struct LibraryVersionTests {
  private static let week: Duration = .seconds(7 * 86_400)
  private let product: ProductIdentifier
  private let clock = ManualWallClock(LibraryFixture.now)

  init() throws {
    product = try #require(ProductIdentifier(FixturePackage.product))
  }

  private func packages(_ count: Int) throws -> [FixturePackage] {
    try (0..<count).map { try FixturePackage.file(length: 10_000, version: "1.\($0)", seed: UInt64($0) + 1) }
  }

  private func versions(_ fixture: LibraryFixture) async throws -> [String] {
    try await fixture.library.items().map { "\($0.version)" }
  }

  @Test("a replaced version stays for as long since a later one came, which counts for each by itself")
  func replaced() async throws {
    let fixture = try LibraryFixture(clock: clock)
    let packages = try packages(3)
    for (day, package) in zip([0, 1, 10], packages) {
      try await fixture.place(package, at: LibraryFixture.now + .seconds(86_400 * day))
    }
    for (day, left) in [
      (7, ["1.0", "1.1", "1.2"]), (8, ["1.1", "1.2"]), (16, ["1.1", "1.2"]), (17, ["1.2"]), (400, ["1.2"]),
    ] {
      clock.set(LibraryFixture.now + .seconds(86_400 * day))
      _ = try await fixture.library.removeReplaced(after: Self.week)
      #expect(try await versions(fixture) == left, "day \(day)")
    }
    #expect(try FileSystem.status(of: fixture.path(packages[0])) == nil)
    #expect(try FileSystem.status(of: fixture.path(packages[2])) != nil)
  }

  @Test("a lease keeps its version until the last of them ends, and one that is pinned stays")
  func leases() async throws {
    let fixture = try LibraryFixture(clock: clock)
    for package in try packages(2) { try await fixture.place(package) }
    let earlier = try #require(ContentVersion("1.0"))
    let first = try #require(try await fixture.library.lease(product, earlier))
    let second = try #require(try await fixture.library.lease(product, earlier))
    #expect(first.item.version == earlier && fixture.library.leases.count == 2)
    // Unless it is named, the version that is read.
    let read = try #require(try await fixture.library.lease(product, nil))
    #expect("\(read.item.version)" == "1.1")
    for lease in [first, second] {
      #expect(try await fixture.library.removeReplaced(after: .zero).isEmpty)
      fixture.library.leases.end(lease.lease)
      // Again, it changes nothing.
      fixture.library.leases.end(lease.lease)
    }
    _ = try await fixture.library.setPinned(true, product)
    #expect(try await fixture.library.removeReplaced(after: .zero).isEmpty)
    _ = try await fixture.library.setPinned(false, product)
    #expect(try await fixture.library.removeReplaced(after: .zero, except: [product]).isEmpty)
    #expect(try await fixture.library.removeReplaced(after: .zero).map(\.version) == [earlier])
    #expect(try await fixture.library.lease(product, earlier) == nil)
  }

  @Test("there are so many leases and no more, none once the library's agent ends, and who holds one is told")
  func bounds() async throws {
    let fixture = try LibraryFixture(clock: clock)
    try await fixture.place(try packages(1)[0])
    var ends: [AsyncStream<Never>] = []
    for _ in 0..<LibraryLeases.maximumCount {
      ends.append(try #require(try await fixture.library.lease(product, nil)).end)
    }
    let many = await #expect(throws: Problem.self) { _ = try await fixture.library.lease(product, nil) }
    #expect(many?.code == .tooManyRequests)
    fixture.library.leases.close()
    for end in ends { for await _ in end {} }
  }

  @Test("what is damaged or was taken back replaces nothing")
  func notReplacing() async throws {
    let fixture = try LibraryFixture(clock: clock)
    let packages = try packages(2)
    for package in packages { try await fixture.place(package) }
    _ = try await fixture.library.noteOffered([product: packages[0].manifest.version])
    #expect(try await fixture.library.removeReplaced(after: .zero).isEmpty)
    _ = try await fixture.library.noteOffered([product: packages[1].manifest.version])
    try fixture.flip(fixture.path(packages[1], "issue.pdf"), at: 77)
    #expect(try await fixture.held(packages[1]) == nil)
    #expect(try await fixture.library.removeReplaced(after: .zero).isEmpty)
  }

  @Test("the way back leads to the version before and on again, and a newer version is read at once")
  func back() async throws {
    let fixture = try LibraryFixture(clock: clock)
    let packages = try packages(4)
    for package in packages.prefix(3) { try await fixture.place(package) }
    func read(_ items: [LibraryItem]?) -> String? { items?.current(of: product).map { "\($0.version)" } }
    let library = fixture.library
    #expect(read(try await library.goBack(product, to: nil)) == "1.1")
    #expect(read(try await library.goBack(product, to: nil)) == "1.0")
    let none = await #expect(throws: Problem.self) { _ = try await library.goBack(product, to: nil) }
    #expect(none?.code == .stateConflict)
    // What is read is replaced by nothing, and what was left is kept.
    #expect(try await library.removeReplaced(after: .zero).isEmpty)
    #expect(read(try await library.goBack(product, to: packages[2].manifest.version)) == "1.2")
    #expect(read(try await library.goBack(product, to: packages[1].manifest.version)) == "1.1")
    // The server's word on what it offers changes nothing of that, and a restart neither.
    _ = try await library.noteOffered([product: packages[2].manifest.version])
    #expect(read(try await library.items()) == "1.1")
    #expect(try fixture.database.libraryRecords().map(\.isGoneBack) == [false, false, true])
    _ = try await library.noteOffered([product: packages[3].manifest.version])
    try await fixture.place(packages[3])
    #expect(read(try await library.items()) == "1.3")
    let seven = try #require(ContentVersion("7"))
    let unknown = await #expect(throws: Problem.self) {
      _ = try await library.goBack(product, to: seven)
    }
    #expect(unknown?.code == .versionUnknown)
    #expect(try await library.goBack(try #require(ProductIdentifier("com.example.none")), to: nil) == nil)
  }

  @Test("the way back leads to nothing that is damaged, or that the server has taken back")
  func notBack() async throws {
    let fixture = try LibraryFixture(clock: clock)
    let packages = try packages(2)
    for package in packages { try await fixture.place(package) }
    try fixture.flip(fixture.path(packages[0], "issue.pdf"), at: 77)
    #expect(try await fixture.held(packages[0]) == nil)
    for version in [nil, packages[0].manifest.version] {
      let refused = await #expect(throws: Problem.self) {
        _ = try await fixture.library.goBack(product, to: version)
      }
      #expect(refused?.code == .stateConflict)
    }
    _ = try await fixture.library.noteOffered([product: packages[0].manifest.version])
    let taken = await #expect(throws: Problem.self) {
      _ = try await fixture.library.goBack(product, to: packages[1].manifest.version)
    }
    #expect(taken?.code == .stateConflict)
  }

  @Test("to make room a replaced version goes before what was opened longest ago, unless it is open")
  func eviction() async throws {
    let fixture = try LibraryFixture(reserve: .zero, quota: .kibibytes(100), clock: clock)
    let other = try FixturePackage.file(length: 30_000, product: "com.example.other", seed: 9)
    let earlier = try FixturePackage.file(length: 30_000, seed: 1)
    let later = try FixturePackage.file(length: 30_000, version: "1.1", seed: 2)
    try await fixture.place(other, at: LibraryFixture.now - .seconds(1000))
    try await fixture.place(earlier)
    try await fixture.place(later)
    let removable: Set<ProductIdentifier> = [product, other.manifest.product]
    fixture.library.evictionAdvice = Library.EvictionAdvice(
      removable: { _ in Library.Removable(products: removable) }, noteRemoval: { _ in })
    func makeRoom() async throws {
      let reservation = try await fixture.library.reserve(
        SpaceNeed(unpacked: .kibibytes(30)), for: .random(),
        of: try #require(ProductIdentifier("com.example.new")),
        allocating: false)
      reservation.release()
    }
    let held = try #require(try await fixture.library.lease(product, earlier.manifest.version))
    try await makeRoom()
    #expect(
      try await fixture.library.items().map { "\($0.product) \($0.version)" } == [
        "\(product) 1.0", "\(product) 1.1",
      ])
    fixture.library.leases.end(held.lease)
    try await fixture.place(other)
    try await makeRoom()
    #expect(
      try await fixture.library.items().map { "\($0.product) \($0.version)" } == [
        "\(product) 1.1", "com.example.other 1.0",
      ])
  }
}
