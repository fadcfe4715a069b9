import HTTPClient
import PullboxTesting
import Testing

struct RedirectTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  private static func redirect(to location: String) -> String {
    "HTTP/1.1 302 Found\r\nLocation: \(location)\r\nX-Old: yes\r\nContent-Length: 5\r\n\r\nmoved"
  }

  @Test("a redirect is a result unless redirects are asked for")
  func notFollowed() async throws {
    try await withPeer([[.readRequest, .send(Self.redirect(to: "/there"))]]) { peer, client in
      let response = try await client.send(.test(method: "GET", url: peer.url))
      #expect(response.status == 302)
      #expect(response.headers["Location"] == "/there")
      #expect(response.body == Array("moved".utf8))
    }
  }

  @Test("a followed redirect's head and body are not the response's")
  func followed() async throws {
    try await withPeer([
      [.readRequest, .send(Self.redirect(to: "/there")), .readRequest, .send(Self.ok)]
    ]) { peer, client in
      var request = ClientRequest.test(method: "GET", url: peer.url)
      request.maximumRedirects = 1
      let receiver = RecordingReceiver()
      let summary = try await client.stream(request, to: receiver)
      #expect(summary.head.status == 200)
      #expect(summary.head.headers["X-Old"] == nil)
      #expect(summary.redirects == 1)
      #expect(receiver.text == "ok")
      #expect(peer.requests[1].hasPrefix("GET /there HTTP/1.1\r\n"))
    }
  }

  @Test(
    "a redirect to anything but HTTP is not followed", arguments: ["file:///etc/passwd", "ftp://127.0.0.1/x"])
  func otherProtocol(location: String) async throws {
    try await withPeer([[.readRequest, .send(Self.redirect(to: location))]]) { peer, client in
      var request = ClientRequest.test(method: "GET", url: peer.url)
      request.maximumRedirects = 3
      let receiver = RecordingReceiver()
      let error = try await #require(throws: HTTPClientError.self) {
        try await client.stream(request, to: receiver)
      }
      #expect(error.code == .protocolViolation)
      #expect(receiver.bytes == [])
    }
  }

  @Test("credentials do not follow a redirect to another origin")
  func credentials() async throws {
    try await withPeer([[.readRequest, .send(Self.ok)]]) { other, _ in
      try await withPeer([[.readRequest, .send(Self.redirect(to: other.url))]]) { peer, client in
        var request = ClientRequest.test(method: "GET", url: peer.url)
        request.maximumRedirects = 1
        request.headers = [("Authorization", "Bearer secret"), ("Cookie", "a=secret")]
        let response = try await client.send(request)
        #expect(response.status == 200)
        #expect(peer.requests[0].contains("Bearer secret"))
        #expect(!other.requests[0].contains("secret"))
      }
    }
  }

  @Test("more redirects than asked for are an error")
  func tooMany() async throws {
    try await withPeer([
      [.readRequest, .send(Self.redirect(to: "/a")), .readRequest, .send(Self.redirect(to: "/b"))]
    ]) { peer, client in
      var request = ClientRequest.test(method: "GET", url: peer.url)
      request.maximumRedirects = 1
      let error = try await #require(throws: HTTPClientError.self) { try await client.send(request) }
      #expect(error.code == .tooManyRedirects)
    }
  }

  @Test("a request that changes something never follows")
  func unsafeMethod() async throws {
    try await withPeer([[.readRequest, .send(Self.redirect(to: "/there"))]]) { peer, client in
      var request = ClientRequest.test(method: "POST", url: peer.url)
      request.maximumRedirects = 5
      let response = try await client.send(request)
      #expect(response.status == 302)
    }
  }
}
