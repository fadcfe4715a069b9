import AgentTesting
import ContentPackage
import CoreTypes
import Files
import Glibc
import HTTPClient
import PackageTesting
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

/// Transfers of packages that somebody reads meanwhile.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ReadingTransferTests {
  private static let mebibyte = 1 << 20

  private final class Bench: Sendable {
    let directory: TemporaryDirectory
    let package: FixturePackage
    let server: FakeServer
    let client: HTTPClient
    let progress = TransferProgress(received: .zero, verified: .zero)
    let buffers = BufferPool(limit: 4)
    let path = ServerPath()
    let demand = ReadingDemand()
    let session: StagingSession

    init(_ package: FixturePackage, _ faults: [FakeServer.ContentFault] = []) throws {
      directory = try TemporaryDirectory()
      self.package = package
      server = FakeServer([package])
      client = try HTTPClient()
      server.change { $0.contentFaults = faults }
      try FileSystem.createDirectory(directory.path("staging"))
      let paths = ContentJobPaths(
        state: directory.path("state"), staging: directory.path("staging/area"))
      session = StagingSession(manifest: package.manifest, paths: paths)
      session.attach(to: demand)
    }

    var stagingPath: String { directory.path("staging/area") }

    /// The first bytes of the requests so far.
    var starts: [Int] { server.state.current.sent.map(\.lowerBound) }

    func transfer(_ url: String) async throws -> StepFailure? {
      let transfer = PieceTransfer(
        client: client, session: session, buffers: buffers, progress: progress,
        limits: PieceTransfer.Limits(), path: path, demand: demand)
      do {
        try await transfer.run(
          url: "\(url)/v1/content/\(package.manifest.digest)", ticket: server.state.current.ticket)
        return nil
      } catch let failure as StepFailure {
        return failure
      }
    }

    /// Until the byte of that file is there.
    func wait(for offset: Int, of file: Int = 0) async throws {
      while true {
        let count = demand.changes.count
        if session.extents.end(of: file, from: Int64(offset)) > offset { return }
        try await demand.changes.wait(after: count)
      }
    }

    /// Every byte that can be read is the file's own.
    func expectRight(_ file: Int) throws {
      let entry = package.manifest.files[file]
      let bytes = try #require(package.files.first { $0.key == entry.path.text }?.value)
      guard entry.length > .zero, let staged = try demand.open(file, of: session.extents) else { return }
      var position: Int64 = 0
      while position < entry.length.rawValue {
        guard try staged.check(at: position) == .checked else {
          position += 1 << 16
          continue
        }
        let end = staged.checkedEnd(from: position)
        var found: [UInt8] = []
        try staged.duplicateDescriptor().read(
          upTo: Int(end - position), at: ByteCount(position), into: &found)
        #expect(found.hasSameBytes(as: Array(bytes[Int(position)..<Int(end)])))
        position = end
      }
    }

    func expectPlaced() async throws {
      let target = directory.path("placed")
      _ = try await session.place(at: target)
      for (path, bytes) in package.files {
        let placed = try FileSystem.read("\(target)/\(path)", upTo: .gibibytes(1))
        #expect(placed.hasSameBytes(as: bytes), "\(path)")
      }
      #expect(buffers.available == 4, "every buffer came back")
    }
  }

  private func package(_ pieces: Int) throws -> FixturePackage {
    try FixturePackage.file(length: pieces * Self.mebibyte)
  }

  private func range(_ pieces: Range<Int>) -> Range<Int64> {
    Int64(pieces.lowerBound * Self.mebibyte)..<Int64(pieces.upperBound * Self.mebibyte)
  }

  @Test("a run that does not bring what is waited for is cut short, and not a byte comes twice") func cut()
    async throws
  {
    let bench = try Bench(try package(12), [.stall(after: 1_500_000)])
    try await bench.server.open { url async throws in
      async let end = bench.transfer(url)
      try await bench.wait(for: 0)
      let want = bench.demand.want(self.range(9..<10), of: 0, in: bench.session.extents)
      try await bench.wait(for: 9 * Self.mebibyte)
      bench.demand.endWant(want)
      #expect(try await end == nil)
    }
    let starts = bench.starts
    #expect(starts.count == 3)
    #expect(starts[0] == 0 && starts[1] == 9 * Self.mebibyte, "\(starts)")
    #expect((Self.mebibyte...1_500_000).contains(starts[2]), "the piece that was cut goes on: \(starts)")
    #expect(bench.progress.bytesReceived == bench.package.manifest.length)
    try await bench.expectPlaced()
  }

  @Test(
    "a request that is given up before its answer says nothing of the way, whether a reader wants others or not",
    arguments: [false, true])
  func givenUp(isOtherWanted: Bool) async throws {
    let asked = AsyncSignal()
    let bench = try Bench(try package(12), [.deaf(asked)])
    try await bench.server.open { url async throws in
      let transfer = Task { try await bench.transfer(url) }
      await asked.wait(atMost: nil, clock: SystemMonotonicClock())
      if isOtherWanted { _ = bench.demand.want(self.range(9..<10), of: 0, in: bench.session.extents) }
      transfer.cancel()
      await #expect(throws: CancellationError.self) { try await transfer.value }
      #expect(bench.path.network.isOpen)
      #expect(try await bench.transfer(url) == nil)
    }
    try await bench.expectPlaced()
  }

  @Test("what is waited for is the first that is asked for, and what is read behind it comes with it")
  func first() async throws {
    let bench = try Bench(try package(40))
    _ = bench.demand.want(range(30..<32), of: 0, in: bench.session.extents)
    bench.demand.noteOpened(0, at: Int64(30 * Self.mebibyte), in: bench.session.extents)
    try await bench.server.open { url async throws in #expect(try await bench.transfer(url) == nil) }
    #expect(
      bench.server.state.current.sent == [30 * Self.mebibyte..<40 * Self.mebibyte, 0..<30 * Self.mebibyte])
    try await bench.expectPlaced()
  }

  @Test("twelve that wait for the same cost one request") func many() async throws {
    let bench = try Bench(try package(20))
    for _ in 0..<12 { _ = bench.demand.want(range(10..<12), of: 0, in: bench.session.extents) }
    try await bench.server.open { url async throws in #expect(try await bench.transfer(url) == nil) }
    #expect(
      bench.server.state.current.sent == [10 * Self.mebibyte..<20 * Self.mebibyte, 0..<10 * Self.mebibyte])
  }

  @Test("an answer with everything in place of a page far ahead is taken from its beginning")
  func wholeAhead()
    async throws
  {
    let bench = try Bench(FixturePackage.file(length: 24 * Self.mebibyte), [.whole])
    let offset = Int64(20 * Self.mebibyte)
    let number = bench.demand.want(offset..<offset + 1, of: 0, in: bench.session.extents)
    try await bench.server.open { url async throws in #expect(try await bench.transfer(url) == nil) }
    bench.demand.endWant(number)
    try bench.expectRight(0)
    #expect(bench.progress.bytesVerified == bench.package.manifest.length)
  }

  @Test("what a reader means by a manifest that was replaced is not wanted of the next one") func replaced()
    throws
  {
    let before = StagedExtents(try FixturePackage.folder().manifest)
    let after = StagedExtents(try package(20).manifest)
    let demand = ReadingDemand()
    demand.attach(before, at: "/nowhere", operations: SystemFileOperations())
    let last = before.manifest.files.count - 1
    let want = demand.want(0..<1, of: last, in: before)
    #expect(!demand.order.isEmpty)
    demand.attach(after, at: "/nowhere", operations: SystemFileOperations())
    #expect(demand.order.isEmpty)
    // The next manifest has one file.
    let late = demand.want(0..<1, of: last, in: before)
    demand.noteOpened(last, at: 0, in: before)
    #expect(demand.order.isEmpty)
    #expect(try demand.open(last, of: before) == nil)
    _ = demand.want(range(3..<4), of: 0, in: after)
    demand.endWant(want)
    demand.endWant(late)
    #expect(demand.order.wanted == [3..<4])
  }

  @Test("a piece that was damaged on the disk is found by its reader and fetched again") func damagedOnDisk()
    async throws
  {
    let bench = try Bench(try package(6), [.cut(after: 4 * Self.mebibyte + 5)])
    try await bench.server.open { url async throws in
      #expect(try await bench.transfer(url)?.reason == .connectionLost)
      let name = try #require(bench.package.files.first?.key)
      let target = "\(bench.stagingPath)/tree/\(name)"
      try #require(unsafe chmod(target, 0o644) == 0)
      try FileDescriptor.open(target, .readWrite).write([1, 2, 3].span, at: ByteCount(2_500_000))
      let file = try #require(try bench.demand.open(0, of: bench.session.extents))
      #expect(try file.check(at: 2_400_000) == .damaged)
      #expect(try file.check(at: 1_500_000) == .checked)
      #expect(try await bench.transfer(url) == nil)
      #expect(try file.check(at: 2_400_000) == .checked)
    }
    let starts = bench.starts
    #expect(starts[1...].contains(2 * Self.mebibyte), "\(starts)")
    try bench.expectRight(0)
    try await bench.expectPlaced()
  }

  /// Files that are half as long packed, so that readers make pieces wait packed for those before them.
  private static let books: Result<FixturePackage, any Error> = Result {
    var files: [String: [UInt8]] = ["cover.png": FixturePackage.noise(900_000, seed: 99)]
    let digits = Array("0123456789abcdef".utf8)
    for book in 0..<4 {
      files["book\(book).txt"] = FixturePackage.noise(2 << 20, seed: UInt64(book) + 7).enumerated().flatMap {
        // Some of it is different from each block to the next, as the noise is not.
        [digits[Int($1 >> 4)], digits[Int($1 & 15) ^ ($0 >> 15) & 7]]
      }
    }
    return try FixturePackage.folder(of: files)
  }

  @Test(
    "readers that ask for anything of deflated files have it, and the transfer ends", arguments: UInt64(1)...4
  )
  func inflated(seed: UInt64) async throws {
    let package = try Self.books.get()
    let faults = (0..<8).map { FakeServer.ContentFault.cut(after: 700_000 + 150_000 * ($0 % 4) + Int(seed)) }
    let bench = try Bench(package, faults)
    try await bench.server.open { url async throws in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          var random = SplitMix(seed: seed)
          for _ in 0..<12 {
            let file = Int.random(in: 0..<package.manifest.files.count, using: &random)
            let offset = Int64.random(in: 0..<package.manifest.files[file].length.rawValue, using: &random)
            let want = bench.demand.want(offset..<offset + 1, of: file, in: bench.session.extents)
            bench.demand.noteOpened(file, at: offset, in: bench.session.extents)
            try await bench.wait(for: Int(offset), of: file)
            bench.demand.endWant(want)
            try bench.expectRight(file)
          }
          bench.demand.noteReadersGone()
          bench.server.change { $0.contentFaults = [] }
        }
        group.addTask {
          var tries = 0
          while let failure = try await bench.transfer(url) {
            tries += 1
            try #require(tries < 60, "seed \(seed): \(failure)")
          }
        }
        try await group.waitForAll()
      }
    }
    let received = Double(bench.progress.bytesReceived.rawValue)
    #expect(received / Double(package.bytes.count) < 1.5, "seed \(seed)")
    try await bench.expectPlaced()
  }
}
