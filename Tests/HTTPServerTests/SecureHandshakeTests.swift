import CoreTypes
import PullboxTesting
import Testing

@testable import HTTPServer

/// The clients that get a TLS session, with what, and the end of those that do not.
@Suite(.timeLimit(.minutes(10)))
struct SecureHandshakeTests {
  @Test("TLS 1.3 and 1.2 are spoken, with forward secrecy and authenticated encryption")
  func versions() async throws {
    try await withSecureServer(respond: echo) { server in
      for (highest, version) in [(Int32(0x304), "TLSv1.3"), (0x303, "TLSv1.2")] {
        var options = SecureConnection.Options()
        options.maximumVersion = highest
        let connection = try await server.connect(options)
        #expect(connection.version == version)
        #expect(connection.certificateName == "/CN=first")
        #expect(
          connection.cipher
            == (highest == 0x304 ? "TLS_AES_128_GCM_SHA256" : "ECDHE-ECDSA-AES128-GCM-SHA256"))
        try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await connection.receiveResponse().status == 200)
      }
    }
  }

  @Test("TLS 1.1 is refused with an alert", arguments: [Int32(0x302), 0x301])
  func oldVersions(version: Int32) async throws {
    try await withSecureServer(respond: echo) { server in
      var options = SecureConnection.Options()
      options.maximumVersion = version
      let connection = try SecureConnection(over: .tcp(port: server.port), options: options)
      let failure = await #expect(throws: RawConnection.Failure.self) { try await connection.handshake() }
      #expect(failure?.description.contains("alert protocol version") == true)
    }
  }

  @Test("http/1.1 is chosen where it is offered, and a client that cannot speak it is refused")
  func protocols() async throws {
    try await withSecureServer(respond: echo) { server in
      var both = SecureConnection.Options()
      both.protocols = ["h2", "http/1.1"]
      let chosen = try await server.connect(both)
      #expect(chosen.chosenProtocol == "http/1.1")
      let silent = try await server.connect()
      #expect(silent.chosenProtocol == "")
      var other = SecureConnection.Options()
      other.protocols = ["h2"]
      let refused = try SecureConnection(over: .tcp(port: server.port), options: other)
      let failure = await #expect(throws: RawConnection.Failure.self) { try await refused.handshake() }
      #expect(failure?.description.contains("no application protocol") == true)
    }
  }

  @Test("a session is resumed from its ticket, on any loop", arguments: [Int32(0x304), 0x303])
  func resumption(version: Int32) async throws {
    try await withSecureServer(configure: { $0.loops = 3 }, respond: echo) { server in
      var options = SecureConnection.Options()
      options.maximumVersion = version
      let first = try await server.connect(options)
      try await first.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await first.receiveResponse().status == 200)
      #expect(!first.wasResumed)
      options.session = first.takeSession()
      for _ in 0..<6 {
        let next = try await server.connect(options)
        try await next.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await next.receiveResponse().status == 200)
        #expect(next.wasResumed)
        // A ticket of TLS 1.3 is for one use.
        options.session = next.takeSession()
      }
    }
  }

  @Test("a handshake may come byte by byte")
  func trickled() async throws {
    try await withSecureServer(respond: echo) { server in
      var options = SecureConnection.Options()
      options.trickles = true
      let connection = try await server.connect(options)
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 200)
    }
  }

  @Test("a handshake that does not come in time is closed without a word", arguments: [[], [0x16, 3, 1]])
  func slow(beginning: [UInt8]) async throws {
    try await withSecureServer(configure: { $0.headDeadline = .milliseconds(100) }, respond: echo) { server in
      let connection = try RawConnection.tcp(port: server.port)
      if !beginning.isEmpty { try await connection.send(beginning) }
      #expect(try await connection.receiveToEnd() == [])
    }
  }

  @Test("the idle deadline begins when the handshake ends")
  func idle() async throws {
    let clock = ManualMonotonicClock()
    try await withSecureServer(clock: clock, respond: echo) { server in
      let connection = try await server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 200)
      clock.advance(by: .seconds(59))
      server.server.clockDidMove()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 200)
      clock.advance(by: .seconds(61))
      server.server.clockDidMove()
      #expect(try await connection.receiveToEnd() == [])
      #expect(connection.hasReceivedEnd)
    }
  }

  @Test("plain HTTP to the TLS port is closed, without a reset and without an answer in clear")
  func plainClient() async throws {
    try await withSecureServer(respond: echo) { server in
      let connection = try RawConnection.tcp(port: server.port)
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveToEnd() == [])
    }
  }

  @Test(
    "garbage for a handshake is answered with an alert at most, and the server serves on",
    arguments: [
      [UInt8](repeating: 0, count: 100), [UInt8](repeating: 0xFF, count: 40_000),
      // A handshake record that claims more than a record holds, and one with an empty ClientHello.
      [0x16, 3, 1, 0xFF, 0xFF] + [UInt8](repeating: 1, count: 5000), [0x16, 3, 1, 0, 4, 1, 0, 0, 0],
      // Application data before any handshake; an alert.
      [0x17, 3, 3, 0, 1, 0], [0x15, 3, 3, 0, 2, 2, 40],
    ] as [[UInt8]])
  func garbage(bytes: [UInt8]) async throws {
    try await withSecureServer(respond: echo) { server in
      let connection = try RawConnection.tcp(port: server.port)
      try await connection.send(bytes)
      let answer = try await connection.receiveToEnd()
      #expect(answer.isEmpty || answer[0] == 0x15)
      let other = try await server.connect()
      try await other.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await other.receiveResponse().status == 200)
    }
  }

  @Test("a client that leaves in the middle of a handshake leaves nothing behind")
  func leaving() async throws {
    try await withSecureServer(configure: { $0.maximumConnections = 1 }, respond: echo) { server in
      for count in [1, 5, 50, 200] {
        let connection = try RawConnection.tcp(port: server.port)
        try await connection.send([0x16, 3, 1, 2, 0] + [UInt8](repeating: 1, count: count))
        connection.endSending()
        _ = try await connection.receiveToEnd()
      }
      let other = try await server.connect()
      try await other.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await other.receiveResponse().status == 200)
    }
  }

  @Test("a connection beyond the bound is told so through TLS")
  func capacity() async throws {
    try await withSecureServer(configure: { $0.maximumConnections = 1 }, respond: echo) { server in
      let first = try await server.connect()
      let second = try await server.connect()
      let refused = try await second.receiveResponse()
      #expect(refused.status == 503)
      #expect(refused["Retry-After"] == "1")
      try await first.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await first.receiveResponse().status == 200)
    }
  }

  @Test("the plain port of the same server stays plain")
  func plainPort() async throws {
    try await withSecureServer(respond: echo) { server in
      let connection = try RawConnection.tcp(port: server.plainPort)
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 200)
    }
  }
}
