import CoreTypes
import Files
import PullboxTesting
import SystemCalls
import Testing

@testable import HTTPServer

/// Deadlines, capacity, refusals, drain, addresses.
@Suite(.timeLimit(.minutes(10)))
struct LifeTests {
  @Test("a head that does not come in time is answered 408, however it trickles")
  func slowHead() async throws {
    try await withServer(configure: { $0.headDeadline = .milliseconds(100) }) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost:")
      let response = try await connection.receiveResponse()
      #expect(response.status == 408)
      #expect(response["Connection"] == "close")
    }
  }

  @Test("a connection without a request is closed without a word")
  func idle() async throws {
    let clock = ManualMonotonicClock()
    try await withServer(clock: clock, respond: echo) { server in
      let fresh = try server.connect()
      let used = try server.connect()
      try await used.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await used.receiveResponse().status == 200)
      // The only loop has accepted the first before it answered the second.
      clock.advance(by: .seconds(61))
      server.server.clockDidMove()
      #expect(try await fresh.receiveToEnd() == [])
      #expect(try await used.receiveToEnd() == [])
    }
  }

  @Test("deadlines follow the clock that was injected")
  func injectedClock() async throws {
    let clock = ManualMonotonicClock()
    try await withServer(clock: clock, respond: echo) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 200)
      clock.advance(by: .seconds(59))
      server.server.clockDidMove()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 200)
      clock.advance(by: .seconds(61))
      server.server.clockDidMove()
      #expect(try await connection.receiveToEnd() == [])
    }
  }

  @Test("a client that takes nothing of its response is dropped")
  func slowReader() async throws {
    let ended = Gate()
    try await withServer(
      configure: { $0.sendDeadline = .milliseconds(100) },
      respond: { _ in
        HTTPResponse(
          status: .ok,
          body: .stream { writer in
            do {
              while true { try await writer.write([UInt8](repeating: 1, count: 65_536)) }
            } catch {
              await ended.open()
              throw error
            }
          })
      }
    ) { server in
      let connection = try server.connect(receiveBuffer: 4096)
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      await ended.wait()
      _ = connection
    }
  }

  @Test("a connection beyond the bound is told to come back, and one that ends makes room")
  func capacity() async throws {
    try await withServer(configure: { $0.maximumConnections = 2 }, respond: echo) { server in
      let first = try server.connect()
      let second = try server.connect()
      for connection in [first, second] {
        try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await connection.receiveResponse().status == 200)
      }
      let third = try server.connect()
      let refused = try await third.receiveResponse()
      #expect(refused.status == 503)
      #expect(refused["Retry-After"] == "1")
      #expect(refused["Connection"] == "close")
      third.endSending()
      #expect(try await third.receiveToEnd() == [])
      first.endSending()
      #expect(try await first.receiveToEnd() == [])
      let fourth = try server.connect()
      try await fourth.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await fourth.receiveResponse().status == 200)
    }
  }

  @Test("after a refused head nothing more of the connection is read")
  func refusal() async throws {
    try await withServer(
      configure: {
        $0.refusal = {
          HTTPResponse(status: $0, headers: ["X-Refused": "yes"], body: .bytes(Array("no".utf8)))
        }
      }, respond: echo
    ) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try await connection.receiveResponse()
      #expect(response.status == 400)
      #expect(response["X-Refused"] == "yes")
      #expect(response.text == "no")
      connection.endSending()
      #expect(try await connection.receiveToEnd() == [])
    }
  }

  @Test("a connection whose client asks for no more ends with its response, without waiting for the client")
  func lastRequest() async throws {
    // Its linger deadline never comes.
    try await withServer(
      clock: ManualMonotonicClock(),
      respond: { request in
        _ = try? await request.body.collect(upTo: .kibibytes(64))
        return HTTPResponse(status: .ok, body: .bytes([1, 2, 3]))
      }
    ) { server in
      for head in [
        "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 4\r\n\r\nabcd",
      ] {
        let connection = try server.connect()
        try await connection.send(head)
        #expect(try await connection.receiveToEnd().suffix(3) == [1, 2, 3])
        #expect(server.server.statistics().openConnections == 0)
      }
    }
  }

  @Test("after a request that closes, no further one is answered")
  func closeRequest() async throws {
    let paths = Locked<[String]>([])
    try await withServer(respond: { request in
      paths.withLock { $0.append(request.path) }
      return HTTPResponse(status: .ok)
    }) { server in
      let connection = try server.connect()
      try await connection.send(
        "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try await connection.receiveResponse()
      #expect(response["Connection"] == "close")
      connection.endSending()
      #expect(try await connection.receiveToEnd() == [])
      #expect(paths.current == ["/a"])
    }
  }

  @Test("requests of a client that has closed its sending half are answered")
  func halfClosed() async throws {
    try await withServer(respond: { HTTPResponse(status: .ok, body: .bytes(Array($0.path.utf8))) }) {
      server in
      let connection = try server.connect()
      try await connection.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
      connection.endSending()
      #expect(try await connection.receiveResponse().text == "/a")
      #expect(try await connection.receiveResponse().text == "/b")
      #expect(try await connection.receiveToEnd() == [])
    }
  }

  @Test(
    "the handler of a client that has closed its sending half is cancelled only when it gives nothing for two seconds"
  )
  func grace() async throws {
    let clock = ManualMonotonicClock()
    let begun = Gate()
    let wasCancelled = Locked(false)
    try await withServer(
      clock: clock,
      respond: { request in
        if request.path == "/quick" { return HTTPResponse(status: Task.isCancelled ? .conflict : .ok) }
        await begun.open()
        while !Task.isCancelled { await Task.yield() }
        wasCancelled.withLock { $0 = true }
        return HTTPResponse(status: .accepted)
      }
    ) { server in
      for _ in 0..<100 {
        let connection = try server.connect()
        try await connection.send("GET /quick HTTP/1.1\r\nHost: h\r\n\r\n")
        connection.endSending()
        #expect(try await connection.receiveResponse().status == 200)
      }
      let connection = try server.connect()
      try await connection.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
      await begun.wait()
      connection.endSending()
      await server.server.ping()
      clock.advance(by: .milliseconds(1999))
      server.server.clockDidMove()
      await server.server.ping()
      #expect(!wasCancelled.current)
      while !wasCancelled.current {
        clock.advance(by: .milliseconds(100))
        server.server.clockDidMove()
        await server.server.ping()
      }
      // The answer that it gives then is sent.
      #expect(try await connection.receiveResponse().status == 202)
    }
  }

  @Test(
    "a request that its handler gives up is answered; once the client has ended its side it is not, and counts as no response",
    arguments: [false, true])
  func givenUp(isEnded: Bool) async throws {
    let begun = Gate()
    let gate = Gate()
    try await withServer(
      configure: { $0.lingerDeadline = .milliseconds(1) },
      respond: { _ in
        await begun.open()
        if isEnded {
          while !Task.isCancelled { await Task.yield() }
        } else {
          await gate.wait()
        }
        var response = HTTPResponse(status: .serviceUnavailable)
        response.isAbandonment = true
        return response
      }
    ) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      await begun.wait()
      if isEnded {
        connection.endSending()
        #expect(try await connection.receiveToEnd() == [])
      } else {
        await gate.open()
        #expect(try await connection.receiveResponse().status == 503)
      }
      #expect(server.server.statistics().responses == (isEnded ? [:] : [503: 1]))
    }
  }

  @Test("HTTP/1.0 closes by default and keeps when asked")
  func oldClient() async throws {
    try await withServer(respond: echo) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      #expect(try await connection.receiveResponse()["Connection"] == "keep-alive")
      try await connection.send("GET / HTTP/1.0\r\n\r\n")
      #expect(try await connection.receiveResponse()["Connection"] == "close")
      #expect(try await connection.receiveToEnd() == [])
    }
  }

  @Test("a drain lets work in progress finish and closes idle connections at once")
  func drain() async throws {
    let begun = Gate()
    let gate = Gate()
    let server = try TestServer(respond: { request in
      if request.path == "/idle" { return HTTPResponse(status: .ok) }
      await begun.open()
      await gate.wait()
      return HTTPResponse(status: .ok, body: .bytes(Array("done".utf8)))
    })
    let busy = try server.connect()
    let idle = try server.connect()
    try await idle.send("GET /idle HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try await idle.receiveResponse().status == 200)
    try await busy.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    await begun.wait()
    async let drained: Void = server.server.drain()
    #expect(try await idle.receiveToEnd() == [])
    await gate.open()
    let response = try await busy.receiveResponse()
    #expect(response.text == "done")
    #expect(response["Connection"] == "close")
    busy.endSending()
    await drained
    #expect(throws: (any Error).self) { try server.connect() }
  }

  @Test("a drain does not wait beyond its deadline")
  func drainDeadline() async throws {
    let begun = Gate()
    let server = try TestServer(
      configure: { $0.drainDeadline = .milliseconds(100) },
      respond: { _ in
        await begun.open()
        for await _ in AsyncStream<Never>(unfolding: { nil }) {}
        let stream = AsyncStream<Never> { _ in }
        for await _ in stream {}
        return HTTPResponse(status: .ok)
      })
    let connection = try server.connect()
    try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    await begun.wait()
    await server.server.drain()
    #expect(try await connection.receiveToEnd() == [])
  }

  @Test("a drain does not wait for the rest of a body whose client sends nothing")
  func drainOfHalfBody() async throws {
    let begun = Gate()
    let server = try TestServer(
      configure: { ($0.drainDeadline, $0.lingerDeadline) = (.seconds(3600), .milliseconds(50)) },
      respond: { request in
        await begun.open()
        guard let bytes = try? await request.body.collect(upTo: .kibibytes(1)) else {
          return HTTPResponse(status: .requestTimeout)
        }
        return HTTPResponse(status: .ok, body: .bytes(bytes))
      })
    let connection = try server.connect()
    try await connection.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf")
    await begun.wait()
    async let drained: Void = server.server.drain()
    _ = try await connection.receiveToEnd()
    await drained
  }

  @Test("several loops share one port, and all of them answer")
  func severalLoops() async throws {
    try await withServer(configure: { $0.loops = 4 }, respond: echo) { server in
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<40 {
          group.addTask {
            let connection = try server.connect()
            try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
            return try await connection.receiveResponse().status + connection.receiveResponse().status
          }
        }
        for try await sum in group { #expect(sum == 400) }
      }
    }
  }

  @Test("a drain of a server that never started returns")
  func drainWithoutStart() async {
    let server = HTTPServer(
      configuration: HTTPServerConfiguration(addresses: []), handler: ClosureHandler(body: echo))
    await server.drain()
    #expect(server.boundAddresses == [])
  }

  @Test("a Unix socket has its permissions, serves, and is gone after the drain")
  func unixSocket() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    var configuration = HTTPServerConfiguration(addresses: [.unix(path: path)])
    configuration.loops = 2
    for _ in 0..<2 {
      let server = HTTPServer(
        configuration: configuration,
        handler: ClosureHandler { HTTPResponse(status: .ok, body: .bytes(Array($0.peer.description.utf8))) })
      try server.start()
      #expect(server.boundAddresses == [.unix(path: path)])
      let connection = try RawConnection.unix(path: path)
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().text == "unix")
      await server.drain()
      #expect(throws: SystemError.self) { _ = try RawConnection.unix(path: path) }
    }
  }

  @Test("an address that is taken is said so, and a wrong one too")
  func addresses() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("taken.sock")
    func start(_ addresses: ServerAddress...) throws -> HTTPServer {
      let server = HTTPServer(
        configuration: HTTPServerConfiguration(addresses: addresses), handler: ClosureHandler(body: echo))
      try server.start()
      return server
    }
    let first = try start(.unix(path: path))
    // The sockets that were bound before the fault are given back.
    let other = directory.path("other.sock")
    #expect(throws: HTTPServerError.self) { try start(.unix(path: other), .unix(path: path)) }
    #expect(try FileSystem.status(of: other) == nil)
    let taken = #expect(throws: HTTPServerError.self) { try start(.unix(path: path)) }
    #expect(taken?.code == .addressInUse)
    await first.drain()
    for address in [
      ServerAddress.tcp(host: "example.com", port: 0), .unix(path: String(repeating: "a", count: 200)),
    ] {
      let invalid = #expect(throws: HTTPServerError.self) { try start(address) }
      #expect(invalid?.code == .addressInvalid)
    }
  }

  @Test("a port on which another server listens is taken, even one of ours")
  func takenPort() async throws {
    try await withServer { server in
      let other = HTTPServer(
        configuration: HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: server.port)]),
        handler: ClosureHandler(body: echo))
      let error = #expect(throws: HTTPServerError.self) { try other.start() }
      #expect(error?.code == .addressInUse)
    }
  }
}
