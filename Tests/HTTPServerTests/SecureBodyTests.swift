import CLinux
import CoreTypes
import Glibc
import HTTPServer
import PullboxTesting
import SystemCalls
import Testing

/// Content in both directions through TLS, and the ends of sessions.
@Suite(.timeLimit(.minutes(10)))
struct SecureBodyTests {
  private let directory: TemporaryDirectory
  private static let content = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 % 251) }
  private let content = Self.content
  private let handler: FileHandler

  init() throws {
    directory = try TemporaryDirectory()
    let file = try FileDescriptor.open(directory.path("content"), .readWrite, options: .create)
    try file.write(Self.content.span, at: .zero)
    handler = FileHandler(file: try SharedDescriptor(file))
  }

  @Test("a file comes out as it went in, whole and in ranges, and the meter counts its bytes")
  func files() async throws {
    try await withSecureServer(inline: handler) { server in
      let connection = try await server.connect()
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      let whole = try await connection.receiveResponse()
      #expect(whole["Content-Length"] == "1000000")
      #expect(whole.body == content)
      // The bytes that the loop sent are counted before it answers the next request.
      try await connection.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 200)
      #expect(handler.meter.total == ByteCount(1_000_000))
      for (field, range) in [
        ("bytes=0-0", 0..<1), ("bytes=999999-", 999_999..<1_000_000), ("bytes=16383-16384", 16383..<16385),
        ("bytes=65536-131071", 65_536..<131_072), ("bytes=1-65537", 1..<65_538),
      ] {
        try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\nRange: \(field)\r\n\r\n")
        let response = try await connection.receiveResponse()
        #expect(response.status == 206)
        #expect(response.body == Array(content[range]))
      }
    }
  }

  @Test(
    "Strict-Transport-Security is in every response over TLS where it is asked for, and in none without TLS")
  func strictTransport() async throws {
    let targets = ["GET /file", "GET /other", "BAD"]
    try await withSecureServer(
      inline: handler, configure: { $0.tls?.strictTransport = .seconds(31_536_000) }
    ) { server in
      for target in targets {
        let connection = try await server.connect()
        try await connection.send("\(target) HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await connection.receiveResponse()["Strict-Transport-Security"] == "max-age=31536000")
        let plain = try RawConnection.tcp(port: server.plainPort)
        try await plain.send("\(target) HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await plain.receiveResponse()["Strict-Transport-Security"] == nil)
      }
    }
    try await withSecureServer(inline: handler) { server in
      let connection = try await server.connect()
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse()["Strict-Transport-Security"] == nil)
    }
  }

  @Test("ranges past 2^31 and 2^32 come from where they say")
  func farRanges() async throws {
    let file = try FileDescriptor.open(directory.path("sparse"), .readWrite, options: .create)
    let marks: [Int64] = [(1 << 31) - 2, (1 << 32) - 2]
    let mark: [UInt8] = [1, 2, 3, 4]
    for place in marks { try file.write(mark.span, at: ByteCount(place)) }
    let handler = FileHandler(file: try SharedDescriptor(file))
    try await withSecureServer(inline: handler) { server in
      let connection = try await server.connect()
      for place in marks {
        try await connection.send(
          "GET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=\(place - 1)-\(place + 3)\r\n\r\n")
        #expect(try await connection.receiveResponse().body == [0] + mark)
      }
    }
  }

  @Test("a reader that takes little at a time gets every byte", arguments: [Int32(0x304), 0x303])
  func slowReader(version: Int32) async throws {
    try await withSecureServer(
      inline: handler,
      configure: {
        $0.notSentLowWater = 16_384
        $0.turnLength = 65_536
      }
    ) { server in
      var options = SecureConnection.Options()
      options.maximumVersion = version
      let connection = try await server.connect(receiveBuffer: 4096, options)
      for _ in 0..<3 { try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n") }
      for _ in 0..<3 {
        let head = try await connection.receive(through: "\r\n\r\n")
        #expect(head.hasPrefix("HTTP/1.1 200"))
        var body: [UInt8] = []
        while body.count < content.count {
          body += try await connection.receive(upTo: min(997, content.count - body.count))
        }
        #expect(body == content)
      }
    }
  }

  @Test("requests whose records come byte by byte, and many requests in one record, are answered")
  func framing() async throws {
    try await withSecureServer(inline: handler, respond: echo) { server in
      let connection = try await server.connect()
      let request = Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
      for byte in try connection.seal(request) { try await connection.plain.send([byte]) }
      #expect(try await connection.receiveResponse().status == 200)
      // Each byte in a record of its own.
      for byte in request { try await connection.send([byte]) }
      #expect(try await connection.receiveResponse().status == 200)
      try await connection.send([UInt8]((0..<40).flatMap { _ in request }))
      for _ in 0..<40 { #expect(try await connection.receiveResponse().status == 200) }
    }
  }

  @Test("an unread upload stops the client, and comes through whole once it is read")
  func upload() async throws {
    let begun = Gate()
    let gate = Gate()
    let length = 8_000_000
    try await withSecureServer(
      configure: { $0.bodyBufferLength = 65_536 },
      respond: { request in
        await begun.open()
        await gate.wait()
        var sum = 0
        var count = 0
        do {
          for try await bytes in request.body {
            count += bytes.count
            for byte in bytes { sum &+= Int(byte) }
          }
        } catch {
          return HTTPResponse(status: .badRequest)
        }
        return HTTPResponse(status: .ok, body: .bytes(Array("\(count) \(sum)".utf8)))
      }
    ) { server in
      let connection = try await server.connect()
      try await connection.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n")
      await begun.wait()
      let body = (0..<length).map { UInt8(truncatingIfNeeded: $0 % 253) }
      var rest = try connection.seal(body)[...]
      // Until the server has stopped reading and the kernel's buffers are full.
      while true {
        let sent = try await connection.plain.sendWithoutWaiting(Array(rest.prefix(65_536)))
        if sent == 0 { break }
        rest = rest.dropFirst(sent)
      }
      #expect(!rest.isEmpty)
      await gate.open()
      try await connection.plain.send(Array(rest))
      let response = try await connection.receiveResponse()
      #expect(response.text == "\(length) \(body.reduce(0) { $0 + Int($1) })")
    }
  }

  @Test("new keys in the middle of a connection change nothing else")
  func keyUpdate() async throws {
    try await withSecureServer(inline: handler) { server in
      let connection = try await server.connect()
      for _ in 0..<3 {
        connection.updateKeys()
        try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await connection.receiveResponse().body == content)
      }
    }
  }

  @Test("a response that ends the connection is followed by close_notify")
  func serverEnds() async throws {
    try await withSecureServer(respond: echo) { server in
      let connection = try await server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 200)
      #expect(try await connection.receiveToEnd() == [])
      #expect(connection.hasReceivedEnd)
    }
  }

  @Test(
    "requests of a client that has said close_notify, or closed its half, are answered",
    arguments: [false, true])
  func clientEnds(inOrder: Bool) async throws {
    try await withSecureServer(respond: { HTTPResponse(status: .ok, body: .bytes(Array($0.path.utf8))) }) {
      server in
      let connection = try await server.connect()
      try await connection.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
      if inOrder { try await connection.end() } else { connection.plain.endSending() }
      #expect(try await connection.receiveResponse().text == "/a")
      #expect(try await connection.receiveResponse().text == "/b")
      #expect(try await connection.receiveToEnd() == [])
      #expect(connection.hasReceivedEnd)
    }
  }

  @Test("a body that breaks off is not ended in order")
  func brokenBody() async throws {
    let file = try FileDescriptor.open(directory.path("short"), .readWrite, options: .create)
    try file.write(Self.content.span, at: .zero)
    let shared = try SharedDescriptor(file)
    let handler = FileHandler(file: shared)
    #expect(unsafe truncate(directory.path("short"), 100_000) == 0)
    try await withSecureServer(inline: handler) { server in
      let connection = try await server.connect()
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await connection.receive(through: "\r\n\r\n")
      let body = try await connection.receiveToEnd()
      #expect(body == Array(content.prefix(body.count)))
      #expect(body.count <= 100_000)
      #expect(!connection.hasReceivedEnd)
    }
  }

  @Test("a record that was tampered with ends the connection, and no handler sees its content")
  func tampering() async throws {
    let paths = Locked<[String]>([])
    try await withSecureServer(respond: { request in
      paths.withLock { $0.append(request.path) }
      return HTTPResponse(status: .ok)
    }) { server in
      let connection = try await server.connect()
      var record = try connection.seal(Array("GET /a HTTP/1.1\r\nHost: h\r\n\r\n".utf8))
      record[record.count - 1] ^= 1
      try await connection.plain.send(record)
      await #expect(throws: (any Error).self) { _ = try await connection.receiveResponse() }
      #expect(paths.current == [])
    }
  }
}
