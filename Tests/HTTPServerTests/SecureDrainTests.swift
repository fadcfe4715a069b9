import CoreTypes
import PullboxTesting
import SystemCalls
import Testing

@testable import HTTPServer

/// The end of a server that speaks TLS.
@Suite(.timeLimit(.minutes(10)))
struct SecureDrainTests {
  private let directory: TemporaryDirectory
  private let certificate: TestCertificate

  init() async throws {
    directory = try TemporaryDirectory()
    certificate = try await TestCertificate(named: "first", in: directory)
  }

  @Test(
    "a drain lets a running body finish, ends its session in order, and closes idle sessions in order at once"
  )
  func running() async throws {
    let gate = Gate()
    let begun = Gate()
    let server = try SecureServer(
      certificate,
      respond: { request in
        if request.path == "/idle" { return HTTPResponse(status: .ok) }
        return HTTPResponse(
          status: .ok,
          body: .stream(contentLength: 10) { writer in
            try await writer.write(Array("first".utf8))
            await begun.open()
            await gate.wait()
            try await writer.write(Array("again".utf8))
          })
      })
    let idle = try await server.connect()
    try await idle.send("GET /idle HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try await idle.receiveResponse().status == 200)
    let busy = try await server.connect()
    try await busy.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    await begun.wait()
    async let drained: Void = server.server.drain()
    #expect(try await idle.receiveToEnd() == [])
    #expect(idle.hasReceivedEnd)
    await gate.open()
    #expect(try await busy.receiveResponse().text == "firstagain")
    #expect(try await busy.receiveToEnd() == [])
    #expect(busy.hasReceivedEnd)
    try await busy.end()
    busy.plain.endSending()
    await drained
  }

  @Test("a body that runs beyond the drain's deadline breaks off, and is not ended in order")
  func deadline() async throws {
    let begun = Gate()
    let server = try SecureServer(
      certificate, configure: { $0.drainDeadline = .milliseconds(100) },
      respond: { _ in
        HTTPResponse(
          status: .ok,
          body: .stream(contentLength: 10) { writer in
            try await writer.write(Array("first".utf8))
            await begun.open()
            let never = AsyncStream<Never> { _ in }
            for await _ in never {}
          })
      })
    let connection = try await server.connect()
    try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    await begun.wait()
    await server.server.drain()
    _ = try await connection.receive(through: "\r\n\r\n")
    #expect(try await connection.receiveToEnd() == Array("first".utf8))
    #expect(!connection.hasReceivedEnd)
  }

  @Test("a handshake under way when the drain begins is finished, and its request answered")
  func handshake() async throws {
    let server = try SecureServer(certificate, respond: echo)
    let idle = try await server.connect()
    let fresh = try SecureConnection(over: .tcp(port: server.port))
    // Accepted: the next connection on the only loop has been answered.
    try await idle.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try await idle.receiveResponse().status == 200)
    async let drained: Void = server.server.drain()
    #expect(try await idle.receiveToEnd() == [])
    try await fresh.handshake()
    try await fresh.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try await fresh.receiveResponse()
    #expect(response.status == 200)
    #expect(response["Connection"] == "close")
    try await fresh.end()
    fresh.plain.endSending()
    await drained
  }

  @Test("restarts on an inherited socket refuse no client over TLS either")
  func restarts() async throws {
    let bound = try BoundSocket()
    let port = bound.port
    let tls = TLSConfiguration(certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
    @Sendable func ask() async throws -> Int {
      let connection = try SecureConnection(over: .tcp(port: port))
      try await connection.handshake()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      return try await connection.receiveResponse().status
    }
    func start() throws -> HTTPServer {
      var configuration = HTTPServerConfiguration(addresses: [])
      configuration.inherited = [try bound.handOver(name: "https")]
      configuration.loops = 2
      configuration.tls = tls
      let server = HTTPServer(configuration: configuration, handler: ClosureHandler(body: echo))
      try server.start()
      return server
    }
    let isOver = Locked(false)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<3 {
        group.addTask {
          var refused = 0
          while !isOver.current { refused += try await ask() == 200 ? 0 : 1 }
          return refused
        }
      }
      for _ in 0..<5 {
        let server = try start()
        for _ in 0..<3 {
          let status = try await ask()
          #expect(status == 200)
        }
        await server.drain()
      }
      isOver.withLock { $0 = true }
      let last = try start()
      for try await refused in group { #expect(refused == 0) }
      await last.drain()
    }
  }
}
