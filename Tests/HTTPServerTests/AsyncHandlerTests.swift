import CoreTypes
import HTTPServer
import PullboxTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct AsyncHandlerTests {
  @Test("a handler's answer comes back with its fields, its length and a date")
  func simpleAnswer() async throws {
    try await withServer(respond: { request in
      HTTPResponse(
        status: .ok, headers: ["Content-Type": "text/plain"],
        body: .bytes(Array("\(request.method) \(request.path) \(request.pathSegments)".utf8)))
    }) { server in
      let connection = try server.connect()
      try await connection.send("GET /a/b%20c?x=1 HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try await connection.receiveResponse()
      #expect(response.status == 200)
      #expect(response["Content-Type"] == "text/plain")
      #expect(response["Date"]?.hasSuffix(" GMT") == true)
      #expect(response.text == "GET /a/b%20c [\"a\", \"b c\"]")
    }
  }

  @Test("a connection is kept and requests sent ahead are answered in order")
  func pipelining() async throws {
    try await withServer(respond: { HTTPResponse(status: .ok, body: .bytes(Array($0.path.utf8))) }) {
      server in
      let connection = try server.connect()
      let requests = (0..<20).map { "GET /\($0) HTTP/1.1\r\nHost: h\r\n\r\n" }
      try await connection.send(requests.joined())
      for number in 0..<20 {
        #expect(try await connection.receiveResponse().text == "/\(number)")
      }
    }
  }

  @Test("a body comes in whole, announced or chunked", arguments: [false, true])
  func bodies(isChunked: Bool) async throws {
    try await withServer(respond: { request in
      do {
        return HTTPResponse(status: .ok, body: .bytes(try await request.body.collect(upTo: .mebibytes(4))))
      } catch {
        return HTTPResponse(status: .internalServerError, body: .bytes(Array("\(error)".utf8)))
      }
    }) { server in
      let connection = try server.connect()
      let content = [UInt8](repeating: 0x61, count: 1_000_000)
      for _ in 0..<2 {
        if isChunked {
          try await connection.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
          try await connection.send("f4240\r\n")
          try await connection.send(content)
          try await connection.send("\r\n0\r\n\r\n")
        } else {
          try await connection.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n")
          try await connection.send(content)
        }
        #expect(try await connection.receiveResponse().body == content)
      }
    }
  }
}
