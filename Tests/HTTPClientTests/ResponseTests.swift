import CoreTypes
import HTTPClient
import PullboxTesting
import Testing

struct ResponseTests {
  private func answer(_ response: String) async throws -> ClientResponse {
    try await withPeer([[.readRequest, .send(response)]]) { peer, client in
      try await client.send(.test(method: "GET", url: peer.url))
    }
  }

  @Test("a response comes with its status, its fields and its whole body")
  func whole() async throws {
    let response = try await answer(
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"x\"\r\nX-A: 1\r\nx-a: 2\r\n\r\nhello")
    #expect(response.status == 200)
    #expect(response.body == Array("hello".utf8))
    #expect(response.headers.map(\.name) == ["Content-Length", "ETag", "X-A", "x-a"])
    #expect(response.headers.values(of: "X-A") == ["1", "2"])
  }

  @Test("an error status is a result", arguments: [400, 402, 404, 409, 416, 500, 503])
  func errorStatus(status: Int) async throws {
    let response = try await answer("HTTP/1.1 \(status) No\r\nContent-Length: 2\r\n\r\n{}")
    #expect(response.status == status)
    #expect(response.body == Array("{}".utf8))
  }

  @Test("interim heads are not mistaken for the final one")
  func interim() async throws {
    let response = try await answer(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 99\r\n\r\n"
        + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    #expect(response.status == 200)
    #expect(response.headers["Link"] == nil)
    #expect(response.body == Array("ok".utf8))
  }

  @Test("a chunked body is put together, and its trailers are not fields of the head")
  func chunked() async throws {
    let response = try await answer(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nX-Trailer: t\r\n\r\n"
    )
    #expect(response.body == Array("abc0123456789".utf8))
    #expect(response.headers["X-Trailer"] == nil)
  }

  @Test("a body without a length goes on until the peer closes")
  func untilClose() async throws {
    let response = try await answer("HTTP/1.1 200 OK\r\n\r\nall of it")
    #expect(response.body == Array("all of it".utf8))
  }

  @Test("HEAD has a length and no body, whatever the bound of bodies")
  func head() async throws {
    try await withPeer([
      [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n")]
    ]) { peer, client in
      let response = try await client.send(.test(method: "HEAD", url: peer.url))
      #expect(response.head.contentLength == ByteCount(2_147_483_648))
      #expect(response.body == [])
      #expect(peer.requests[0].hasPrefix("HEAD / HTTP/1.1\r\n"))
    }
  }

  @Test("a partial answer tells its range, also one that starts before what was asked for")
  func partial() async throws {
    try await withPeer([
      [
        .readRequest,
        .send("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 4-7/8\r\nContent-Length: 4\r\n\r\nefgh"),
      ]
    ]) { peer, client in
      var request = ClientRequest.test(method: "GET", url: peer.url)
      request.headers = [("Range", "bytes=5-"), ("If-Range", "\"x\"")]
      let receiver = RecordingReceiver()
      let summary = try await client.stream(request, to: receiver)
      #expect(summary.head.status == 206)
      #expect(summary.head.contentRange == ContentRange(range: 4..<8, completeLength: 8))
      #expect(receiver.text == "efgh")
      #expect(summary.bytesReceived == ByteCount(4))
      #expect(peer.requests[0].components(of: "Range: bytes=5-") == 1)
      #expect(peer.requests[0].contains("If-Range: \"x\"\r\n"))
    }
  }

  @Test("a request says identity, and neither more nor less than it was given")
  func requestHead() async throws {
    try await withPeer([
      [.readRequest, .send("HTTP/1.1 204 No Content\r\n\r\n")]
    ]) { peer, client in
      var request = ClientRequest.test(method: "GET", url: peer.url + "v1/x?ticket=a%20b")
      request.headers = [("Authorization", "Bearer t"), ("X-Empty", "")]
      let response = try await client.send(request)
      #expect(response.status == 204)
      #expect(
        peer.requests == [
          """
          GET /v1/x?ticket=a%20b HTTP/1.1\r
          Host: 127.0.0.1:\(peer.port)\r
          User-Agent: pullbox\r
          Accept: */*\r
          Authorization: Bearer t\r
          X-Empty:\r
          Accept-Encoding: identity\r
          \r

          """
        ])
    }
  }
}

extension String {
  /// How often `part` occurs as a whole line.
  func components(of part: String) -> Int {
    split(separator: "\r\n").filter { $0 == part }.count
  }
}
