import AgentTesting
import ContentPackage
import CoreTypes
import Crypto
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

/// The transfer over a real connection into a real staging area, with a server that misbehaves as told.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PieceTransferTests {
  private static let mebibyte = 1 << 20

  private final class Bench: Sendable {
    let directory: TemporaryDirectory
    let package: FixturePackage
    let server: FakeServer
    let client: HTTPClient
    let progress = TransferProgress(received: .zero, verified: .zero)
    let buffers = BufferPool(limit: 4)
    let path = ServerPath()

    init(_ package: FixturePackage, _ faults: [FakeServer.ContentFault] = []) throws {
      directory = try TemporaryDirectory()
      self.package = package
      try FileSystem.createDirectory(directory.path("staging"))
      server = FakeServer([package])
      client = try HTTPClient()
      server.change { $0.contentFaults = faults }
    }

    var paths: ContentJobPaths {
      ContentJobPaths(state: directory.path("state"), staging: directory.path("staging/area"))
    }

    func session() -> StagingSession { StagingSession(manifest: package.manifest, paths: paths) }

    /// One try; the failure of a step that ended it, or nil when every piece is there.
    func transfer(_ url: String, stallAfter: Duration = .seconds(10)) async throws -> StepFailure? {
      var limits = PieceTransfer.Limits()
      limits.stallAfter = stallAfter
      let transfer = PieceTransfer(
        client: client, session: session(), buffers: buffers, progress: progress, limits: limits, path: path)
      do {
        try await transfer.run(
          url: "\(url)/v1/content/\(package.manifest.digest)", ticket: server.state.current.ticket)
        return nil
      } catch let failure as StepFailure {
        return failure
      }
    }

    /// Places what is staged and compares every file.
    func expectPlaced() async throws {
      let target = directory.path("placed")
      _ = try await session().place(at: target)
      for (path, bytes) in package.files {
        let placed = try FileSystem.read("\(target)/\(path)", upTo: .gibibytes(1))
        #expect(placed.hasSameBytes(as: bytes), "\(path)")
      }
      #expect(buffers.available == 4, "every buffer came back")
    }
  }

  private func package(_ pieces: Double) throws -> FixturePackage {
    try FixturePackage.file(length: Int(pieces * Double(Self.mebibyte)))
  }

  @Test("everything in one request, each piece once", arguments: [0.001, 1, 5.5])
  func straight(pieces: Double) async throws {
    let bench = try Bench(try package(pieces))
    try await bench.server.open { url async throws in #expect(try await bench.transfer(url) == nil) }
    #expect(bench.server.state.current.sent == [0..<bench.package.bytes.count])
    #expect(bench.progress.bytesVerified == bench.package.manifest.length)
    #expect(bench.progress.bytesReceived == bench.package.manifest.length)
    try await bench.expectPlaced()
  }

  @Test("a folder's files are written as their bytes come") func folder() async throws {
    let bench = try Bench(try FixturePackage.folder())
    try await bench.server.open { url async throws in #expect(try await bench.transfer(url) == nil) }
    try await bench.expectPlaced()
  }

  @Test("after a lost connection the next request starts behind the last byte that came (D12)")
  func cut() async throws {
    let bench = try Bench(try package(6), [.cut(after: 2 * Self.mebibyte + 300_000)])
    try await bench.server.open { url async throws in
      #expect(try await bench.transfer(url)?.reason == .connectionLost)
      #expect(bench.progress.bytesVerified == .mebibytes(2))
      #expect(try await bench.transfer(url) == nil)
    }
    // The bytes that the break swallowed on their way come again, and no others.
    let last = try #require(bench.server.state.current.sent.last)
    let received = bench.progress.bytesReceived.rawValue
    #expect(received == Int64(bench.package.bytes.count))
    #expect(last.lowerBound > 2 * Self.mebibyte && last.upperBound == 6 * Self.mebibyte)
    try await bench.expectPlaced()
  }

  @Test("a link that breaks after every 900 kB ends, though no piece fits in between (D12)")
  func frequentCuts() async throws {
    let bench = try Bench(try package(20), Array(repeating: .cut(after: 900_000), count: 1000))
    var tries = 0
    try await bench.server.open { url async throws in
      while try await bench.transfer(url) != nil {
        tries += 1
        try #require(tries < 40)
      }
    }
    #expect(tries >= 20)
    let received = Double(bench.progress.bytesReceived.rawValue)
    #expect(received / Double(bench.package.bytes.count) <= 1.05)
    try await bench.expectPlaced()
  }

  @Test(
    "a piece that two connections brought is believed by its digest alone (D12)", arguments: [true, false])
  func splitDamage(isInFirstHalf: Bool) async throws {
    let offset = isInFirstHalf ? 5 : 900_000
    let bench = try Bench(
      try package(2), [.damagedCut(after: 500_000, flip: offset), .flip(at: offset), .faultless])
    try await bench.server.open { url async throws in
      #expect(try await bench.transfer(url)?.reason == .connectionLost)
      #expect(try await bench.transfer(url) == nil)
    }
    #expect(bench.server.state.current.sent.last == 0..<Self.mebibyte)
    try await bench.expectPlaced()
  }

  @Test(
    "an answer that starts elsewhere than in the piece that was begun is used all the same (D12)",
    arguments: [FakeServer.ContentFault.whole, .early(by: 100), .early(by: 700_000), .early(by: 2_000_000)])
  func otherStarts(_ fault: FakeServer.ContentFault) async throws {
    let bench = try Bench(try package(4), [.cut(after: 2 * Self.mebibyte + 600_000), fault])
    try await bench.server.open { url async throws in
      #expect(try await bench.transfer(url)?.reason == .connectionLost)
      #expect(try await bench.transfer(url) == nil)
    }
    try await bench.expectPlaced()
  }

  @Test("of a damaged byte's piece a second copy is fetched, and nothing else") func damaged() async throws {
    let bench = try Bench(try package(5), [.flip(at: 2 * Self.mebibyte + 17)])
    try await bench.server.open { url async throws in #expect(try await bench.transfer(url) == nil) }
    #expect(
      bench.server.state.current.sent
        == [0..<5 * Self.mebibyte, 2 * Self.mebibyte..<3 * Self.mebibyte])
    try await bench.expectPlaced()
  }

  @Test(
    "a piece that always comes damaged is asked for five times, each time over another connection, and waits (K22)"
  )
  func alwaysDamaged() async throws {
    let bench = try Bench(try package(2), Array(repeating: .flip(at: 5), count: 20))
    try await bench.server.open { url async throws in
      let failure = try #require(try await bench.transfer(url))
      #expect(failure.reason == .integrity && failure.recovery == .retry(notBefore: nil))
      #expect(failure.cause == "piece 0 came damaged 5 times")
      #expect(bench.server.acceptedConnections == 5)
    }
    #expect(bench.server.state.current.sent.count == 5)
    #expect(bench.progress.bytesVerified == .mebibytes(1), "the good piece stays")
  }

  @Test("200 to a ranged request is read from its first byte, never appended") func whole() async throws {
    let bench = try Bench(try package(4), [.cut(after: Self.mebibyte + 5), .whole])
    try await bench.server.open { url async throws in
      #expect(try await bench.transfer(url)?.reason == .connectionLost)
      #expect(try await bench.transfer(url) == nil)
    }
    #expect(bench.server.state.current.sent.last == 0..<4 * Self.mebibyte)
    try await bench.expectPlaced()
  }

  @Test("a 206 that starts earlier is cut to what is missing", arguments: [1, 300_000, 2_000_000])
  func early(by count: Int) async throws {
    let bench = try Bench(try package(4), [.cut(after: 2 * Self.mebibyte + 5), .early(by: count)])
    try await bench.server.open { url async throws in
      #expect(try await bench.transfer(url)?.reason == .connectionLost)
      #expect(try await bench.transfer(url) == nil)
    }
    try await bench.expectPlaced()
  }

  @Test("of an answer with another validator not one byte is used") func otherTag() async throws {
    let bench = try Bench(try package(2), [.otherTag])
    try await bench.server.open { url async throws in
      #expect(try await bench.transfer(url)?.reason == .protocolViolation)
      #expect(bench.progress.bytesVerified == .zero)
      #expect(bench.path.network.isOpen, "our server is wrong about the content, and it is our server")
      #expect(try await bench.transfer(url) == nil)
    }
    try await bench.expectPlaced()
  }

  @Test(
    "a refusal's problem comes through",
    arguments: [ProblemCode.ticketExpired, .contentWithdrawn, .tooManyRequests])
  func refusals(_ code: ProblemCode) async throws {
    let bench = try Bench(try package(2), [.cut(after: Self.mebibyte), .problem(code)])
    try await bench.server.open { url async throws in
      _ = try await bench.transfer(url)
      var failure = try #require(try await bench.transfer(url))
      // Which request of the server's it was is the server's to say.
      #expect(failure.problem?.instance?.hasPrefix("urn:pullbox:request:") == true)
      failure.problem?.instance = nil
      #expect(failure == StepFailure(Problem(code)))
      #expect(bench.progress.bytesVerified == .mebibytes(1))
    }
  }

  @Test(
    "a page in place of content is waited for, and counts neither as content nor as its fault (D5)",
    arguments: [200, 302, 403, 404, 407, 500, 502, 511])
  func pages(status: Int) async throws {
    let bench = try Bench(try package(2))
    bench.server.change { $0.pages["GET /v1/content"] = [FakeServer.Page(status: status)] }
    try await bench.server.open { url async throws in
      let failure = try #require(try await bench.transfer(url))
      #expect(failure.reason == .networkNotOpen && failure.recovery == .retry(notBefore: nil))
      #expect(bench.progress.bytesReceived == .zero)
      #expect(!bench.path.network.isOpen)
      // Until the next probe is due no request leaves the device.
      let held = try #require(try await bench.transfer(url))
      #expect(held.reason == .networkNotOpen)
      #expect(bench.server.state.current.arrivals["GET /v1/content"]?.count == 1)
    }
  }

  @Test("an answer to an https server's ticket never leads to an address without https (R19)")
  func scheme() async throws {
    let bench = try Bench(try package(1))
    var path = ServerPath(api: APIClient(baseURL: "https://pull.example", client: bench.client))
    let transfer = PieceTransfer(
      client: bench.client, session: bench.session(), buffers: bench.buffers, progress: bench.progress,
      limits: PieceTransfer.Limits(), path: path)
    await #expect(throws: StepFailure.self) {
      try await transfer.run(url: "http://pull.example/v1/content/x", ticket: "ticket")
    }
    #expect(path.api?.keepsScheme("https://cdn.example/x") == true)
    path.api = APIClient(baseURL: "http://127.0.0.1:8080", client: bench.client)
    #expect(path.api?.keepsScheme("http://127.0.0.1/x") == true)
  }

  @Test("a transfer that stands still is given up") func stalled() async throws {
    let bench = try Bench(try package(3), [.stall(after: Self.mebibyte + 1000)])
    try await bench.server.open { url async throws in
      #expect(try await bench.transfer(url, stallAfter: .seconds(1))?.reason == .connectionLost)
      #expect(bench.progress.bytesVerified == .mebibytes(1))
    }
  }

  @Test("a server that does not listen is waited for") func unreachable() async throws {
    let bench = try Bench(try package(1))
    let url = try await bench.server.open { $0 }
    let failure = try #require(try await bench.transfer(url))
    #expect(failure.reason == .serverUnreachable && failure.cause?.contains("connect") == true)
  }

  @Test("stopping keeps what was verified, and the next try fetches only the rest") func stopping()
    async throws
  {
    let bench = try Bench(try package(4), [.stall(after: 2 * Self.mebibyte + 10)])
    try await bench.server.open { url async throws in
      await withThrowingTaskGroup(of: StepFailure?.self) { group in
        group.addTask { try await bench.transfer(url) }
        while bench.progress.bytesVerified < .mebibytes(2) { await Task.yield() }
        group.cancelAll()
        await #expect(throws: CancellationError.self) { _ = try await group.next() }
      }
      #expect(try await bench.transfer(url) == nil)
    }
    let last = try #require(bench.server.state.current.sent.last)
    #expect((0...10).contains(last.lowerBound - 2 * Self.mebibyte) && last.upperBound == 4 * Self.mebibyte)
    try await bench.expectPlaced()
  }

  @Test("with two buffers everything still comes") func twoBuffers() async throws {
    let bench = try Bench(try package(5))
    let held = (0..<2).compactMap { _ in bench.buffers.acquire(otherwise: {}) }
    try await bench.server.open { url async throws in #expect(try await bench.transfer(url) == nil) }
    for buffer in held { bench.buffers.release(buffer) }
    try await bench.expectPlaced()
  }
}
