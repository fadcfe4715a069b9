import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Files
import Glibc
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary
@testable import DownloadAgent

/// Content that is read while it comes, over the agent's socket.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ReadingTests {
  private static let mebibyte = 1 << 20

  private func package(_ pieces: Int) throws -> FixturePackage {
    try FixturePackage.file(length: pieces * Self.mebibyte)
  }

  private func name(_ package: FixturePackage) -> String { package.manifest.files[0].path.text }

  private func range(_ bytes: Range<Int>) -> [(String, String)] {
    [("Range", "bytes=\(bytes.lowerBound)-\(bytes.upperBound - 1)")]
  }

  private func problem(_ response: ClientResponse) throws -> Problem {
    try #require(Problem(document: response.body, status: response.status, isDeclared: true))
  }

  /// A download of the package of which so many bytes have come.
  private func begun(_ bytes: Int, _ server: FakeServer, _ agent: AgentService) async throws -> DownloadStatus
  {
    try server.queuePurchase()
    return try await agent.firstDownload { $0.bytesVerified >= ByteCount(bytes) }
  }

  @Test(
    "what is verified is read at once, what is missing comes before all else, and an open page survives the placing"
  )
  func read() async throws {
    let package = try package(12)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 2_600_000)] }
    let harness = try AgentHarness()
    let (name, bytes) = (name(package), package.bytes)
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let download = try await begun(2 * Self.mebibyte, server, agent)
        let path = "/v1/downloads/\(download.id)/files"
        let files = try await harness.get(path, as: ContentFiles.self)
        #expect(files.product == package.manifest.product && files.version == package.manifest.version)
        #expect(!files.placed && files.files.map(\.path) == [name])
        #expect(files.files[0].verified == [.init(offset: .zero, length: .mebibytes(2))])
        let first = try await harness.ask("GET", "\(path)/\(name)", headers: range(10..<1_500_000))
        #expect(first.status == 206 && first.body == Array(bytes[10..<1_500_000]))
        #expect(first.head.headers["ETag"] == "\"\(package.manifest.files[0].digest)\"")
        #expect(first.head.headers["Content-Range"] == "bytes 10-1499999/\(bytes.count)")
        let product = "/v1/library/\(package.manifest.product)/files/\(name)"
        let last = try await harness.ask("GET", product, headers: range(11_000_000..<11_000_100))
        #expect(last.status == 206 && last.body == Array(bytes[11_000_000..<11_000_100]))
        #expect(server.state.current.sent[1].lowerBound == 10 * Self.mebibyte)
        // All of it, while the rest comes and is placed.
        let whole = try await harness.ask("GET", product)
        #expect(whole.status == 200 && whole.body.hasSameBytes(as: bytes))
        _ = try await agent.download(.finished)
        for path in ["\(path)/\(name)", product] {
          let placed = try await harness.ask(
            "GET", path,
            headers: range(11_000_000..<11_000_100) + [("If-Range", last.head.headers["ETag"] ?? "")])
          #expect(placed.status == 206 && placed.body == last.body)
        }
        let placed = try await harness.get(path, as: ContentFiles.self)
        #expect(placed.placed && placed.files[0].isWhole)
      }
    }
    #expect(try harness.placed(package))
    let sent = server.state.current.sent.map(\.count).reduce(0, +)
    #expect(sent <= bytes.count + 2_600_000 + 2 * Self.mebibyte, "\(server.state.current.sent)")
  }

  @Test("bytes that do not come in time are not here yet, and those before them are sent") func notHereYet()
    async throws
  {
    let package = try package(6)
    let server = FakeServer([package])
    server.change {
      $0.contentFaults = [.stall(after: 2_600_000)] + Array(repeating: .stall(after: 0), count: 50)
    }
    let harness = try AgentHarness()
    let (name, bytes) = (name(package), package.bytes)
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let download = try await begun(2 * Self.mebibyte, server, agent)
        let path = "/v1/downloads/\(download.id)/files/\(name)"
        let missing = try await harness.ask("GET", "\(path)?wait=0", headers: range(5_000_000..<5_000_100))
        let problem = try problem(missing)
        #expect(missing.status == 202 && problem.type == "urn:pullbox:problem:not-here-yet")
        #expect(
          problem.after ?? 0 >= 1 && missing.head.headers["Retry-After"] == problem.after.map { "\($0)" })
        let part = try await harness.ask("GET", "\(path)?wait=0", headers: range(100..<5_000_000))
        #expect(part.status == 206 && part.body == Array(bytes[100..<2 * Self.mebibyte]))
        #expect(part.head.headers["Content-Range"] == "bytes 100-\(2 * Self.mebibyte - 1)/\(bytes.count)")
        #expect(try await harness.ask("GET", "\(path)?wait=0").status == 202, "the whole is not here")
        let head = try await harness.ask("HEAD", path)
        #expect(head.status == 200 && head.head.headers["Content-Length"] == "\(bytes.count)")
        #expect(head.head.headers["Accept-Ranges"] == "bytes")
        let beyond = try await harness.ask("GET", path, headers: [("Range", "bytes=\(bytes.count)-")])
        #expect(beyond.status == 416 && beyond.head.headers["Content-Range"] == "bytes */\(bytes.count)")
        let suffix = try await harness.ask("GET", "\(path)?wait=0", headers: [("Range", "bytes=-5")])
        #expect(suffix.status == 202)
        let tag = head.head.headers["ETag"] ?? ""
        #expect(try await harness.ask("GET", path, headers: [("If-None-Match", tag)]).status == 304)
        #expect(try await harness.ask("GET", path, headers: [("If-Match", "\"other\"")]).status == 412)
        #expect(try await harness.ask("GET", "\(path)?wait=61").status == 400)
        #expect(try await harness.ask("GET", "/v1/downloads/\(download.id)/files/other").status == 404)
        server.change { $0.contentFaults = [] }
      }
    }
  }

  @Test("a reader that waits is told why nothing comes", arguments: ["cancel", "pause"]) func told(
    verb: String
  ) async throws {
    let package = try package(6)
    let server = FakeServer([package])
    server.change {
      $0.contentFaults = [.stall(after: 1_100_000)] + Array(repeating: .stall(after: 0), count: 50)
    }
    let harness = try AgentHarness()
    let name = name(package)
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let download = try await begun(Self.mebibyte, server, agent)
        let path = "/v1/downloads/\(download.id)/files/\(name)"
        async let waiting = harness.ask("GET", path, headers: range(5_000_000..<5_000_100))
        // Its piece is asked for: it waits.
        while server.state.current.sent.count < 2 {
          try await agent.downloads.readingChanges.wait(after: agent.downloads.readingChanges.count)
        }
        _ = try await harness.ask("POST", "/v1/downloads/\(download.id)/\(verb)")
        let answer = try await waiting
        let problem = try problem(answer)
        #expect(answer.status == (verb == "cancel" ? 410 : 409))
        #expect(problem.type == "urn:pullbox:problem:download-\(verb == "cancel" ? "cancelled" : "paused")")
        let there = try await harness.ask("GET", path, headers: range(0..<100))
        #expect(there.status == (verb == "cancel" ? 410 : 206), "what is there of a paused one can be read")
        server.change { $0.contentFaults = [] }
      }
    }
  }

  @Test(
    "a reader who waits for a download that the server then refuses gets that reason",
    arguments: [ProblemCode.contentWithdrawn, .entitlementRevoked])
  func refused(code: ProblemCode) async throws {
    let package = try package(6)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 1_100_000), .problem(code)] }
    server.change { $0.refusals["POST /v1/grants/{grant}/tickets"] = [Problem(code)] }
    let harness = try AgentHarness()
    let name = name(package)
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let download = try await begun(Self.mebibyte, server, agent)
        server.change { $0.refusals["POST /v1/grants"] = [Problem(code)] }
        // Its piece cuts the answer that stalls short; the next one is the refusal.
        let answer = try await harness.ask(
          "GET", "/v1/downloads/\(download.id)/files/\(name)", headers: range(5_500_000..<5_500_100))
        #expect(try problem(answer).code == code)
        #expect(answer.status == code.status)
      }
    }
  }

  @Test("a reader of a download that has no room gets that reason") func noRoom() async throws {
    let package = try package(6)
    let name = name(package)
    let small = try AgentHarness()
    let other = FakeServer([package])
    try await other.open { url in
      try await small.run(server: url, configure: { $0.quota = ConfigurationSize(.mebibytes(1)) }) { agent in
        try other.queuePurchase()
        let download = try await agent.download(.waiting, "insufficient-space")
        let answer = try await small.ask("GET", "/v1/downloads/\(download.id)/files/\(name)")
        #expect(answer.status == 507)
        #expect(try problem(answer).type == "urn:pullbox:problem:insufficient-space")
      }
    }
  }

  @Test("twelve readers of one page cost one request, and the download is wanted now while it is read")
  func many() async throws {
    let package = try package(20)
    let server = FakeServer([package])
    // Behind the page's request none brings anything: the download goes on while it is looked at.
    server.change {
      $0.contentFaults =
        [.stall(after: 1_100_000), .faultless] + Array(repeating: .stall(after: 0), count: 50)
    }
    let harness = try AgentHarness()
    let (name, bytes) = (name(package), package.bytes)
    try await server.open { url in
      try await harness.run(server: url, stallAfter: .seconds(1)) { agent in
        let download = try await begun(Self.mebibyte, server, agent)
        #expect(download.urgency == .normal)
        let path = "/v1/downloads/\(download.id)/files/\(name)?wait=30"
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<12 {
            group.addTask {
              let page = try await harness.ask("GET", path, headers: range(15_000_000..<16_000_000))
              #expect(page.status == 206 && page.body.hasSameBytes(as: Array(bytes[15_000_000..<16_000_000])))
            }
          }
          try await group.waitForAll()
        }
        let status = try await agent.downloads.status(download.id)
        #expect(status.urgency == .now && !status.state.isFinal)
        server.change { $0.contentFaults = [] }
        _ = try await agent.download(.finished)
      }
    }
    let sent = server.state.current.sent.filter { !$0.isEmpty }
    #expect(sent.count <= 3, "\(sent)")
    #expect(try harness.placed(package))
  }

  @Test("what is listed, or asked for by HEAD, is wanted as before, and what is read is wanted now")
  func haste() async throws {
    let package = try package(3)
    let server = FakeServer([package])
    server.change {
      $0.contentFaults = [.stall(after: 1_100_000)] + Array(repeating: .stall(after: 0), count: 50)
    }
    let harness = try AgentHarness()
    let name = name(package)
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let download = try await begun(Self.mebibyte, server, agent)
        let path = "/v1/downloads/\(download.id)/files"
        let product = "/v1/library/\(package.manifest.product)/files"
        func urgency() async throws -> DownloadUrgency? {
          try await agent.downloads.status(download.id).urgency
        }
        for list in [path, product] { #expect(try await harness.ask("GET", list).status == 200) }
        for files in [path, product] {
          #expect(try await harness.ask("HEAD", "\(files)/\(name)").status == 200)
        }
        #expect(try await urgency() == .normal)
        let page = try await harness.ask("GET", "\(product)/\(name)", headers: range(0..<100))
        #expect(page.status == 206)
        #expect(try await urgency() == .now)
        server.change { $0.contentFaults = [] }
      }
    }
  }

  @Test("every file of a folder is read while it comes, deflated ones as well") func folder() async throws {
    let package = try FixturePackage.folder()
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.cut(after: 1_200_000), .cut(after: 700_000)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        let download = try await agent.firstDownload { _ in true }
        let list = try await harness.get("/v1/downloads/\(download.id)/files", as: ContentFiles.self)
        #expect(Set(list.files.map(\.path)) == Set(package.files.keys))
        for file in list.files.reversed() {
          let answer = try await harness.ask("GET", "/v1/downloads/\(download.id)/files/\(file.path)")
          #expect(
            answer.status == 200 && answer.body.hasSameBytes(as: package.files[file.path] ?? [1]),
            "\(file.path)")
        }
        _ = try await agent.download(.finished)
      }
    }
    #expect(try harness.placed(package))
  }

  @Test(
    "what a paused download has staged is read after a restart, and what is missing says that it is paused")
  func restarted() async throws {
    let package = try package(6)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 2_600_000)] }
    let harness = try AgentHarness()
    let (name, bytes) = (name(package), package.bytes)
    try await server.open { url in
      let identifier = try await harness.run(server: url) { agent in
        let download = try await begun(2 * Self.mebibyte, server, agent)
        #expect(try await harness.ask("POST", "/v1/downloads/\(download.id)/pause").status == 200)
        return download.id
      }
      try await harness.run(server: url) { agent in
        let path = "/v1/downloads/\(identifier)/files/\(name)"
        let there = try await harness.ask("GET", path, headers: range(0..<2 * Self.mebibyte))
        #expect(there.status == 206 && there.body.hasSameBytes(as: Array(bytes[..<(2 * Self.mebibyte)])))
        let missing = try await harness.ask("GET", path, headers: range(5_000_000..<5_000_100))
        #expect(missing.status == 409)
        #expect(try problem(missing).type == "urn:pullbox:problem:download-paused")
        #expect(try await harness.ask("POST", "/v1/downloads/\(identifier)/resume").status == 200)
        let last = try await harness.ask("GET", path, headers: range(5_000_000..<5_000_100))
        #expect(last.status == 206 && last.body == Array(bytes[5_000_000..<5_000_100]))
        _ = try await agent.download(.finished)
      }
    }
    #expect(try harness.placed(package))
  }

  /// Accepts an answer and takes no byte of it.
  private final class IdleReader: TransferReceiver {
    let hasBegun: AsyncStream<Void>
    private let begin: AsyncStream<Void>.Continuation

    init() {
      (hasBegun, begin) = AsyncStream.makeStream()
    }

    func receive(head: ResponseHead) -> HeadDecision { .accept }

    func receive(_ bytes: Span<UInt8>) -> BodyDecision {
      begin.finish()
      return .pause
    }
  }

  @Test("of sixty-four readers four that never read on hold up no other, nor the download") func idle()
    async throws
  {
    let package = try package(10)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 1_100_000)] }
    let harness = try AgentHarness()
    let (name, bytes) = (name(package), package.bytes)
    try await server.open { url in
      try await harness.run(server: url, stallAfter: .seconds(1)) { agent in
        let download = try await begun(Self.mebibyte, server, agent)
        let path = "/v1/downloads/\(download.id)/files/\(name)"
        try await withThrowingTaskGroup(of: Void.self) { idle in
          for _ in 0..<4 {
            let reader = IdleReader()
            var request = ClientRequest(url: "http://agent\(path)")
            request.unixSocketPath = harness.directory.path("agent.sock")
            request.lowSpeed = nil
            idle.addTask { [request] in _ = try? await harness.client.stream(request, to: reader) }
            for await _ in reader.hasBegun {}
          }
          try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
              let start = number * 170_000
              group.addTask {
                let part = try await harness.ask("GET", path, headers: range(start..<start + 200_000))
                #expect(
                  part.status == 206 && part.body.hasSameBytes(as: Array(bytes[start..<start + 200_000])))
              }
            }
            try await group.waitForAll()
          }
          _ = try await agent.download(.finished)
          idle.cancelAll()
        }
      }
    }
    #expect(try harness.placed(package))
  }

  @Test("bytes that are damaged on the disk are sent to no reader, and come again") func damaged()
    async throws
  {
    let package = try package(6)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 3_600_000)] }
    let harness = try AgentHarness()
    let (name, bytes) = (name(package), package.bytes)
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let download = try await begun(3 * Self.mebibyte, server, agent)
        let staging = harness.directory.path("state/library/.staging")
        let jobs = try FileSystem.list(staging).filter { $0.kind == .directory }.map(\.name)
        let path = "\(staging)/\(try #require(jobs.first))/tree/\(name)"
        try #require(unsafe chmod(path, 0o644) == 0)
        try FileDescriptor.open(path, .readWrite).write([7, 7, 7, 7].span, at: ByteCount(1_500_000))
        let answer = try await harness.ask(
          "GET", "/v1/downloads/\(download.id)/files/\(name)", headers: range(1_400_000..<1_600_000))
        #expect(answer.status == 206 && answer.body.hasSameBytes(as: Array(bytes[1_400_000..<1_600_000])))
        _ = try await agent.download(.finished)
      }
    }
    #expect(try harness.placed(package))
    #expect(
      server.state.current.sent.contains { $0.lowerBound == Self.mebibyte }, "\(server.state.current.sent)")
  }
}
