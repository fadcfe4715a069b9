import Commerce
import CoreTypes
import Foundation
import HTTPClient
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

/// Clients without a key that want the server's memory, its connections or its time.
@Suite("The doors from outside", .serialized, .timeLimit(.minutes(10)))
struct DoorsTests {
  /// A sanitizer takes memory of its own for each byte of the program's.
  private static let memoryBound = Sanitizer.isUsed ? Int.max : 128 << 20
  private static let operatorKey = "operator-key-of-a-test"

  /// A server alone; its store is never asked.
  private func withServer(
    _ options: [String] = [], _ body: (Daemon, Web, UInt16) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let daemon = try await Daemon.start(
      "pullbox-server",
      [
        "--listen", "127.0.0.1:0", "--state", directory.path("state"), "--store-url", "http://127.0.0.1:9",
        "--store-credential", "unused", "--operator-key", Self.operatorKey,
      ] + options, name: "server", in: directory)
    let client = try HTTPClient()
    do {
      let port = try #require(daemon.port)
      try await body(daemon, Web(base: "http://127.0.0.1:\(port)", client: client), port)
    } catch {
      Issue.record(error)
    }
    client.shutDown()
    await daemon.process.killAndWait()
  }

  /// Bytes of memory that the process holds, and the most that it ever held.
  private func memory(of daemon: Daemon) throws -> (now: Int, peak: Int) {
    let status = try Executables.text("/proc/\(daemon.process.identifier)/status")
    func kibibytes(_ name: String) -> Int {
      let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
      return line.split(separator: " ").compactMap { Int($0) }.first ?? .max >> 10
    }
    return (kibibytes("VmRSS:") << 10, kibibytes("VmHWM:") << 10)
  }

  /// The status of the answer to a request that any reader may make.
  private func honestStatus(_ web: Web) async throws -> Int {
    let request = GrantRequest(
      proof: Proof(store: "sandbox", receipt: "AAAA"), product: try #require(.init("com.example.a")),
      device: Device(id: try #require(.init("device-of-the-reader"))))
    return try await web.post("/v1/grants", request).status
  }

  /// Whether a request that any reader may make is answered as it should.
  private func honest(_ web: Web) async throws -> Bool {
    let status = try await honestStatus(web)
    return status < 500 && status != 429
  }

  @Test(
    "200 bodies that are each one byte short cost what the budget allows, and an honest request is answered")
  func halfSentBodies() async throws {
    try await withServer { daemon, web, port in
      let usual = try await honestStatus(web)
      #expect(usual < 500 && usual != 429)
      let length = 3 << 20
      let head =
        "POST /v1/grants HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: \(length)\r\n\r\n"
      let short = Array(head.utf8) + [UInt8](repeating: 0x20, count: length - 1)
      try await withThrowingTaskGroup(of: RawConnection.self) { group in
        for _ in 0..<200 {
          group.addTask {
            let connection = try RawConnection.tcp(port: port)
            // A body that is refused has its connection closed in the middle.
            _ = try? await connection.send(short)
            return connection
          }
        }
        var connections: [RawConnection] = []
        var statuses: Set<Int> = []
        for try await connection in group {
          connections.append(connection)
          if connections.count.isMultiple(of: 20) { statuses.insert(try await honestStatus(web)) }
        }
        statuses.insert(try await honestStatus(web))
        #expect(statuses == [usual])
        #expect(try memory(of: daemon).peak <= Self.memoryBound)
      }
    }
  }

  @Test("a body that is refused for want of room, or comes too slowly, is told so with a problem document")
  func refusedBody() async throws {
    try await withServer(["--body-memory", "8MiB"]) { _, web, port in
      let length = 3 << 20
      let head = Array("POST /v1/grants HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n".utf8)
      var connections: [RawConnection] = []
      for _ in 0..<8 {
        let connection = try RawConnection.tcp(port: port)
        try await connection.send(head + [UInt8](repeating: 0x20, count: 1 << 20))
        connections.append(connection)
      }
      // Six mebibytes are for large bodies: not all of the eight have got theirs.
      await withTaskGroup(of: String?.self) { group in
        for connection in connections {
          group.addTask { try? await connection.receive(through: "\r\n\r\n") }
        }
        let refusal = await group.next() ?? nil
        #expect(refusal?.hasPrefix("HTTP/1.1 503 ") == true)
        #expect(refusal?.contains("\r\nRetry-After: ") == true)
        #expect(refusal?.contains("application/problem+json") == true)
        for connection in connections { connection.reset() }
      }
      #expect(try await honest(web))
    }
  }

  @Test("3,000 connections that say nothing cost little memory, and are closed when their time is over")
  func silentConnections() async throws {
    try await withServer(["--idle-deadline", "5s"]) { daemon, web, port in
      #expect(try await honest(web))
      let before = try memory(of: daemon).now
      var connections: [RawConnection] = []
      for _ in 0..<3000 { connections.append(try RawConnection.tcp(port: port)) }
      #expect(try await honest(web))
      let after = try memory(of: daemon)
      #expect(after.peak <= Self.memoryBound)
      #expect(Sanitizer.isUsed || after.now - before <= 32 << 20)
      for connection in [connections[0], connections[2999]] {
        #expect(try await connection.receive(upTo: 1).isEmpty)
      }
      #expect(try await honest(web))
    }
  }

  @Test("10,000 made-up locales leave nothing in memory")
  func locales() async throws {
    // One address asks all of them.
    try await withServer(["--unlimited-address", "127.0.0.0/8"]) { daemon, web, port in
      let product = Array(
        #"{"localizations":{"en-US":{"title":"A","description":""}},"prices":{"FRA":{"amount":"3.49","currency":"EUR"}}}"#
          .utf8)
      let made = try await web.send(
        "PUT", "/v1/operator/products/com.example.a",
        headers: [("Authorization", "Bearer \(Self.operatorKey)")],
        body: product)
      #expect((200...201).contains(made.status), "\(made.text)")
      let unassigned = try await web.send("GET", "/v1/products?id=com.example.a&locale=x1-1")
      #expect(unassigned.status == 400, "\(unassigned.text)")
      let connection = try RawConnection.tcp(port: port)
      var before = 0
      // What a server needs for its work it has after some thousand requests.
      for round in 0...300 {
        var requests = ""
        for number in 0..<50 {
          requests +=
            "GET /v1/products?id=com.example.a&locale=fr-FR-x-\(round)-\(number) HTTP/1.1\r\nHost: a\r\n\r\n"
        }
        try await connection.send(requests)
        for _ in 0..<50 { #expect(try await connection.receiveResponse().status == 200) }
        if round == 100 { before = try memory(of: daemon).now }
      }
      // Less than 400 bytes for each of them.
      let grown = try memory(of: daemon).now - before
      #expect(Sanitizer.isUsed || grown <= 15 << 18)
    }
  }
}
