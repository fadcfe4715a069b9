import CoreTypes
import HTTPClient
import PullboxTesting
import ServiceRuntime
import Testing

struct FailureTests {
  private func failure(
    _ script: [ScriptedPeer.Step], _ change: (inout ClientRequest) -> Void = { _ in }
  ) async throws -> HTTPClientError {
    try await withPeer([script]) { peer, client in
      var request = ClientRequest.test(method: "GET", url: peer.url)
      change(&request)
      return try await #require(throws: HTTPClientError.self) { try await client.send(request) }
    }
  }

  @Test("a body that ends early is a lost connection that tells how much came")
  func truncated() async throws {
    let error = try await failure([
      .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789"),
    ])
    #expect(error.code == .connectionLost)
    #expect(error.isRetryable)
    #expect(error.bytesReceived == ByteCount(10))
    #expect(error.head?.contentLength == ByteCount(100))
  }

  @Test("a chunked body without its last chunk is a lost connection")
  func truncatedChunks() async throws {
    let error = try await failure([
      .readRequest, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
    ])
    #expect(error.code == .connectionLost)
    #expect(error.bytesReceived == ByteCount(5))
  }

  @Test("a reset in the middle of a body is a lost connection")
  func reset() async throws {
    let gate = Gate()
    let receiver = RecordingReceiver()
    try await withPeer([
      [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"), .pass(gate), .reset]
    ]) { peer, client in
      async let failure = client.failure(.test(method: "GET", url: peer.url), to: receiver)
      await receiver.firstByte.wait()
      gate.open()
      let error = await failure
      #expect(error?.code == .connectionLost)
      #expect(error?.bytesReceived == ByteCount(3))
      #expect(error?.isRetryable == true)
    }
  }

  @Test("a peer that closes without an answer is a lost connection")
  func nothing() async throws {
    let error = try await failure([.readRequest])
    #expect(error.code == .connectionLost)
    #expect(error.isRetryable)
    #expect(error.head == nil)
  }

  @Test("a port where no process listens is a failed connection, to be tried again")
  func refusedConnection() async throws {
    let port = try ScriptedPeer([]).port
    let client = try HTTPClient()
    let error = try await #require(throws: HTTPClientError.self) {
      try await client.send(.test(method: "GET", url: "http://127.0.0.1:\(port)/"))
    }
    #expect(error.code == .connectionFailed)
    #expect(!error.wasConnected)
    #expect(error.isRetryable)
  }

  @Test(
    "what does not speak HTTP violates the protocol", arguments: ["SSH-2.0-OpenSSH\r\n", "\r\n\r\n", "hello"])
  func otherProtocol(greeting: String) async throws {
    let error = try await failure([.readRequest, .send(greeting)])
    #expect(error.code == .protocolViolation)
    #expect(!error.isRetryable)
  }

  @Test("a body longer than its bound is refused by its announced length")
  func tooLargeByLength() async throws {
    let error = try await failure([
      .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n"), .untilClosed,
    ])
    #expect(error.code == .tooLarge)
    #expect(error.bytesReceived == .zero)
    #expect(error.head?.status == 200)
  }

  @Test("a body that says no length is cut at its bound")
  func tooLargeByBytes() async throws {
    let error = try await failure([
      .readRequest, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n"),
      .untilClosed,
    ]) { $0.maximumResponseLength = ByteCount(5) }
    #expect(error.code == .tooLarge)
  }

  @Test("a body of exactly its bound passes")
  func exactlyTheBound() async throws {
    try await withPeer([
      [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")]
    ]) { peer, client in
      var request = ClientRequest.test(method: "GET", url: peer.url)
      request.maximumResponseLength = ByteCount(5)
      let response = try await client.send(request)
      #expect(response.body.count == 5)
    }
  }

  @Test("a transfer longer than its total time-out is timed out, to be tried again")
  func totalTimeout() async throws {
    let error = try await failure([.readRequest, .untilClosed]) { $0.totalTimeout = .milliseconds(50) }
    #expect(error.code == .timedOut)
    #expect(error.isRetryable)
    #expect(error.wasConnected)
  }

  @Test("a transfer that stalls is timed out, to be tried again")
  func stalled() async throws {
    let error = try await failure([
      .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"), .untilClosed,
    ]) { $0.lowSpeed = .init(bytesPerSecond: ByteCount(100), duration: .seconds(1)) }
    #expect(error.code == .timedOut)
    #expect(error.isRetryable)
  }
}
