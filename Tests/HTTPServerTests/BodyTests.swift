import CoreTypes
import HTTPServer
import PullboxTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct BodyTests {
  @Test("a handler that does not read stops its client; when it reads, everything arrives")
  func backPressure() async throws {
    let gate = Gate()
    try await withServer(
      configure: { $0.bodyBufferLength = 65_536 },
      respond: { request in
        await gate.wait()
        var count = 0
        do {
          for try await bytes in request.body { count += bytes.count }
          return HTTPResponse(status: .ok, body: .bytes(Array("\(count)".utf8)))
        } catch {
          return HTTPResponse(status: .badRequest, body: .bytes(Array("\(error)".utf8)))
        }
      }
    ) { server in
      let connection = try server.connect()
      let length = 24 << 20
      try await connection.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n")
      let block = [UInt8](repeating: 1, count: 65_536)
      var sent = 0
      // The kernel's buffers of both sides hold a few MiB, the server's 64 KiB: far from all of it fits.
      while sent < length {
        let count = try await connection.sendWithoutWaiting(Array(block.prefix(length - sent)))
        if count == 0 { break }
        sent += count
      }
      #expect(sent < length)
      await gate.open()
      while sent < length {
        let count = min(block.count, length - sent)
        try await connection.send(Array(block.prefix(count)))
        sent += count
      }
      #expect(try await connection.receiveResponse().text == "\(length)")
    }
  }

  @Test("permission to send is given when the handler asks for the body, and not before")
  func expectContinue() async throws {
    try await withServer(respond: { request in
      guard request.path == "/wanted" else { return HTTPResponse(status: .forbidden) }
      do {
        return HTTPResponse(status: .ok, body: .bytes(try await request.body.collect(upTo: .kibibytes(1))))
      } catch {
        return HTTPResponse(status: .badRequest)
      }
    }) { server in
      let connection = try server.connect()
      let fields = "HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
      try await connection.send("PUT /wanted \(fields)")
      #expect(try await connection.receive(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
      try await connection.send("hello")
      #expect(try await connection.receiveResponse().text == "hello")

      try await connection.send("PUT /refused \(fields)")
      let refused = try await connection.receiveResponse()
      #expect(refused.status == 403)
      // It is not known whether the content still comes, so no request can follow.
      #expect(refused["Connection"] == "close")
      #expect(try await connection.receiveToEnd() == [])
    }
  }

  @Test("content that already comes needs no permission")
  func superfluousContinue() async throws {
    try await withServer(respond: echo) { server in
      let connection = try server.connect()
      try await connection.send(
        "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello")
      #expect(try await connection.receive(through: "\r\n").hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test("a small body that the handler ignored does not end the connection, a large one does")
  func unreadBodies() async throws {
    try await withServer(
      configure: { $0.bodyBufferLength = 16_384 }, respond: { _ in HTTPResponse(status: .noContent) }
    ) { server in
      let connection = try server.connect()
      try await connection.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 204)
      try await connection.send([UInt8](repeating: 0x47, count: 1000))
      try await connection.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n")
      let response = try await connection.receiveResponse()
      #expect(response.status == 204)
      #expect(response["Connection"] == "close")
    }
  }

  @Test("a body is never taken for a request")
  func poison() async throws {
    try await withServer(respond: { HTTPResponse(status: .ok, body: .bytes(Array($0.path.utf8))) }) {
      server in
      let connection = try server.connect()
      let inner = "GET /inner HTTP/1.1\r\nHost: h\r\n\r\n"
      for method in ["GET", "POST", "OPTIONS", "DELETE"] {
        try await connection.send(
          "\(method) /outer HTTP/1.1\r\nHost: h\r\nContent-Length: \(inner.utf8.count)\r\n\r\n\(inner)")
        #expect(try await connection.receiveResponse().text == "/outer")
      }
      try await connection.send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().text == "/next")
    }
  }

  @Test("trailers are not header fields")
  func trailers() async throws {
    try await withServer(respond: { request in
      do {
        let body = try await request.body.collect(upTo: .kibibytes(1))
        let host = request.headers["Host"] ?? ""
        return HTTPResponse(status: .ok, body: .bytes(body + Array(" \(host) \(request.headers.count)".utf8)))
      } catch {
        return HTTPResponse(status: .badRequest)
      }
    }) { server in
      let connection = try server.connect()
      try await connection.send(
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
          + "2\r\nok\r\n0\r\nHost: evil\r\nAuthorization: x\r\nContent-Length: 5\r\n\r\n")
      #expect(try await connection.receiveResponse().text == "ok h 2")
    }
  }

  @Test(
    "a body that breaks off, breaks its coding or stalls tells the handler which",
    arguments: [
      ("Transfer-Encoding: chunked", "5\r\nhel", true, RequestBodyError.Code.connectionClosed),
      ("Content-Length: 10", "hel", true, .connectionClosed),
      ("Transfer-Encoding: chunked", "5\r\nhelloX", false, .malformedChunk),
      ("Content-Length: 10", "hel", false, .timedOut),
      ("Transfer-Encoding: chunked", "ffffff\r\n" + String(repeating: "a", count: 30_000), false, .tooLarge),
    ])
  func brokenBodies(field: String, body: String, ends: Bool, code: RequestBodyError.Code) async throws {
    let seen = Locked<RequestBodyError.Code?>(nil)
    try await withServer(
      configure: {
        // Short only for what is to stall: the others may be slow, and are not to be late.
        if code == .timedOut { $0.bodyDeadline = .milliseconds(100) }
        $0.maximumBodyLength = ByteCount(20_000)
      },
      respond: { request in
        do throws(RequestBodyError) {
          _ = try await request.body.collect(upTo: .mebibytes(1))
          return HTTPResponse(status: .ok)
        } catch {
          seen.withLock { $0 = error.code }
          return HTTPResponse(status: .badRequest)
        }
      }
    ) { server in
      let connection = try server.connect()
      try await connection.send("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n\(body)")
      if ends { connection.endSending() }
      let response = try await connection.receiveResponse()
      #expect(response.status == 400)
      #expect(response["Connection"] == "close")
      #expect(seen.current == code)
      if !ends { connection.endSending() }
      #expect(try await connection.receiveToEnd() == [])
    }
  }

  @Test("an announced length beyond the bound is refused before a handler sees it")
  func announcedTooLarge() async throws {
    try await withServer(configure: { $0.maximumBodyLength = ByteCount(100) }, respond: echo) { server in
      let connection = try server.connect()
      try await connection.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 413)
    }
  }

  @Test("of two tasks that read one body at once, one is told that it may not, and the other has it whole")
  func twoReaders() async throws {
    let codes = Locked<[RequestBodyError.Code?]>([])
    try await withServer(
      respond: { request in
        await withTaskGroup(of: Void.self) { group in
          for _ in 0..<2 {
            group.addTask {
              var code: RequestBodyError.Code?
              do throws(RequestBodyError) {
                _ = try await request.body.collect(upTo: .mebibytes(1))
              } catch {
                code = error.code
              }
              codes.withLock { $0.append(code) }
            }
          }
        }
        return HTTPResponse(status: .ok)
      }
    ) { server in
      let connection = try server.connect()
      try await connection.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n")
      while codes.current.isEmpty { await server.server.ping() }
      #expect(codes.current == [.readTwice])
      try await connection.send("hello")
      #expect(try await connection.receiveResponse().status == 200)
      #expect(codes.current == [.readTwice, nil])
    }
  }
}

/// Answers with the request's body.
let echo: @Sendable (HTTPRequest) async -> HTTPResponse = { request in
  do {
    return HTTPResponse(status: .ok, body: .bytes(try await request.body.collect(upTo: .mebibytes(1))))
  } catch {
    return HTTPResponse(status: .badRequest)
  }
}

/// Holds tasks back until it is opened.
actor Gate {
  private var isOpen = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func open() {
    isOpen = true
    for continuation in waiting { continuation.resume() }
    waiting = []
  }

  func wait() async {
    if isOpen { return }
    await withCheckedContinuation { waiting.append($0) }
  }
}
