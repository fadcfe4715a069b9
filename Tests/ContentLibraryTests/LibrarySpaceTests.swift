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

@Suite struct LibrarySpaceTests {
  private func job(_ name: String) throws -> ContentJobIdentifier { try #require(ContentJobIdentifier(name)) }

  @Test(
    "room that was promised is taken from the disk and given back as it is written (D6)",
    .enabled(if: SmallDisk.isAvailable))
  func allocated() throws {
    let disk = try SmallDisk(.mebibytes(64))
    let fixture = try LibraryFixture(root: disk.path("library"), reserve: .mebibytes(16))
    let space = fixture.library.space
    let free = try FileSystem.freeSpace(at: disk.path(""))
    let reservation = try space.admit(
      try job("a"), needing: .init(unpacked: .mebibytes(40)), allocating: true)
    #expect(try FileSystem.freeSpace(at: disk.path("")) <= free - .mebibytes(40))
    // Another program cannot take what was promised.
    #expect(throws: InsufficientSpaceError.self) {
      try space.admit(try job("b"), needing: .init(unpacked: .mebibytes(10)), allocating: true)
    }
    for written in 1...40 {
      try reservation.spend(.mebibytes(1)) {
        let file = try FileDescriptor.open(
          disk.path("library/page\(written)"), .readWrite, options: .create)
        try file.write([UInt8](repeating: 1, count: 1 << 20).span, at: .zero)
      }
      #expect(try FileSystem.freeSpace(at: disk.path("")) >= .mebibytes(16), "\(written)")
    }
    #expect(try FileSystem.status(of: "\(fixture.paths.staging)/a.reserved")?.length == .zero)
    reservation.release()
    #expect(try FileSystem.status(of: "\(fixture.paths.staging)/a.reserved") == nil)
  }

  @Test("what is spent stays promised until it is written, so that no other job is promised it meanwhile")
  func spentAndNotWritten() throws {
    let fixture = try LibraryFixture(reserve: .zero, quota: .mebibytes(5))
    let space = fixture.library.space
    let reservation = try space.admit(
      try job("a"), needing: .init(unpacked: .mebibytes(4)), allocating: false)
    let need = SpaceNeed(unpacked: .mebibytes(2))
    let missing = try reservation.spend(.mebibytes(4)) {
      try space.shortage(of: need, for: try job("b"))?.missing
    }
    #expect(missing == .mebibytes(1))
    // Nothing was written, and the file system does not count it.
    #expect(try space.shortage(of: need, for: try job("b")) == nil)
  }

  @Test("content counts against the quota on its whole way from staging to its record")
  func contentOnItsWay() async throws {
    let fixture = try LibraryFixture(reserve: .zero, quota: .mebibytes(5))
    let space = fixture.library.space
    let package = try FixturePackage.file(length: 4 << 20)
    let need = SpaceNeed(unpacked: .mebibytes(2))
    let other = try job("b")
    let smaller = SpaceNeed(unpacked: ByteCount(512 << 10))
    try await space.whilePlacing(package.manifest, for: try job("a")) {
      let missing = try space.shortage(of: need, for: other)?.missing
      #expect(missing == .mebibytes(1))
      try await fixture.place(package)
      // Once it has a record it counts as that alone.
      let shortage = try space.shortage(of: smaller, for: other)
      #expect(shortage == nil)
    }
    #expect(try space.shortage(of: need, for: other) != nil)
  }

