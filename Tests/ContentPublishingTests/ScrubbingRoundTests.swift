import BlobStore
import Commerce
import ContentDelivery
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliverySchema
import DeliveryTesting
import Files
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import StorageTesting
import SystemCalls
import Testing

@testable import ContentPublishing
@testable import DeliveryRecords

@Suite("Rounds over the stored packages")
struct ScrubbingRoundTests {
  private let directory: TemporaryDirectory
  private let clock = ManualWallClock()
  private let database: Database
  private let shelf: MemoryShelf

  init() throws {
    directory = try TemporaryDirectory()
    try NewDatabase.put(into: directory.path)
    database = try Database.open(path: directory.path("server.db"), migrations: Migrations.all)
    shelf = try MemoryShelf(incoming: BlobStore.open(directory: directory.path, reserve: .zero))
  }

  /// Puts a package of a version on the shelf.
  private func add(_ bytes: [UInt8], version: String = "1.0") async throws -> SHA256Digest {
    let digest = SHA256Digest.of(bytes)
    shelf.set(bytes, as: digest)
    let (product, now) = (try #require(ProductIdentifier("com.example.issue1")), clock.now())
    let version = try #require(ContentVersion(version))
    try await database.write(locking: [.everything]) { connection in
      try ProductTable.put(Product(id: product, type: .nonConsumable), at: now, in: connection)
      try VersionTable.insert(
        VersionRecord(
          product: product, version: version, state: .draft, length: ByteCount(bytes.count), digest: digest,
          manifestDigest: digest, pieces: 1, files: 1, created: now), manifest: [], cover: nil, title: nil,
        in: connection)
    }
    return digest
  }

  private func scrubber(
    lease: WorkerLease? = nil, timer: any MonotonicClock = SystemMonotonicClock(),
    rate: ByteCount = .mebibytes(1024), readsAll: Bool = true, state: String? = nil
  ) -> PackageScrubber {
    PackageScrubber(
      database: database, shelf: shelf,
      stops: RevocationList(meters: MeterRegistry(timer: timer), generation: Generation()), clock: clock,
      timer: timer, rules: .init(rate: rate, readsAll: readsAll), log: Log(level: .error), lease: lease,
      state: state)
  }

  private func lease(of node: String) -> WorkerLease {
    WorkerLease("packages", holder: node, database: database, clock: clock)
  }

  /// Calls `body` with the number of each read of a package that follows.
  private func countReads(_ body: @escaping @Sendable (Int) async throws -> Void) -> Locked<Int> {
    let count = Locked(0)
    shelf.setAfterReading(isRepeated: true) {
      let number = count.withLock { count in
        count += 1
        return count
      }
      do {
        try await body(number)
      } catch {
        Issue.record(error)
      }
    }
    return count
  }

  @Test("a package that is being read when an operator asks for a round is read again by it")
  func askedMeanwhile() async throws {
    let digest = try await add([1, 2, 3])
    let (scrubber, clock, shelf) = (scrubber(), clock, shelf)
    shelf.setAfterReading {
      clock.advance(by: .seconds(1))
      shelf.set([9, 9, 9], as: digest)
      do {
        #expect(try await scrubber.ask().waiting == 1)
      } catch {
        Issue.record(error)
      }
    }
    try await scrubber.runRound()
    #expect(try await scrubber.report().faults.isEmpty)
    try await scrubber.runRound()
    #expect(try await scrubber.report().faults.map(\.digest) == [digest])
  }

  @Test("a package that a cache of the machine has wrong, and its disk right, is whole")
  func wrongCache() async throws {
    let digest = try await add([1, 2, 3])
    let scrubber = scrubber()
    shelf.misread(digest, .cached)
    try await scrubber.runRound()
    #expect(try await scrubber.report().faults.isEmpty)
  }

  @Test("a package that was read wrong twice is read again after a minute, and then after four times as long")
  func pauses() async throws {
    let digest = try await add([1, 2, 3])
    let timer = ManualMonotonicClock()
    let scrubber = scrubber(timer: timer)
    shelf.misread(digest, .disk)
    try await scrubber.runRound()
    #expect(try await scrubber.report().faults.map(\.digest) == [digest])
    for (pause, checks) in [(59, 1), (1, 2), (239, 2), (1, 3)] {
      timer.advance(by: .seconds(pause))
      try await scrubber.lookAtFaulty()
      #expect(await scrubber.checks == checks, "behind \(pause) s more")
    }
    shelf.misread(digest, nil)
    timer.advance(by: .seconds(960))
    try await scrubber.lookAtFaulty()
    #expect(try await scrubber.report().faults.isEmpty)
  }

  @Test("a package that was damaged where it was sent is read again a minute later")
  func damagedWhereSent() async throws {
    let digest = try await add([1, 2, 3])
    let timer = ManualMonotonicClock()
    let scrubber = scrubber(timer: timer)
    // Several requests were under way.
    for _ in 0..<6 { #expect(await scrubber.noteDamaged(digest)) }
    try await scrubber.lookAtFaulty()
    #expect(try await scrubber.report().faults.map(\.digest) == [digest])
    timer.advance(by: .seconds(60))
    try await scrubber.lookAtFaulty()
    #expect(try await scrubber.report().faults.isEmpty)
  }

  @Test(
    "where lengths alone are compared a damaged package is read again only once another lies in its place")
  func lengthsAlone() async throws {
    let digest = try await add([1, 2, 3])
    let timer = ManualMonotonicClock()
    let scrubber = scrubber(timer: timer, readsAll: false)
    #expect(await scrubber.noteDamaged(digest))
    timer.advance(by: .seconds(86_400))
    try await scrubber.lookAtFaulty()
    #expect(await scrubber.checks == 0)
    shelf.set([3, 2, 1], as: digest)
    try await scrubber.lookAtFaulty()
    #expect(await scrubber.checks == 1)
  }

  @Test("a node that reads a package for longer than its lease lasts has it all the time")
  func longPackage() async throws {
    _ = try await add([UInt8](repeating: 1, count: 4 << 20))
    let (clock, other) = (clock, lease(of: "b"))
    let reads = countReads { _ in
      clock.advance(by: .seconds(20))
      let isFree = try await other.isHeld()
      #expect(!isFree)
    }
    let scrubber = scrubber(lease: lease(of: "a"))
    try await scrubber.runRound()
    #expect(reads.current == 5)
    #expect(await scrubber.checks == 1)
  }

  @Test(
    "a fault that cannot be written down when it is found is once that is possible, unless the package is whole by then"
  )
  func faultWhileAway() async throws {
    let bytes: [UInt8] = [1, 2, 3]
    let digest = try await add(bytes)
    let scrubber = scrubber()
    for isRepaired in [false, true] {
      // As if the database were away.
      try await rename("package_checks", to: "away")
      #expect(await scrubber.noteDamaged(digest))
      await #expect(throws: DatabaseError.self) { try await scrubber.writeFaults() }
      try await rename("away", to: "package_checks")
      if isRepaired { try await scrubber.noteWhole(digest) }
      try await scrubber.writeFaults()
      #expect(try await scrubber.report().faults.map(\.digest) == (isRepaired ? [] : [digest]))
      // The bytes are right by now: it is read again.
      try await scrubber.lookAtFaulty()
      #expect(try await scrubber.report().faults.isEmpty)
    }
  }

  @Test("faults that cannot be written down outlive the server, until one of its next runs writes them")
  func faultsOverRestart() async throws {
    let damaged = try await add([1, 2, 3])
    let missing = try await add([4], version: "1.1")
    let repaired = try await add([5, 6], version: "1.2")
    try await rename("package_checks", to: "away")
    do {
      let scrubber = scrubber(state: directory.path)
      for digest in [damaged, repaired] { #expect(await scrubber.noteDamaged(digest)) }
      #expect(await scrubber.noteMissing(missing))
      // The database is away for that, and the fault is gone all the same.
      await #expect(throws: DatabaseError.self) { try await scrubber.noteWhole(repaired) }
    }
    // The next run does not live to see it back.
    await #expect(throws: DatabaseError.self) {
      try await self.scrubber(state: directory.path).writeFaults()
    }
    try await rename("away", to: "package_checks")
    let scrubber = scrubber(state: directory.path)
    try await scrubber.writeFaults()
    let faults = try await scrubber.report().faults.map { [$0.digest.hexadecimal, $0.fault.rawValue] }
    #expect(Set(faults) == [[damaged.hexadecimal, "damaged"], [missing.hexadecimal, "missing"]])
    #expect(try FileSystem.status(of: directory.path(UnwrittenFaults.fileName)) == nil)
  }

  @Test("a file of faults that is damaged is passed over, and the next fault replaces it")
  func damagedFile() async throws {
    let digest = try await add([1, 2, 3])
    let path = directory.path(UnwrittenFaults.fileName)
    let half: [UInt8] = [0x7B]
    try DurableFile.write(half.span, to: path)
    try await rename("package_checks", to: "away")
    #expect(await scrubber(state: directory.path).noteDamaged(digest))
    try await rename("away", to: "package_checks")
    let next = scrubber(state: directory.path)
    try await next.writeFaults()
    #expect(try await next.report().faults.map(\.digest) == [digest])
  }

  private func rename(_ table: String, to name: String) async throws {
    try await database.write(locking: [.everything]) {
      try $0.execute("ALTER TABLE \(table) RENAME TO \(name)")
    }
  }

  @Test("the lease is asked for also while a slow rate makes a node wait")
  func slowRate() async throws {
    _ = try await add([UInt8](repeating: 1, count: 1 << 20))
    let timer = ManualMonotonicClock()
    let scrubber = scrubber(lease: lease(of: "a"), timer: timer, rate: .kibibytes(10))
    let round = Task { try await scrubber.runRound() }
    let other = lease(of: "b")
    for _ in 0..<20 {
      await timer.waitForSleepers()
      clock.advance(by: .seconds(5))
      timer.advance(by: .seconds(5))
      #expect(try await !other.isHeld())
    }
    await timer.waitForSleepers()
    timer.advance(by: .seconds(5))
    try await round.value
    #expect(await scrubber.checks == 1)
  }

  @Test("a node that has lost its lease while it reads a package reads no further, and says nothing of it")
  func lostLease() async throws {
    let digest = try await add([UInt8](repeating: 1, count: 4 << 20))
    shelf.set([UInt8](repeating: 2, count: 4 << 20), as: digest)
    let (clock, other) = (clock, lease(of: "b"))
    let reads = countReads { number in
      guard number == 2 else { return }
      clock.advance(by: .seconds(31))
      let isFree = try await other.isHeld()
      #expect(isFree)
    }
    let scrubber = scrubber(lease: lease(of: "a"))
    try await scrubber.runRound()
    #expect(reads.current == 2)
    #expect(await scrubber.checks == 0)
    #expect(try await scrubber.report().faults.isEmpty)
  }
}
