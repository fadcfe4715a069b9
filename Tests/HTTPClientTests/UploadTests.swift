import CoreTypes
import Files
import HTTPClient
import PullboxTesting
import Synchronization
import SystemCalls
import Testing

struct UploadTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  @Test(
    "bytes are sent with their length and without asking first",
    arguments: ["POST", "PUT", "PATCH", "DELETE"])
  func bytes(method: String) async throws {
    try await withPeer([[.readRequest, .send(Self.ok)]]) { peer, client in
      var request = ClientRequest.test(method: method, url: peer.url)
      request.headers = [("Content-Type", "application/json")]
      request.body = .bytes(Array("{\"a\":1}".utf8))
      let response = try await client.send(request)
      #expect(response.status == 200)
      let sent = peer.requests[0]
      #expect(sent.hasPrefix("\(method) / HTTP/1.1\r\n"))
      #expect(sent.contains("\r\nContent-Length: 7\r\n"))
      #expect(sent.contains("\r\nContent-Type: application/json\r\n"))
      #expect(!sent.contains("Expect"))
      #expect(!sent.contains("Transfer-Encoding"))
      #expect(sent.hasSuffix("\r\n\r\n{\"a\":1}"))
    }
  }

  @Test(
    "a body in memory arrives whole and is counted, whether it leaves with its head or in parts",
    arguments: [0, 1, 16_384, 65_535, 65_536, 300_000])
  func lengths(length: Int) async throws {
    let bytes = (0..<length).map { UInt8(0x61 + $0 % 26) }
    try await withPeer([[.readRequest, .send(Self.ok), .readRequest, .send(Self.ok)]]) { peer, client in
      for _ in 0..<2 {
        var request = ClientRequest.test(method: "POST", url: peer.url)
        request.body = .bytes(bytes)
        let summary = try await client.stream(request, to: RecordingReceiver())
        #expect(summary.bytesSent == ByteCount(length))
      }
      for sent in peer.requests {
        #expect(sent.contains("\r\nContent-Length: \(length)\r\n"))
        #expect(!sent.contains("Content-Type"))
        #expect(sent.utf8.suffix(length).elementsEqual(bytes))
      }
      #expect(peer.connections == 1)
    }
  }

  @Test("methods that anticipate a body say that there is none", arguments: ["POST", "PUT", "PATCH"])
  func noBody(method: String) async throws {
    try await withPeer([[.readRequest, .send(Self.ok)]]) { peer, client in
      let response = try await client.send(.test(method: method, url: peer.url))
      #expect(response.status == 200)
      #expect(peer.requests[0].contains("\r\nContent-Length: 0\r\n"))
      #expect(!peer.requests[0].contains("Content-Type"))
    }
  }

  private func file(_ directory: TemporaryDirectory, _ length: Int) throws -> (String, [UInt8]) {
    let path = directory.path("file")
    let bytes = (0..<length).map { UInt8(0x61 + $0 % 26) }
    try DurableFile.write(bytes.span, to: path)
    return (path, bytes)
  }

  @Test("a range of a file is sent, its progress told to the end")
  func fileRange() async throws {
    let directory = try TemporaryDirectory()
    let (path, bytes) = try file(directory, 300_000)
    let progress = Mutex<[ByteCount]>([])
    let seen: @Sendable (ByteCount) -> Void = { count in progress.withLock { $0.append(count) } }
    try await withPeer([[.readRequest, .send(Self.ok)]]) { peer, client in
      var request = ClientRequest.test(method: "PATCH", url: peer.url)
      request.body = .file(try UploadFile(path: path), 1000..<299_000, progress: seen)
      let receiver = RecordingReceiver()
      let summary = try await client.stream(request, to: receiver)
      #expect(summary.bytesSent == ByteCount(298_000))
      #expect(peer.requests[0].contains("\r\nContent-Length: 298000\r\n"))
      #expect(peer.requests[0].utf8.suffix(298_000).elementsEqual(bytes[1000..<299_000]))
      let counts = progress.withLock { $0 }
      #expect(counts == counts.sorted())
      #expect(counts.last == ByteCount(298_000))
    }
  }

  @Test("a body above 1 MiB asks first, and is not sent when the answer is no")
  func expectation() async throws {
    let directory = try TemporaryDirectory()
    let (path, _) = try file(directory, 1_048_577)
    try await withPeer([
      [
        .readHead,
        .send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"),
      ]
    ]) { peer, client in
      var request = ClientRequest.test(method: "PUT", url: peer.url)
      request.body = .file(try UploadFile(path: path), 0..<1_048_577)
      let receiver = RecordingReceiver()
      let summary = try await client.stream(request, to: receiver)
      #expect(summary.head.status == 413)
      #expect(summary.bytesSent == .zero)
      #expect(receiver.text == "no")
      #expect(peer.requests[0].contains("\r\nExpect: 100-continue\r\n"))
    }
  }

  @Test("a body above 1 MiB is sent once the peer says to go on")
  func continuation() async throws {
    let directory = try TemporaryDirectory()
    let (path, bytes) = try file(directory, 1_048_577)
    try await withPeer([
      [.readHead, .send("HTTP/1.1 100 Continue\r\n\r\n"), .readBytes(1_048_577), .send(Self.ok)]
    ]) { peer, client in
      var request = ClientRequest.test(method: "PUT", url: peer.url)
      request.body = .file(try UploadFile(path: path), 0..<1_048_577)
      let response = try await client.send(request)
      #expect(response.status == 200)
      #expect(peer.requests[1].utf8.elementsEqual(bytes))
    }
  }

  @Test("a file that is shorter than its range fails as unreadable")
  func shortFile() async throws {
    let directory = try TemporaryDirectory()
    let (path, _) = try file(directory, 10)
    try await withPeer([[.readRequest]]) { peer, client in
      var request = ClientRequest.test(method: "PUT", url: peer.url)
      request.body = .file(try UploadFile(path: path), 0..<11)
      let error = try await #require(throws: HTTPClientError.self) { try await client.send(request) }
      #expect(error.code == .unreadableBody)
      #expect(!error.isRetryable)
    }
  }
}
