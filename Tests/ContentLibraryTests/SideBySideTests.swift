import AgentTesting
import ContentPackage
import CoreTypes
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import Synchronization
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

/// Transfers over several connections, by a clock on which each connection has the same speed, or all of them together.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SideBySideTests {
  private static let mebibyte = 1 << 20

  /// A clock that goes on as the bytes come: by the time that they take at 400 kB a second, of each connection or of all together.
  private final class ByteClock: MonotonicClock {
    private struct State {
      var instant = MonotonicInstant(nanoseconds: 1_000_000_000)
      var received: Int64 = 0
      var mostConnections = 1
    }

    private let state = Mutex(State())
    private let progress: TransferProgress
    private let isCapped: Bool
    /// The connections beside the first; set once the server's path is made.
    let allowance = Mutex<ConnectionAllowance?>(nil)

    init(_ progress: TransferProgress, isCapped: Bool) {
      self.progress = progress
      self.isCapped = isCapped
    }

    /// The most that there were at once.
    var mostConnections: Int { state.withLock { $0.mostConnections } }

    func now() -> MonotonicInstant {
      let open = 1 + (allowance.withLock { $0?.used } ?? 0)
      // By those that there should be: however late one of them goes on behind its last request, the speed is that of all.
      let connections = isCapped ? Int64(progress.connections) : 1
      let received = progress.bytesReceived.rawValue
      return state.withLock { state in
        state.mostConnections = max(state.mostConnections, open)
        state.instant = state.instant + .nanoseconds((received - state.received) * 2500 / connections)
        state.received = received
        return state.instant
      }
    }

    func sleep(for duration: Duration) async throws {
      state.withLock { $0.instant = $0.instant + duration }
    }
  }

  private final class Bench: Sendable {
    let directory: TemporaryDirectory
    let package: FixturePackage
    let server: FakeServer
    let client: HTTPClient
    let progress: TransferProgress
    let bufferCount: Int
    let buffers: BufferPool
    let clock: ByteClock
    let path: ServerPath
    let demand = ReadingDemand()
    let session: StagingSession

    /// - Parameter isCapped: whether each connection has a speed of its own; else all have one together.
    init(
      _ package: FixturePackage, isCapped: Bool = true, faults: [FakeServer.ContentFault] = [],
      buffers count: Int = 64, pace: TransferPace? = nil
    ) throws {
      bufferCount = count
      buffers = BufferPool(limit: count)
      directory = try TemporaryDirectory()
      self.package = package
      server = FakeServer([package])
      client = try HTTPClient()
      let progress = TransferProgress(received: .zero, verified: .zero, pace: pace)
      self.progress = progress
      server.change { $0.contentFaults = faults }
      let clock = ByteClock(progress, isCapped: isCapped)
      let path = ServerPath(clock: clock)
      clock.allowance.withLock { $0 = path.allowance }
      (self.clock, self.path) = (clock, path)
      try FileSystem.createDirectory(directory.path("staging"))
      session = StagingSession(
        manifest: package.manifest,
        paths: ContentJobPaths(state: directory.path("state"), staging: directory.path("staging/area")))
      session.attach(to: demand)
    }

    /// - Parameter count: the connections at the beginning.
    func transfer(_ count: Int = 1, maximum: Int = 4, speed: ByteCount? = nil) async throws {
      let limits = PieceTransfer.Limits(
        maximumSpeed: speed, connections: ConnectionPlan(maximum: maximum, count: count))
      try await server.open { url async throws in
        let transfer = PieceTransfer(
          client: client, session: session, buffers: buffers, progress: progress, limits: limits,
          path: path, demand: demand)
        try await transfer.run(
          url: "\(url)/v1/content/\(package.manifest.digest)", ticket: server.state.current.ticket)
      }
    }

    var mostConnections: Int { clock.mostConnections }

    /// Places what is staged and compares every file; no byte came notably often, but those of so many damaged pieces.
    func expectPlaced(damaged: Int = 0) async throws {
      let target = directory.path("placed")
      _ = try await session.place(at: target)
      for (path, bytes) in package.files {
        let placed = try FileSystem.read("\(target)/\(path)", upTo: .gibibytes(1))
        #expect(placed.hasSameBytes(as: bytes), "\(path)")
      }
      #expect(buffers.available == bufferCount, "every buffer came back")
      let received = Double(progress.bytesReceived.rawValue) - Double(damaged << 20)
      #expect(received <= 1.05 * Double(package.manifest.length.rawValue))
    }
  }

  private static func file(mebibytes count: Int = 32) throws -> FixturePackage {
    try FixturePackage.file(length: count * mebibyte)
  }

  /// Two texts of 8 MB whose packed form is a little more than half as long.
  private static func packedText() throws -> FixturePackage {
    let digits = Array("0123456789abcdef".utf8)
    return try FixturePackage.folder(
      of: Dictionary(
        uniqueKeysWithValues: (1...2).map { number in
          let noise = FixturePackage.noise(4 * mebibyte, seed: UInt64(number))
          return ("notes/\(number).txt", noise.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
        }))
  }

  @Test("while the machine has other work a transfer goes over half of its connections, and gets no other")
  func yielding() async throws {
    let bench = try Bench(Self.file())
    bench.progress.setYielding(true)
    try await bench.transfer(4)
    #expect(bench.mostConnections == 2)
    try await bench.expectPlaced()
    let alone = try Bench(Self.file(mebibytes: 56))
    alone.progress.setYielding(true)
    try await alone.transfer()
    #expect(alone.mostConnections == 1)
  }

  @Test("where each connection has its own speed, up to four fetch one package, and each byte comes once")
  func capped() async throws {
    let bench = try Bench(Self.file(mebibytes: 56))
    try await bench.transfer()
    #expect(bench.mostConnections == 4)
    try await bench.expectPlaced()
  }

  @Test("where all have one speed together, the second goes again") func shared() async throws {
    let bench = try Bench(Self.file(), isCapped: false)
    try await bench.transfer()
    #expect(bench.mostConnections == 2)
    // Alone again, to the end.
    let last = try #require(bench.server.state.current.sent.last)
    #expect(last.count > 4 * Self.mebibyte, "\(bench.server.state.current.sent)")
    try await bench.expectPlaced()
  }

  @Test("after a 429 for one of several connections there is one, and no other is opened") func refused()
    async throws
  {
    let bench = try Bench(
      Self.file(), faults: [.faultless, .problem(.tooManyRequests)])
    try await bench.transfer(4)
    let last = try #require(bench.server.state.current.sent.last)
    #expect(last.count > 16 * Self.mebibyte, "one request for the rest")
    #expect(!bench.path.allowance.take(at: bench.path.clock.now()), "nor for another package")
    try await bench.expectPlaced()
  }

  @Test("a connection that is lost beside others ends nothing but itself") func lost() async throws {
    let bench = try Bench(
      Self.file(), faults: [.faultless, .cut(after: 300_000)])
    try await bench.transfer(4)
    try await bench.expectPlaced()
  }

  @Test("a piece that comes damaged over one of them comes again") func damaged() async throws {
    let package = try Self.file()
    let bench = try Bench(
      package, faults: (0..<6).map { .flip(at: (6 + 4 * $0) * Self.mebibyte) })
    try await bench.transfer(4)
    try await bench.expectPlaced(damaged: 6)
  }

  @Test("an answer with everything is not taken beside another connection") func whole() async throws {
    let bench = try Bench(Self.file(), faults: [.faultless, .whole])
    try await bench.transfer(4)
    #expect(bench.progress.bytesReceived < .mebibytes(34))
    try await bench.expectPlaced()
  }

  @Test("where all answers have everything, the way to the server stays open, and one connection takes it")
  func allWhole() async throws {
    let bench = try Bench(Self.file(), faults: Array(repeating: .whole, count: 9))
    let failure = await #expect(throws: StepFailure.self) { try await bench.transfer(4) }
    #expect(failure?.reason == .protocolViolation)
    #expect(bench.path.network.isOpen)
    bench.server.change { $0.sent = [] }
    try await bench.transfer()
    #expect(bench.server.state.current.sent == [0..<bench.package.bytes.count], "it is not cut for others")
    try await bench.expectPlaced()
  }

  @Test("a maximum of one connection, and a speed of its own, are kept", arguments: [true, false])
  func single(bySpeed: Bool) async throws {
    let bench = try Bench(Self.file())
    try await bench.transfer(4, maximum: bySpeed ? 4 : 1, speed: bySpeed ? .gibibytes(4) : nil)
    #expect(bench.server.state.current.sent == [0..<bench.package.bytes.count])
  }

  @Test("a transfer that was cancelled while several ran is gone on with, and no byte is lost")
  func cancelled() async throws {
    let bench = try Bench(Self.file())
    let first = Task { try await bench.transfer(4) }
    while bench.mostConnections < 2 { await Task.yield() }
    first.cancel()
    _ = await first.result
    try await bench.transfer(4)
    try await bench.expectPlaced()
  }

  @Test("while several fetch, a reader is given its page before the rest") func read() async throws {
    // Slow enough that the rest is not here before the page is asked for.
    let pacer = TransferPacer(rate: .mebibytes(16), clock: SystemMonotonicClock())
    async let _: Void = pacer.run()
    let bench = try Bench(Self.file(), pace: pacer.join())
    let last = Int64(bench.package.bytes.count - 1)
    async let transfer: Void = bench.transfer(4)
    while bench.mostConnections < 2 { await Task.yield() }
    let number = bench.demand.want(last..<last + 1, of: 0, in: bench.session.extents)
    while true {
      let count = bench.demand.changes.count
      if bench.session.extents.end(of: 0, from: last) > last { break }
      try await bench.demand.changes.wait(after: count)
    }
    bench.demand.endWant(number)
    #expect(bench.progress.bytesVerified < bench.package.manifest.length)
    try await transfer
    try await bench.expectPlaced()
  }

  @Test("several connections under a rate all go on, to the end") func paced() async throws {
    let pacer = TransferPacer(rate: .mebibytes(16), clock: SystemMonotonicClock())
    let bench = try Bench(Self.file(), pace: pacer.join())
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pacer.run() }
      try await bench.transfer(4)
      group.cancelAll()
    }
    try await bench.expectPlaced()
  }

  @Test("a page far ahead that is in the run of one connection comes at once, and the others go on")
  func farAhead() async throws {
    let pacer = TransferPacer(rate: .mebibytes(24), clock: SystemMonotonicClock())
    async let _: Void = pacer.run()
    let bench = try Bench(Self.file(mebibytes: 64), pace: pacer.join())
    async let transfer: Void = bench.transfer(4)
    while bench.mostConnections < 2 { await Task.yield() }
    let offset = Int64(60 << 20)
    let number = bench.demand.want(offset..<offset + 1, of: 0, in: bench.session.extents)
    while true {
      let count = bench.demand.changes.count
      if bench.session.extents.end(of: 0, from: offset) > offset { break }
      try await bench.demand.changes.wait(after: count)
    }
    bench.demand.endWant(number)
    #expect(bench.progress.bytesVerified < bench.package.manifest.length)
    try await transfer
    #expect(bench.server.state.current.sent.count < 80, "no storm of requests")
    try await bench.expectPlaced()
  }

  @Test("packed files are fetched by several too, in an order in which they can be inflated")
  func packed() async throws {
    let bench = try Bench(Self.packedText())
    try await bench.transfer(4)
    #expect(bench.mostConnections >= 2)
    try await bench.expectPlaced()
  }
}