  @Test("a section counts against the quota until it is in the record, and what was here counts once")
  func sectionOnItsWay() async throws {
    let fixture = try LibraryFixture(reserve: .zero, quota: .mebibytes(8))
    let space = fixture.library.space
    let package = try FixturePackage.inSections()
    let required = package.manifest.selecting([])
    let extended = package.manifest.selecting([try #require(SectionTag("hires"))])
    try await fixture.place(package, by: required)
    let need = SpaceNeed(unpacked: .mebibytes(3))
    let other = try job("b")
    #expect(try space.shortage(of: need, for: other) == nil)
    try await space.whilePlacing(extended, for: try job("a")) {
      let shortage = try space.shortage(of: need, for: other)
      #expect(shortage != nil)
      try await fixture.place(package, by: extended)
      // Once it has a record it counts as that alone.
      let smaller = try space.shortage(of: SpaceNeed(unpacked: .mebibytes(2)), for: other)
      #expect(smaller == nil)
    }
    #expect(try space.shortage(of: need, for: other) != nil)
  }

  @Test("what is staged counts also while it comes in the place of damaged content that has a record")
  func stagedRepair() async throws {
    let fixture = try LibraryFixture(reserve: .zero, quota: .mebibytes(9))
    let space = fixture.library.space
    let package = try FixturePackage.file(length: 4 << 20)
    try await fixture.place(package)
    let job = try job("a")
    let other = try self.job("b")
    let area = "\(fixture.paths.staging)/\(job)"
    try FileSystem.createDirectories(area)
    let file = try FileDescriptor.open("\(area)/file", .readWrite, options: .create)
    try file.write(FixturePackage.noise(4 << 20, seed: 1).span, at: .zero)
    try await space.whilePlacing(package.manifest, for: job) {
      let missing = try space.shortage(of: SpaceNeed(unpacked: .mebibytes(2)), for: other)?.missing
      #expect(missing == .mebibytes(1))
    }
  }

  @Test("what is staged for a job and was not verified is written over: it counts once against the quota")
  func stagedUnverified() throws {
    let fixture = try LibraryFixture(reserve: .zero, quota: .mebibytes(5))
    let space = fixture.library.space
    let manifest = try FixturePackage.file(length: 4 << 20).manifest
    let job = try job("a")
    let area = "\(fixture.paths.staging)/\(job)"
    try FileSystem.createDirectories(area)
    let file = try FileDescriptor.open("\(area)/file", .readWrite, options: .create)
    try file.write(FixturePackage.noise(4 << 20, seed: 1).span, at: .zero)
    // As a cut of the power leaves it: the bytes are there, and no piece is noted.
    let pieces = PieceMap(manifest)
    let need = UnpackedShares(manifest).need(without: pieces)
    #expect(try space.shortage(of: need, for: job) == nil)
    // Another job's need is not written over it.
    #expect(try space.shortage(of: need, for: try self.job("b")) != nil)
  }

  @Test("files that can be linked stay where they are staged, also before a piece of them is noted")
  func linked() throws {
    let manifest = try FixturePackage.inSections().manifest
    let need = UnpackedShares(manifest).need(
      beside: [manifest], linking: true, without: PieceMap(manifest))
    #expect(need.total == .zero)
    #expect(try #require(need.kept) >= manifest.unpackedLength)
  }

  @Test("a file that can be linked counts once among what stays, however many of its pieces are noted")
  func linkedAndNoted() throws {
    let manifest = try FixturePackage.inSections().manifest
    var pieces = PieceMap(manifest)
    for piece in 1..<pieces.layout.count { pieces.markVerified(piece) }
    let need = UnpackedShares(manifest).need(beside: [manifest], linking: true, without: pieces)
    let blocks = ByteCount(4096 * (manifest.files.count + 8))
    #expect(need.kept == manifest.unpackedLength + blocks)
  }

  @Test("where nothing can be allocated the promise alone keeps room from others")
  func promised() throws {
    let fixture = try LibraryFixture(reserve: .zero)
    let space = fixture.library.space
    let free = try FileSystem.freeSpace(at: fixture.paths.library)
    let reservation = try space.admit(
      try job("a"), needing: .init(unpacked: free - .mebibytes(1024)), allocating: false)
    let need = SpaceNeed(unpacked: .mebibytes(2048))
    #expect(try space.shortage(of: need, for: try job("b")) != nil)
    reservation.release()
    #expect(try space.shortage(of: need, for: try job("b")) == nil)
  }

  @Test(
    "a job that found no room goes on once there is some, and is not called while there is none, or was some")
  func full() throws {
    let fixture = try LibraryFixture(reserve: .zero, quota: .mebibytes(4))
    let space = fixture.library.space
    let full = try job("a")
    try space.noteFull(full)
    #expect(space.shortage(of: full) == nil)
    #expect(try space.jobsWithRoom() == [])
    let reservation = try space.admit(
      try job("b"), needing: .init(unpacked: .mebibytes(4)), allocating: false)
    try space.noteFull(full)
    #expect(space.shortage(of: full)?.needed == .mebibytes(1))
    #expect(try space.jobsWithRoom() == [])
    reservation.release()
    #expect(try space.jobsWithRoom() == [full])
    // It fails again though there is room.
    try space.noteFull(full)
    #expect(try space.jobsWithRoom() == [])
  }

  @Test("a reservation gives back its own promise, once, and not a later one of the same job")
  func released() throws {
    let fixture = try LibraryFixture(reserve: .zero)
    let space = fixture.library.space
    let free = try FileSystem.freeSpace(at: fixture.paths.library)
    var first: SpaceReservation? = try space.admit(
      try job("a"), needing: .init(unpacked: .mebibytes(1)), allocating: false)
    first?.release()
    let second = try space.admit(
      try job("a"), needing: .init(unpacked: free - .mebibytes(1024)), allocating: false)
    try first?.spend(.mebibytes(1)) {}
    first?.release()
    first = nil
    let need = SpaceNeed(unpacked: .mebibytes(2048))
    #expect(try space.shortage(of: need, for: try job("b")) != nil)
    // To ask for a job changes nothing about its promise.
    #expect(try space.shortage(of: need, for: try job("a")) == nil)
    #expect(try space.shortage(of: need, for: try job("b")) != nil)
    second.release()
    #expect(try space.shortage(of: need, for: try job("b")) == nil)
  }

  @Test("with a quota staged bytes count, and what is placed")
  func quota() async throws {
    let fixture = try LibraryFixture(reserve: .zero, quota: .mebibytes(4))
    try await fixture.place(try FixturePackage.file(length: 2 << 20))
    let space = fixture.library.space
    let first = try space.admit(try job("a"), needing: .init(unpacked: .mebibytes(1)), allocating: true)
    let error = #expect(throws: InsufficientSpaceError.self) {
      try space.admit(try job("b"), needing: .init(unpacked: .mebibytes(2)), allocating: true)
    }
    #expect(error?.shortage.needed == .mebibytes(2) && error?.shortage.quota == .mebibytes(4))
    #expect((error?.shortage.free ?? .zero) <= .mebibytes(1))
    #expect((error?.shortage.removable ?? .zero) >= .mebibytes(2))
    first.release()
    #expect(try space.shortage(of: .init(unpacked: .mebibytes(2)), for: try job("b")) == nil)
  }
}

@Suite struct EvictionTests {
  /// Two products of 2 MiB in a library of 5 MiB, the first placed earlier.
  private func filled(
    operations: FaultyFileOperations = FaultyFileOperations()
  ) async throws -> (fixture: LibraryFixture, packages: [FixturePackage]) {
    let fixture = try LibraryFixture(reserve: .zero, quota: .mebibytes(5), operations: operations)
    let packages = try (1...2).map {
      try FixturePackage.file(length: 2 << 20, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let now = SystemWallClock().now()
    for (number, package) in packages.enumerated() {
      try await fixture.place(package, at: now + .seconds(60 * number))
    }
    return (fixture, packages)
  }

  private func allow(_ packages: [FixturePackage], in fixture: LibraryFixture) {
    let products = Set(packages.map(\.manifest.product))
    fixture.library.evictionAdvice = Library.EvictionAdvice(
      removable: { _ in Library.Removable(products: products) }, noteRemoval: { _ in })
  }

  /// Asks for room for 2 MiB of the product.
  private func reserve(for product: String, in fixture: LibraryFixture) async throws {
    let reservation = try await fixture.library.reserve(
      SpaceNeed(unpacked: .mebibytes(2)), for: .random(), of: try #require(ProductIdentifier(product)),
      allocating: false)
    reservation.release()
  }

  private func remaining(in fixture: LibraryFixture) throws -> [String] {
    try fixture.database.libraryRecords().map(\.product.description)
  }

  @Test(
    "what was opened longest ago makes room, unless it is pinned: then the next does",
    arguments: [false, true])
  func pinned(isPinned: Bool) async throws {
    let (fixture, packages) = try await filled()
    allow(packages, in: fixture)
    if isPinned { _ = try await fixture.library.setPinned(true, packages[0].manifest.product) }
    try await reserve(for: "com.example.new", in: fixture)
    #expect(try remaining(in: fixture) == ["com.example.p\(isPinned ? 1 : 2)"])
  }

  @Test("of pinned content alone nothing goes, and the shortage counts none of it as removable")
  func allPinned() async throws {
    let (fixture, packages) = try await filled()
    allow(packages, in: fixture)
    for package in packages { _ = try await fixture.library.setPinned(true, package.manifest.product) }
    let error = try await #require(throws: InsufficientSpaceError.self) {
      try await reserve(for: "com.example.new", in: fixture)
    }
    #expect(error.shortage.removable == .zero)
    #expect(try remaining(in: fixture).count == 2)
  }

  @Test("content that is pinned after it was chosen stays")
  func pinnedMeanwhile() async throws {
    let operations = FaultyFileOperations()
    let (fixture, packages) = try await filled(operations: operations)
    allow(packages, in: fixture)
    let product = packages[0].manifest.product
    // When it was opened is asked once the records are read.
    operations.answer { [database = fixture.database] call, path in
      guard call == .status, path.contains(product.description) else { return nil }
      _ = try? database.setPinned(true, of: product)
      return nil
    }
    await #expect(throws: InsufficientSpaceError.self) {
      try await reserve(for: "com.example.new", in: fixture)
    }
    #expect(try remaining(in: fixture).count == 2)
  }

  @Test(
    "what cannot be fetched again, or is still needed, stays, and so do other versions of the product itself")
  func needed() async throws {
    for (allowed, product) in [([1], "com.example.new"), ([0, 1], "com.example.p1")] {
      let (fixture, packages) = try await filled()
      allow(allowed.map { packages[$0] }, in: fixture)
      try await reserve(for: product, in: fixture)
      #expect(try remaining(in: fixture) == ["com.example.p1"])
    }
  }
}

extension SpaceReservation {
  /// Runs `body`, whose writing takes so many of the promised bytes.
  fileprivate func spend<Value>(_ bytes: ByteCount, _ body: () throws -> Value) throws -> Value {
    try begin(bytes)
    let value = try body()
    end(bytes)
    return value
  }
}
