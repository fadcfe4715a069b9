import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Files
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

@Suite struct LibraryTests {
  @Test(
    "a version that is placed after the server went back from it stands behind the one that it went back to")
  func rolledBackMeanwhile() async throws {
    let fixture = try LibraryFixture()
    let packages = try ["1.0", "1.1"].map {
      try FixturePackage.file(length: 1000, product: "com.example.heroes.9", version: $0, seed: 9)
    }
    let product = packages[0].manifest.product
    func current() async throws -> String? {
      try await fixture.library.items().current(of: product)?.version.description
    }
    try await fixture.place(packages[0])
    _ = try fixture.database.noteOffered([product: packages[1].manifest.version])
    // While 1.1 is fetched, it is told that 1.0 is offered again.
    _ = try fixture.database.noteOffered([product: packages[0].manifest.version])
    try await fixture.place(packages[1])
    #expect(try await current() == "1.0")
    #expect(try fixture.database.noteOffered([product: packages[1].manifest.version]) == [product])
    #expect(try await current() == "1.1")
    #expect(try fixture.database.noteOffered([product: packages[1].manifest.version]).isEmpty)
  }

  @Test("what is whole is held, with where it lies")
  func held() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.file(length: 1 << 20)
    #expect(try await fixture.held(package) == nil)
    let placed = try await fixture.place(package)
    #expect(placed.path == fixture.path(package, "issue.pdf") && placed.length == .mebibytes(1))
    #expect(try await fixture.held(package) == placed)
    #expect(try await fixture.library.items().map(\.path) == [placed.path])
  }

  @Test(
    "a page that was removed, cut, or overwritten makes content damaged, and it is not held (D1, K4)",
    arguments: ["removed", "cut", "overwritten", "folder"])
  func damaged(how: String) async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.folder()
    try await fixture.place(package)
    #expect(try await fixture.held(package) != nil)
    let page = fixture.path(package, "pages/page3.jpg")
    switch how {
    case "removed": try FileSystem.removeFile(page)
    case "cut": try FileDescriptor.open(page, .readWrite).truncate(to: .kibibytes(100))
    case "folder": try FileSystem.removeRecursively(fixture.path(package, "pages"))
    default: try fixture.flip(page, at: 650_000)
    }
    #expect(try await fixture.held(package) == nil)
    #expect(try fixture.database.libraryRecords().map(\.isDamaged) == [true])
    #expect(fixture.lines.current.contains { $0.contains("content is damaged") })
    try await fixture.place(package)
    #expect(try await fixture.held(package) != nil)
    #expect(try fixture.database.libraryRecords().map(\.isDamaged) == [false])
  }

  @Test("what was not changed since the last check is not read again, what was is")
  func unchanged() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.folder()
    try await fixture.place(package)
    let check = ContentCheck(package.manifest, at: fixture.path(package))
    let later = SystemWallClock().now() + .seconds(5)
    let first = try check.run(.everything, now: later)
    #expect(first.isWhole && first.bytesRead == package.manifest.unpackedLength)
    #expect(first.sizeOnDisk >= .mebibytes(4))
    #expect(try check.run(.changes(since: first.stamps), now: later).bytesRead == .zero)
    let saved = try #require(FileStamps(encoded: first.stamps.encoded, files: package.files.count))
    #expect(saved == first.stamps)
    try fixture.flip(fixture.path(package, "pages/page2.jpg"), at: 5)
    let second = try check.run(.changes(since: saved), now: later)
    #expect(second.faults.map(\.path) == ["pages/page2.jpg"] && second.bytesRead == ByteCount(700_002))
  }

  @Test("a file that was changed just now is read again, since its time may be that of another change")
  func justChanged() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.file(length: 100)
    try await fixture.place(package)
    let check = ContentCheck(package.manifest, at: fixture.path(package))
    let changed = try #require(try FileSystem.status(of: fixture.path(package, "issue.pdf"))).changed
    let moment = Timestamp(millisecondsSinceEpoch: changed / 1_000_000 + 1)
    let stamps = try check.run(.everything, now: moment).stamps
    #expect(try check.run(.changes(since: stamps), now: moment).bytesRead == ByteCount(100))
  }

  @Test(
    "what was placed just now is not read again by the download that asks for it, unless it was changed or found damaged"
  )
  func justPlaced() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.file(length: 1 << 20)
    try await fixture.place(package)
    let record = try #require(try fixture.database.libraryRecords().first)
    #expect(try await fixture.library.check(record, everything: false).bytesRead == .zero)
    #expect(try await fixture.library.check(record, everything: true).bytesRead == .mebibytes(1))

    try fixture.flip(fixture.path(package, "issue.pdf"), at: 5)
    #expect(try await !fixture.library.check(record, everything: true).isWhole)
    // Not even the time of the change would tell of a medium that has lost its bytes.
    #expect(fixture.library.placements.stamps(of: package.manifest) == nil)
    #expect(try await fixture.held(package) == nil)
  }

  @Test("what is placed as a second name of a file that has changed is not recorded")
  func linked() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.file(length: 1000)
    let other = fixture.directory.path("other.pdf")
    try DurableFile.write(package.bytes.span, to: other)
    try fixture.flip(other, at: 5)
    func place() async throws {
      _ = try await fixture.library.place(package.manifest, at: LibraryFixture.now) { target in
        try FileSystem.createDirectories(target)
        try FileSystem.link(other, to: "\(target)/issue.pdf")
        return []
      }
    }
    let failure = await #expect(throws: StepFailure.self) { try await place() }
    #expect(failure?.reason == .storageFailure)
    #expect(try fixture.database.libraryRecords().isEmpty)
    try fixture.flip(other, at: 5)
    try await place()
    #expect(try await fixture.held(package) != nil)
  }

  @Test(
    "what was a second name of a file that has changed is not recorded, also where the other name is gone")
  func linkedBefore() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.file(length: 1000)
    let other = fixture.directory.path("other.pdf")
    try DurableFile.write(package.bytes.span, to: other)
    let failure = await #expect(throws: StepFailure.self) {
      _ = try await fixture.library.place(package.manifest, at: LibraryFixture.now) { target in
        try FileSystem.createDirectories(target)
        try FileSystem.link(other, to: "\(target)/issue.pdf")
        try fixture.flip(other, at: 5)
        try FileSystem.removeFile(other)
        return [0]
      }
    }
    #expect(failure?.reason == .storageFailure)
    #expect(try fixture.database.libraryRecords().isEmpty)
  }

  @Test(
    "placing that is cancelled while the clock has to tick ends at once, and the next start finds the content"
  )
  func cancelledTick() async throws {
    let pauses = ManualMonotonicClock()
    // Ever since before the content was written.
    let fixture = try LibraryFixture(
      clock: ManualWallClock(Timestamp(millisecondsSinceEpoch: 0)), pauses: pauses)
    let package = try FixturePackage.file(length: 1000)
    let placing = Task { _ = try await fixture.place(package) }
    await pauses.waitForSleepers()
    placing.cancel()
    await #expect(throws: CancellationError.self) { try await placing.value }
    #expect(try fixture.database.libraryRecords().isEmpty)
    #expect(try await fixture.library.recordPlaced(package.manifest, at: LibraryFixture.now) != nil)
    #expect(try await fixture.held(package) != nil)
  }

  @Test("what content that was placed takes the place of is gone once it is recorded")
  func recordedLeavesNothing() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.inSections()
    try await fixture.place(package)
    // As an agent leaves it that ends between the exchange of the names and the record.
    let left = "\(fixture.library.folder(of: package.manifest.product))/\(package.manifest.version).next"
    try FileSystem.createDirectories(left)
    try DurableFile.write([7].span, to: "\(left)/001.jpg")
    #expect(try await fixture.library.recordPlaced(package.manifest, at: LibraryFixture.now) != nil)
    #expect(try FileSystem.status(of: left) == nil)
    #expect(try FileSystem.list(fixture.paths.trash).isEmpty)
  }

  @Test("placing that is cancelled while the manifest is synced goes no further")
  func cancelledSync() async throws {
    let operations = FaultyFileOperations()
    let fixture = try LibraryFixture(operations: operations)
    let package = try FixturePackage.file(length: 1000)
    let disk = SlowSyncs(operations)
    let placing = Task {
      _ = try await fixture.library.place(package.manifest, at: LibraryFixture.now) { _ in
        Issue.record("nothing is placed any more")
        return []
      }
    }
    await disk.firstSync()
    placing.cancel()
    disk.end()
    await #expect(throws: CancellationError.self) { try await placing.value }
    // A file's, and those of the new folders above it: one write is not left half done.
    #expect(disk.syncs <= 4)
    #expect(try fixture.database.libraryRecords().isEmpty)
  }

  @Test("content that was removed by another program is not held, and stays known as damaged")
  func vanished() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.file(length: 100)
    try await fixture.place(package)
    try FileSystem.removeRecursively(fixture.path(package))
    #expect(try await fixture.library.items().map(\.state) == [.damaged])
    #expect(try fixture.database.libraryRecords().map(\.isDamaged) == [false])
    #expect(try await fixture.held(package) == nil)
    #expect(try fixture.database.libraryRecords().map(\.isDamaged) == [true])
    let found = try await fixture.library.verify()
    #expect(found.map(\.state) == [.damaged])
    #expect(found.flatMap(\.faults) == [.init(path: "", kind: .missing)])
    #expect(try await fixture.library.sources(for: package.manifest, previous: nil).isEmpty)
    try await fixture.place(package)
    #expect(try await fixture.library.items().map(\.state) == [.present])
  }

  @Test("content that the terms name by another manifest is not held, though its bytes are the same")
  func otherManifest() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.file(length: 100)
    try await fixture.place(package)
    var terms = package.terms
    terms.manifestDigest = .of([1])
    #expect(try await fixture.library.held(terms) == nil)
    #expect(try fixture.database.libraryRecords().map(\.isDamaged) == [false])
  }

  @Test("nothing that lies beside the content is seen in a listing of it")
  func hidden() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.folder()
    try await fixture.place(package)
    let names = try FileSystem.list(fixture.path(package)).map(\.name)
    #expect(names.sorted() == ["notes", "pages"])
    let product = FileSystem.parent(of: fixture.path(package))
    for directory in [product, fixture.paths.library] {
      let shown = try FileSystem.list(directory).map(\.name).filter { !$0.hasPrefix(".") }
      #expect(shown.count == 1)
    }
  }

  @Test("what is replaced goes at once (D17)")
  func replaced() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.folder()
    try await fixture.place(package)
    try await fixture.place(package)
    #expect(try FileSystem.list(fixture.paths.trash).isEmpty)
    #expect(try FileSystem.list(FileSystem.parent(of: fixture.path(package))).count == 2)
  }

  @Test("removing takes every version, and leaves the others") func removing() async throws {
    let fixture = try LibraryFixture()
    let packages = [
      try FixturePackage.file(length: 10, product: "first"),
      try FixturePackage.file(length: 11, product: "first", version: "1.1"),
      try FixturePackage.file(length: 12, product: "second"),
    ]
    for package in packages { try await fixture.place(package) }
    let product = try #require(ProductIdentifier("first"))
    #expect(try await fixture.library.remove(product).map(\.version.description) == ["1.0", "1.1"])
    #expect(try fixture.database.libraryRecords().map(\.product.description) == ["second"])
    #expect(try FileSystem.status(of: fixture.directory.path("library/first")) == nil)
    #expect(try FileSystem.list(fixture.paths.trash).isEmpty)
    #expect(try await fixture.library.remove(product).isEmpty)
  }

  @Test("a removal that failed is ended by itself later") func leftTrash() async throws {
    let operations = FaultyFileOperations()
    let fixture = try LibraryFixture(operations: operations)
    let package = try FixturePackage.file(length: 10)
    // The second one makes the trash's folder.
    for _ in 1...2 { try await fixture.place(package) }
    operations.fail(.synchronizeDirectory)
    await #expect(throws: SystemError.self) { try await fixture.library.remove(package.manifest.product) }
    #expect(try FileSystem.list(fixture.paths.trash).count == 1)
    operations.fail(nil)
    await fixture.library.emptyTrashLeft()
    #expect(try FileSystem.list(fixture.paths.trash).isEmpty)
    #expect(try await fixture.library.items().isEmpty)
  }

  @Test("trash that cannot be removed does not stop the start (R18)", .enabled(if: SmallDisk.isAvailable))
  func stuckTrash() async throws {
    let fixture = try LibraryFixture()
    // A mount point cannot be removed, not even by root.
    let stuck = "\(fixture.paths.trash)/stuck"
    try FileSystem.createDirectories(stuck)
    let mount = try SmallDisk(.mebibytes(1), at: stuck)
    try DurableFile.write([1].span, to: mount.path("page"))
    let other = Library(paths: fixture.paths, database: fixture.database)
    // The first one holds the lock of this library.
    guard case .offline = try other.look() else {
      Issue.record("two agents took one library")
      return
    }
    fixture.library.close()
    let lines = LogLines()
    let next = Library(paths: fixture.paths, database: fixture.database, log: lines.log())
    #expect(try next.look() == .online)
    #expect(await lines.first(with: "cannot be removed").contains("stuck"))
  }

  @Test("two products of one package, one of them damaged: the other is a source, the damaged one too (K4)")
  func sources() async throws {
    let fixture = try LibraryFixture()
    let bytes = FixturePackage.noise(3 << 20, seed: 1)
    let first = try FixturePackage.file(bytes, product: "first")
    let second = try FixturePackage.file(bytes, product: "second", name: "zwei.pdf")
    try await fixture.place(first)
    try await fixture.place(second)
    try fixture.flip(fixture.path(first, "issue.pdf"), at: 100)
    #expect(try await fixture.held(first) == nil)
    #expect(try await fixture.held(second) != nil)
    let sources = try await fixture.library.sources(for: first.manifest, previous: nil)
    #expect(sources.map(\.path) == [fixture.path(first), fixture.path(second)])
    #expect(sources.map(\.manifest) == [first.manifest, second.manifest])
  }

  @Test("every byte is checked, all of it or one product's, and what is found is noted")
  func verify() async throws {
    let fixture = try LibraryFixture()
    let packages = try (0..<5).map {
      try FixturePackage.file(length: 1000, product: "p\($0)", seed: UInt64($0))
    }
    for package in packages { try await fixture.place(package) }
    try fixture.flip(fixture.path(packages[3], "issue.pdf"), at: 10)
    let findings = try await fixture.library.verify()
    #expect(findings.map(\.product.description) == ["p0", "p1", "p2", "p3", "p4"])
    #expect(findings.map(\.faults.count) == [0, 0, 0, 1, 0])
    #expect(findings.map(\.bytesRead.rawValue) == [1000, 1000, 1000, 1000, 1000])
    #expect(try fixture.database.libraryRecords().map(\.isDamaged) == [false, false, false, true, false])
    try fixture.flip(fixture.path(packages[3], "issue.pdf"), at: 10)
    let one = try await fixture.library.verify(packages[3].manifest.product)
    #expect(one.count == 1 && one.allSatisfy { $0.faults.isEmpty })
    #expect(try fixture.database.libraryRecords().allSatisfy { !$0.isDamaged })
  }

  @Test("content without its manifest cannot be checked, and counts as damaged")
  func manifestLost() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.file(length: 1000)
    try await fixture.place(package)
    let product = FileSystem.parent(of: fixture.path(package))
    try fixture.flip("\(product)/.pullbox/1.0", at: 20)
    #expect(try await fixture.held(package) == nil)
    #expect(try fixture.database.libraryRecords().map(\.isDamaged) == [true])
  }

  @Test("one task at a time works on a product, in the order in which they ask (R20)")
  func exclusion() async throws {
    let exclusion = ProductExclusion()
    let product = try #require(ProductIdentifier("p"))
    let (running, most) = (Locked(0), Locked(0))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<50 {
        group.addTask {
          await exclusion.run(product) {
            let now = running.withLock { count in
              count += 1
              return count
            }
            most.withLock { $0 = max($0, now) }
            await Task.yield()
            running.withLock { $0 -= 1 }
          }
        }
      }
    }
    #expect(most.current == 1 && running.current == 0)
  }

  @Test("what a job has staged goes with the room that it had allocated") func discarded() async throws {
    let fixture = try LibraryFixture()
    let job = ContentJobIdentifier.random()
    try FileSystem.createDirectories(fixture.paths.paths(of: job).staging)
    try DurableFile.write([1].span, to: "\(fixture.paths.staging)/\(job).reserved")
    try await fixture.library.discard(job)
    #expect(try FileSystem.list(fixture.paths.staging).isEmpty)
  }

  @Test("at the start, staged bytes without a live job go") func leftovers() throws {
    let fixture = try LibraryFixture()
    let live = ContentJobIdentifier.random()
    let dead = ContentJobIdentifier.random()
    for identifier in [live, dead] {
      try FileSystem.createDirectories(fixture.paths.paths(of: identifier).staging)
      try FileSystem.createDirectories(fixture.paths.paths(of: identifier).state)
    }
    try DurableFile.write([1].span, to: "\(fixture.paths.staging)/\(live).reserved")
    #expect(try fixture.library.discardLeftovers(except: [live]).isEmpty)
    #expect(try FileSystem.list(fixture.paths.staging).map(\.name) == [live.description])
    #expect(try FileSystem.list(fixture.paths.downloads).map(\.name) == [live.description])
  }
}
