import CoreTypes
import Files
import PullboxTesting
import SystemCalls
import Testing

@testable import HTTPServer

/// Sockets that another process has bound: shared by loops, kept across restarts.
@Suite(.timeLimit(.minutes(10)))
struct InheritedSocketTests {
  private func makeServer(
    _ sockets: [InheritedSocket], loops: Int = 2, tls: TLSConfiguration? = nil,
    respond: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = echo
  ) throws -> HTTPServer {
    var configuration = HTTPServerConfiguration(addresses: [])
    configuration.inherited = sockets
    configuration.loops = loops
    configuration.tls = tls
    let server = HTTPServer(configuration: configuration, handler: ClosureHandler(body: respond))
    try server.start()
    return server
  }

  private func expectAnswer(_ port: UInt16) async throws {
    let connection = try RawConnection.tcp(port: port)
    try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try await connection.receiveResponse()
    #expect(response.status == 200)
  }

  @Test("an inherited socket serves at its own address, and its connections go round the loops")
  func fairness() async throws {
    let bound = try BoundSocket()
    let numbers = Locked<[Character: Int]>([:])
    let server = try makeServer(
      [try bound.handOver()], loops: 4,
      respond: { request in
        // The lower eight bits of a request's number are its loop's.
        let number = UInt64(request.id, radix: 36).map { $0 & 0xFF } ?? 99
        numbers.withLock { $0[Character("\(number)"), default: 0] += 1 }
        return HTTPResponse(status: .ok)
      })
    #expect(server.boundAddresses == [.tcp(host: "127.0.0.1", port: bound.port)])
    for _ in 0..<40 { try await expectAnswer(bound.port) }
    #expect(numbers.current == ["0": 10, "1": 10, "2": 10, "3": 10])
    await server.drain()
  }

  @Test("restarts refuse no client")
  func restarts() async throws {
    let bound = try BoundSocket()
    let isOver = Locked(false)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var count = 0
          while !isOver.current {
            try await expectAnswer(bound.port)
            count += 1
          }
          return count
        }
      }
      for _ in 0..<20 {
        let server = try makeServer([try bound.handOver()])
        // Some work for each, so that restarts come while requests do.
        for _ in 0..<5 { try await expectAnswer(bound.port) }
        await server.drain()
      }
      isOver.withLock { $0 = true }
      let last = try makeServer([try bound.handOver()])
      for try await count in group { #expect(count > 0) }
      await last.drain()
    }
  }

  @Test("a connection that waits in the socket between two servers is served by the second")
  func between() async throws {
    let bound = try BoundSocket()
    await (try makeServer([try bound.handOver()])).drain()
    let waiting = try RawConnection.tcp(port: bound.port)
    try await waiting.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let server = try makeServer([try bound.handOver()])
    #expect(try await waiting.receiveResponse().status == 200)
    await server.drain()
  }

  @Test("an inherited Unix socket keeps its file after the drain")
  func unixFile() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("s.sock")
    let bound = try BoundSocket(unixPath: path)
    for _ in 0..<2 {
      let server = try makeServer([try bound.handOver()])
      #expect(server.boundAddresses == [.unix(path: path)])
      let connection = try RawConnection.unix(path: path)
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 200)
      await server.drain()
    }
    #expect(try FileSystem.status(of: path) != nil)
  }

  @Test("an inherited socket named https speaks TLS")
  func secure() async throws {
    let directory = try TemporaryDirectory()
    let certificate = try await TestCertificate(named: "first", in: directory)
    let plain = try BoundSocket()
    let secure = try BoundSocket()
    let server = try makeServer(
      [try plain.handOver(name: "http"), try secure.handOver(name: "https")],
      tls: TLSConfiguration(certificateFile: certificate.certificateFile, keyFile: certificate.keyFile))
    #expect(server.boundAddresses == [.tcp(host: "127.0.0.1", port: plain.port)])
    #expect(server.boundSecureAddresses == [.tcp(host: "127.0.0.1", port: secure.port)])
    try await expectAnswer(plain.port)
    let connection = try SecureConnection(over: .tcp(port: secure.port))
    try await connection.handshake()
    try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try await connection.receiveResponse().status == 200)
    await server.drain()
  }

  @Test("what does not listen for connections is refused by its name")
  func notListening() throws {
    let directory = try TemporaryDirectory()
    let file = try FileDescriptor.open(directory.path("file"), .readWrite, options: .create)
    let socket = InheritedSocket(file, name: "web")
    let error = #expect(throws: HTTPServerError.self) { _ = try makeServer([socket]) }
    #expect(error?.code == .addressInvalid)
    #expect(error?.message.contains("'web'") == true)
  }

  @Test("a drain answers a connection that has not asked yet, and one whose request has just come")
  func freshConnections() async throws {
    let server = try TestServer(respond: echo)
    let fresh = try server.connect()
    // Accepted: the next connection on the only loop has been answered.
    let other = try server.connect()
    try await other.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try await other.receiveResponse().status == 200)
    async let drained: Void = server.server.drain()
    // The one that had its answer is closed, so the drain has begun.
    #expect(try await other.receiveToEnd() == [])
    try await fresh.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try await fresh.receiveResponse()
    #expect(response.status == 200)
    #expect(response["Connection"] == "close")
    fresh.endSending()
    await drained
  }

  @Test("every loop answers a ping, and none is waited for that has ended")
  func ping() async throws {
    let server = try TestServer(configure: { $0.loops = 3 }, respond: echo)
    await server.server.ping()
    await server.server.drain()
    await server.server.ping()
  }

  @Test("IPv6 is listened on where it is asked for, and only there", .enabled(if: BoundSocket.hasVersion6))
  func version6() async throws {
    for (host, isVersion6) in [("::1", true), ("::", true), ("localhost", false)] {
      var configuration = HTTPServerConfiguration(addresses: [.tcp(host: host, port: 0)])
      configuration.loops = 2
      let server = HTTPServer(
        configuration: configuration,
        handler: ClosureHandler { HTTPResponse(status: .ok, body: .bytes(Array($0.peer.description.utf8))) })
      try server.start()
      guard case .tcp(host, let port) = server.boundAddresses[0] else {
        Issue.record("bound to \(server.boundAddresses)")
        return
      }
      let connection = try RawConnection.tcp(port: port, isVersion6: isVersion6)
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let text = try await connection.receiveResponse().text
      #expect(text.hasPrefix(isVersion6 ? "[::1]:" : "127.0.0.1:"))
      #expect(throws: SystemError.self) { _ = try RawConnection.tcp(port: port, isVersion6: !isVersion6) }
      await server.drain()
    }
  }
}
