import CoreTypes
import PullboxTesting
import SystemCalls
import Testing

@testable import HTTPServer

/// Hundreds of clients that mean ill or are merely slow, and one that wants its bytes.
@Suite(.timeLimit(.minutes(10)))
struct HostileLoadTests {
  private static let host = "HTTP/1.1\r\nHost: h\r\n"

  /// The kinds of clients, by what each says first; nothing more comes, and it reads nothing.
  enum Kind: Int, CaseIterable {
    case silent
    case halfHead
    case halfBody
    case halfChunk
    case slowReader
    case slowStreamReader
    case pipeliner
    case garbage
    case hugeHead

    var opening: String {
      switch self {
      case .silent: ""
      case .halfHead: "GET /file \(host)X-Half: "
      case .halfBody: "POST /echo \(host)Content-Length: 100000\r\n\r\nsome"
      case .halfChunk: "POST /echo \(host)Transfer-Encoding: chunked\r\n\r\nffff\r\nsome"
      case .slowReader: "GET /file \(host)\r\n"
      case .slowStreamReader: "GET /stream \(host)\r\n"
      case .pipeliner: String(repeating: "GET /file \(host)Range: bytes=0-65535\r\n\r\n", count: 2000)
      case .garbage: "\u{16}\u{3}\u{1}\u{2}\0\u{1}garbage\r\n\r\n"
      case .hugeHead: "GET /file \(host)X: " + String(repeating: "x", count: 20_000)
      }
    }

    /// The deadline that ends it; nil for those that are refused at once and only have to be waited for.
    var deadline: HTTPServerStatistics.Deadline? {
      switch self {
      case .silent: .idle
      case .halfHead: .head
      case .halfBody, .halfChunk: .body
      case .slowReader, .slowStreamReader, .pipeliner: .send
      case .garbage, .hugeHead: nil
      }
    }
  }

  @Test(
    "hostile and slow clients cost a connection each and nothing else: a good one is served, and they are gone in time"
  )
  func load() async throws {
    let ofEachKind = 40
    let clock = ManualMonotonicClock()
    let length = 32 << 20
    let directory = try TemporaryDirectory()
    let descriptor = try FileDescriptor.open(directory.path("content"), .readWrite, options: .create)
    try descriptor.truncate(to: ByteCount(length))
    let mark = Array("the good client's bytes".utf8)
    try descriptor.write(mark.span, at: ByteCount(1 << 20))
    let file = FileHandler(file: try SharedDescriptor(descriptor))
    try await withServer(
      inline: file, clock: clock,
      configure: {
        $0.loops = 2
        $0.maximumConnections = Kind.allCases.count * ofEachKind + 2
      },
      respond: { request in
        guard request.path == "/stream" else { return await echo(request) }
        return HTTPResponse(
          status: .ok,
          body: .stream { while true { try await $0.write([UInt8](repeating: 1, count: 65_536)) } })
      }
    ) { server in
      let good = try server.connect()
      func serve(_ rounds: Int) async throws {
        for _ in 0..<rounds {
          try await good.send(
            "GET /file \(Self.host)Range: bytes=1048576-1048598\r\n\r\nPOST /echo \(Self.host)Content-Length: 4\r\n\r\ngood"
          )
          let range = try await good.receiveResponse()
          #expect(range.status == 206)
          #expect(range.body == mark)
          #expect(try await good.receiveResponse().text == "good")
        }
      }
      try await serve(1)
      var hostile: [RawConnection] = []
      for kind in Kind.allCases {
        let opening = Array(kind.opening.utf8)
        for _ in 0..<ofEachKind {
          let connection = try server.connect(receiveBuffer: 4096)
          _ = try await connection.sendWithoutWaiting(opening)
          hostile.append(connection)
        }
        try await serve(2)
      }
      // The good client's loop has read what came before its answers; so has the other one now.
      await server.server.ping()
      let open = server.server.statistics()
      #expect(open.openConnections <= UInt64(hostile.count) + 1)
      // Full: the one place that is left, and then none.
      let last = try server.connect()
      try await last.send("GET /count \(Self.host)\r\n")
      #expect(try await last.receiveResponse().status == 200)
      // Refused clients linger until they close; their places are free again before the deadline only if they
      // do.
      var steps = 0
      while server.server.statistics().openConnections > 1, steps < 500 {
        steps += 1
        clock.advance(by: .seconds(5))
        server.server.clockDidMove()
        try await serve(1)
      }
      let statistics = server.server.statistics()
      for deadline in Set(Kind.allCases.compactMap(\.deadline)) {
        let expected = Kind.allCases.count { $0.deadline == deadline } * ofEachKind
        #expect(statistics.deadlinesPassed[deadline] ?? 0 >= UInt64(expected), "\(deadline)")
      }
      #expect(statistics.openConnections == 1)
      // The last answer may have been read before its end was counted.
      #expect(statistics.activeResponses <= 1)
      try await serve(1)
      _ = hostile
    }
  }

  @Test("a storm of connections beyond capacity is told so, and those within it are served meanwhile")
  func storm() async throws {
    try await withServer(configure: { $0.maximumConnections = 20 }, respond: echo) { server in
      let good = try (0..<20).map { _ in try server.connect() }
      for connection in good {
        try await connection.send("GET / \(Self.host)\r\n")
        #expect(try await connection.receiveResponse().status == 200)
      }
      let refused = Locked(0)
      for _ in 0..<10 {
        let storm = try (0..<50).map { _ in try server.connect() }
        for connection in good {
          try await connection.send("GET / \(Self.host)\r\n")
          #expect(try await connection.receiveResponse().status == 200)
        }
        for connection in storm {
          // Those for which there is no place to say so from wait until there is one.
          let head = try await connection.receive()
          if String(decoding: head, as: UTF8.self).hasPrefix("HTTP/1.1 503 ") { refused.withLock { $0 += 1 } }
        }
      }
      let statistics = server.server.statistics()
      #expect(refused.current == 500)
      #expect(statistics.refusedConnections[.capacity] == 500)
      #expect(statistics.refusedConnections[.overflow] ?? 0 == 0)
    }
  }
}
