import CLinux
import CoreTypes
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@testable import HTTPServer

/// Limits on connections, in all and of one address, and the lack of descriptors.
@Suite(.timeLimit(.minutes(10)))
struct CapacityTests {
  private let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test("an address has as many connections as it may, on all loops together, and gets them back as they end")
  func perAddress() async throws {
    try await withServer(
      configure: {
        $0.loops = 3
        $0.maximumConnectionsPerAddress = 8
        $0.unlimitedAddresses = []
      }, respond: echo
    ) { server in
      let admitted = try (0..<8).map { _ in try server.connect() }
      for connection in admitted {
        try await connection.send(request)
        #expect(try await connection.receiveResponse().status == 200)
      }
      for _ in 0..<5 {
        let refused = try server.connect()
        let response = try await refused.receiveResponse()
        #expect(response.status == 503)
        #expect(response["Retry-After"] == "1")
        #expect(response["Connection"] == "close")
        refused.endSending()
        #expect(try await refused.receiveToEnd() == [])
      }
      #expect(server.server.statistics().refusedConnections[.address] == 5)
      // Work in progress goes on.
      for connection in admitted {
        try await connection.send(request)
        #expect(try await connection.receiveResponse().status == 200)
      }
      for connection in admitted {
        connection.endSending()
        #expect(try await connection.receiveToEnd() == [])
      }
      for _ in 0..<8 {
        let next = try server.connect()
        try await next.send(request)
        #expect(try await next.receiveResponse().status == 200)
      }
    }
  }

  @Test("no more than 64 connections a loop are being told to come back at once, on several loops as on one")
  func turnedAway() async throws {
    try await withServer(
      configure: {
        $0.loops = 2
        $0.maximumConnections = 100
      }, respond: echo
    ) { server in
      let admitted = try (0..<100).map { _ in try server.connect() }
      for connection in admitted {
        try await connection.send(request)
        #expect(try await connection.receiveResponse().status == 200)
      }
      // None of them closes after its refusal; so many as have no place wait to be accepted.
      let others = try (0..<300).map { _ in try server.connect() }
      while server.server.statistics().acceptPauses < 2 { await server.server.ping() }
      #expect(server.server.statistics().refusedConnections[.capacity] == 128)
      // One leaves, and one more is told.
      for connection in others { connection.reset() }
      while server.server.statistics().openConnections > 100 { await server.server.ping() }
      for connection in admitted { connection.endSending() }
    }
  }

  @Test("who is told to come back later keeps no connection once half of those that may be are open")
  func putOff() async throws {
    try await withServer(
      configure: { $0.maximumConnections = 4 },
      respond: { request in
        HTTPResponse(
          status: .serviceUnavailable, headers: request.path == "/late" ? ["Retry-After": "20"] : [:])
      }
    ) { server in
      func ask(_ connection: RawConnection, for path: String) async throws -> RawResponse {
        try await connection.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
        return try await connection.receiveResponse()
      }
      let first = try server.connect()
      // One of four: there is room.
      #expect(try await ask(first, for: "/late")["Connection"] == nil)
      let second = try server.connect()
      #expect(try await ask(second, for: "/now")["Connection"] == nil)
      let response = try await ask(second, for: "/late")
      #expect(response["Connection"] == "close" && response["Retry-After"] == "20")
      second.endSending()
      #expect(try await second.receiveToEnd() == [])
      while server.server.statistics().openConnections > 1 { await server.server.ping() }
      #expect(try await ask(first, for: "/late")["Connection"] == nil)
    }
  }

  @Test("clients that leave do not leave more handlers behind than there may be connections, twice over")
  func leftHandlers() async throws {
    let gate = Gate()
    let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
    var arrivalsSoFar = arrivals.makeAsyncIterator()
    try await withServer(
      configure: { $0.maximumConnections = 2 },
      respond: { _ in
        arrived.yield()
        // Deaf to being cancelled.
        await gate.wait()
        return HTTPResponse(status: .ok)
      }
    ) { server in
      for _ in 0..<4 {
        let connection = try server.connect()
        try await connection.send(request)
        await arrivalsSoFar.next()
        connection.reset()
        while server.server.statistics().openConnections > 0 { await server.server.ping() }
      }
      let connection = try server.connect()
      try await connection.send(request)
      #expect(try await connection.receiveResponse().status == 503)
      await gate.open()
      connection.endSending()
      #expect(try await connection.receiveToEnd() == [])
    }
  }

  @Test("a request is refused where as many wait for the handler as may, and its connection is closed")
  func waiting() async throws {
    try await withServer(configure: { $0.maximumWaitingRequests = 0 }, respond: echo) { server in
      for body in ["", "Content-Length: 5\r\n\r\nhello"] {
        let connection = try server.connect()
        try await connection.send("POST / HTTP/1.1\r\nHost: h\r\n" + (body.isEmpty ? "\r\n" : body))
        let response = try await connection.receiveResponse()
        #expect(response.status == 503)
        #expect(response["Retry-After"] == "1")
        #expect(response["Connection"] == "close")
        connection.endSending()
        #expect(try await connection.receiveToEnd() == [])
      }
      #expect(server.server.statistics().refusedConnections[.waiting] == 2)
    }
  }

