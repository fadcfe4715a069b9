import CoreTypes
import HTTPClient
import PullboxTesting
import Testing

struct RefusalTests {
  private func refusal(_ response: String) async throws -> (HTTPClientError, RecordingReceiver) {
    let receiver = RecordingReceiver(.refuse)
    let error = try await withPeer([[.readRequest, .send(response), .untilClosed]]) { peer, client in
      try await #require(throws: HTTPClientError.self) {
        try await client.stream(.test(method: "GET", url: peer.url), to: receiver)
      }
    }
    return (error, receiver)
  }

  @Test("a response refused by its head ends with the head and the body that says why")
  func refused() async throws {
    let (error, receiver) = try await refusal(
      "HTTP/1.1 403 Forbidden\r\nContent-Type: application/problem+json\r\nContent-Length: 2\r\n\r\n{}")
    #expect(error.code == .refused)
    #expect(!error.isRetryable)
    #expect(error.head?.status == 403)
    #expect(error.head?.headers["content-type"] == "application/problem+json")
    #expect(error.body == Array("{}".utf8))
    #expect(error.bytesReceived == .zero)
    #expect(receiver.bytes == [])
  }

  @Test("of a refused body no more than 64 KiB is kept, and no more is waited for")
  func bounded() async throws {
    let (error, receiver) = try await refusal(
      "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + String(repeating: "x", count: 70_000))
    #expect(error.code == .refused)
    #expect(error.body == [UInt8](repeating: 0x78, count: 65_536))
    #expect(receiver.bytes == [])
  }

  @Test("a refused body that breaks off is still a refusal")
  func broken() async throws {
    let receiver = RecordingReceiver(.refuse)
    try await withPeer([
      [.readRequest, .send("HTTP/1.1 410 Gone\r\nContent-Length: 10\r\n\r\nabc")]
    ]) { peer, client in
      let error = try await #require(throws: HTTPClientError.self) {
        try await client.stream(.test(method: "GET", url: peer.url), to: receiver)
      }
      #expect(error.code == .refused)
      #expect(error.body == Array("abc".utf8))
    }
  }

  @Test("a receiver that wants no more ends the transfer")
  func stopped() async throws {
    let receiver = RecordingReceiver { _ in .stop }
    try await withPeer([
      [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .untilClosed]
    ]) { peer, client in
      let error = try await #require(throws: HTTPClientError.self) {
        try await client.stream(.test(method: "GET", url: peer.url), to: receiver)
      }
      #expect(error.code == .stopped)
      #expect(error.bytesReceived == .zero)
    }
  }
}
