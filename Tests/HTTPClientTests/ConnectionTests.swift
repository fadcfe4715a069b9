import CoreTypes
import HTTPClient
import PullboxTesting
import ServiceRuntime
import Testing

struct ConnectionTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  @Test("a connection is kept and used again")
  func reuse() async throws {
    try await withPeer([
      [.readRequest, .send(Self.ok), .readRequest, .send(Self.ok), .readRequest, .send(Self.ok)]
    ]) { peer, client in
      let first = try await client.stream(.test(method: "GET", url: peer.url), to: RecordingReceiver())
      let second = try await client.stream(.test(method: "GET", url: peer.url), to: RecordingReceiver())
      _ = try await client.send(.test(method: "POST", url: peer.url))
      #expect(first.newConnections == 1)
      #expect(second.newConnections == 0)
      #expect(peer.connections == 1)
      #expect(peer.requests.count == 3)
    }
  }

  @Test("a request on a kept connection that is gone is sent again on a new one, body and all")
  func goneConnection() async throws {
    try await withPeer([
      [.readRequest, .send(Self.ok)], [.readRequest, .send(Self.ok)],
    ]) { peer, client in
      _ = try await client.send(.test(method: "GET", url: peer.url))
      var request = ClientRequest.test(method: "POST", url: peer.url)
      request.body = .bytes(Array("payload".utf8))
      let response = try await client.send(request)
      #expect(response.status == 200)
      #expect(peer.requests[1].hasSuffix("\r\n\r\npayload"))
    }
  }

  @Test("a refused response with a short body leaves its connection usable")
  func refusalKeepsConnection() async throws {
    try await withPeer([[.readRequest, .send(Self.ok), .readRequest, .send(Self.ok)]]) { peer, client in
      await #expect(throws: HTTPClientError.self) {
        try await client.stream(.test(method: "GET", url: peer.url), to: RecordingReceiver(.refuse))
      }
      _ = try await client.send(.test(method: "GET", url: peer.url))
      #expect(peer.connections == 1)
    }
  }

  @Test("a Unix socket is spoken to by its path, with the URL's host in the request")
  func unixSocket() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("socket")
    try await withPeer([[.readRequest, .send(Self.ok)]], unixSocket: path) { peer, client in
      var request = ClientRequest.test(method: "GET", url: "http://agent/v1/status")
      request.unixSocketPath = path
      let response = try await client.send(request)
      #expect(response.status == 200)
      #expect(peer.requests[0].hasPrefix("GET /v1/status HTTP/1.1\r\nHost: agent\r\n"))
    }
  }

  @Test("a Unix socket that is not there is a failed connection")
  func missingUnixSocket() async throws {
    let directory = try TemporaryDirectory()
    let client = try HTTPClient()
    var request = ClientRequest.test(method: "GET", url: "http://agent/")
    request.unixSocketPath = directory.path("unbound")
    let error = try await #require(throws: HTTPClientError.self) { try await client.send(request) }
    #expect(error.code == .connectionFailed)
    #expect(error.isRetryable)
    #expect(error.message == "nothing answers at the socket \(directory.path("unbound"))")
  }

  @Test("several transfers run side by side")
  func concurrency() async throws {
    let gate = Gate()
    try await withPeer([
      [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"), .pass(gate), .send("cd")]
    ]) { slow, client in
      let receiver = RecordingReceiver()
      async let first = client.stream(.test(method: "GET", url: slow.url), to: receiver)
      await receiver.firstByte.wait()
      try await withPeer([[.readRequest, .send(Self.ok)]]) { quick, _ in
        let response = try await client.send(.test(method: "GET", url: quick.url))
        #expect(response.status == 200)
      }
      gate.open()
      _ = try await first
      #expect(receiver.text == "abcd")
    }
  }

  @Test("events come as they are sent")
  func events() async throws {
    let gate = Gate()
    let receiver = RecordingReceiver()
    try await withPeer([
      [
        .readRequest,
        .send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"),
        .send("9\r\ndata: 1\n\n\r\n"), .pass(gate), .send("9\r\ndata: 2\n\n\r\n0\r\n\r\n"),
      ]
    ]) { peer, client in
      var request = ClientRequest.test(method: "GET", url: peer.url)
      request.lowSpeed = nil
      async let summary = client.stream(request, to: receiver)
      await receiver.firstByte.wait()
      #expect(receiver.text == "data: 1\n\n")
      gate.open()
      _ = try await summary
      #expect(receiver.text == "data: 1\n\ndata: 2\n\n")
    }
  }
}