  @Test("a request that the handler has begun with does not count as waiting")
  func begun() async throws {
    try await withServer(configure: { $0.maximumWaitingRequests = 1 }, respond: echo) { server in
      let connection = try server.connect()
      for _ in 0..<100 {
        try await connection.send(request)
        #expect(try await connection.receiveResponse().status == 200)
      }
      #expect(server.server.statistics().refusedConnections[.waiting] == 0)
    }
  }

  @Test("an unlimited address has no bound of its own")
  func unlimited() async throws {
    try await withServer(configure: { $0.maximumConnectionsPerAddress = 1 }, respond: echo) { server in
      for connection in try (0..<4).map({ _ in try server.connect() }) {
        try await connection.send(request)
        #expect(try await connection.receiveResponse().status == 200)
      }
    }
  }

  @Test(
    "what an address has is counted by its 32 or its first 64 bits, and forgotten with its last connection")
  func table() {
    let table = AddressTable(limit: 2, exempt: [.loopback4])
    func four(_ low: UInt64) -> PeerAddress { PeerAddress(family: .version4, port: 1, high: 0, low: low) }
    func six(_ high: UInt64, _ low: UInt64) -> PeerAddress {
      PeerAddress(family: .version6, port: 1, high: high, low: low)
    }
    #expect(!table.limits(four(0x7F00_0009)))
    #expect(!table.limits(.unix))
    #expect(table.limits(four(0x0A00_0001)))
    #expect(table.admit(four(0x0A00_0001)))
    #expect(table.admit(four(0x0A00_0001)))
    #expect(!table.admit(four(0x0A00_0001)))
    #expect(table.admit(four(0x0A00_0002)))
    #expect(table.admit(six(1, 1)))
    #expect(table.admit(six(1, 2)))
    #expect(!table.admit(six(1, 3)))
    #expect(table.admit(six(2, 1)))
    #expect(table.count == 4)
    table.release(six(1, 2))
    #expect(table.admit(six(1, 9)))
    for peer in [four(0x0A00_0001), four(0x0A00_0001), four(0x0A00_0002), six(1, 1), six(1, 1), six(2, 1)] {
      table.release(peer)
    }
    #expect(table.count == 0)
  }

  @Test(
    "a network contains the addresses that begin like it",
    arguments: [
      ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false),
      ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.6", false), ("0.0.0.0/0", "203.0.113.9", true),
      ("0.0.0.0/0", "2001:db8::1", false), ("2001:db8::/32", "2001:db8:ffff::1", true),
      ("2001:db8::/32", "2001:db9::1", false), ("2001:db8::/96", "2001:db8::ffff:1", true),
      ("2001:db8::/96", "2001:db8::1:0:1", false), ("::1", "::1", true), ("::1", "::2", false),
      ("::/0", "2001:db8::1", true), ("10.9.8.7/8", "10.1.1.1", true),
    ])
  func networks(network: String, address: String, contains: Bool) throws {
    let single = try #require(PeerNetwork(address))
    let parsed = try #require(PeerNetwork(network))
    #expect(parsed.contains(single.first) == contains)
    #expect(PeerNetwork(parsed.description) == parsed)
  }

  @Test(
    "what is no network is not read as one",
    arguments: [
      "", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "::/129", "example.com", "10.0.0/8", "/8", "1.2.3.4/+8",
    ])
  func noNetworks(_ text: String) {
    #expect(PeerNetwork(text) == nil)
  }

  @Test("without file descriptors accepting pauses, and goes on when there are some")
  func noDescriptors() async {
    // The limit holds for a process: one that no other test runs in.
    await #expect(processExitsWith: .success) {
      let request = CapacityTests().request
      try await withServer(respond: echo) { server in
        let first = try server.connect()
        try await first.send(request)
        #expect(try await first.receiveResponse().status == 200)
        var before = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
        // No number is left for another descriptor, whichever are given back meanwhile; poll(2) needs a limit of one.
        let client = try server.connect(beforeConnecting: { _ in
          var tight = before
          tight.rlim_cur = 1
          unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &tight)
        })
        defer { unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before) }
        try await client.send(request)
        // The open connection is served; and then the loop has seen the other connection, too.
        while server.server.statistics().acceptPauses == 0 {
          try await first.send(request)
          #expect(try await first.receiveResponse().status == 200)
        }
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
        #expect(try await client.receiveResponse().status == 200)
      }
    }
  }
}

extension PeerNetwork {
  /// Its first address.
  fileprivate var first: PeerAddress {
    PeerAddress(family: family, port: 0, high: firstBits.high, low: firstBits.low)
  }
}
