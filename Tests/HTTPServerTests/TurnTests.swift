import Dispatch
import HTTPServer
import PullboxTesting
import Testing

@Suite("The order in which a loop serves its connections", .timeLimit(.minutes(10)))
struct TurnTests {
  /// Answers every request, notes its path, and stands still at `/hold` until the gate opens.
  private struct Recorder: InlineHandler {
    let paths = Locked<[String]>([])
    let begun = Gate()
    let gate = DispatchSemaphore(value: 0)

    func makeConnectionState() {}

    func respond(
      head: borrowing RequestHead, bytes: Span<UInt8>, state: inout Void, response: inout InlineResponse
    ) -> InlineOutcome {
      let path = String(decoding: head.path.map { bytes[$0] }, as: UTF8.self)
      paths.withLock { $0.append(path) }
      if path == "/hold" {
        Task { await begun.open() }
        gate.wait()
      }
      response.start(.noContent)
      response.finish()
      return .answered
    }
  }

  @Test("a request is answered before content that arrived earlier is read")
  func requestsFirst() async throws {
    let recorder = Recorder()
    try await withServer(inline: recorder, respond: { _ in HTTPResponse(status: .ok) }) { server in
      // Answered without its content, which is dropped when it comes.
      let sender = try server.connect()
      try await sender.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n")
      #expect(try await sender.receiveResponse().status == 200)
      let asker = try server.connect()
      try await asker.send("GET /first HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await asker.receiveResponse().status == 204)

      let holder = try server.connect()
      try await holder.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n")
      await recorder.begun.wait()
      // Both wait for the loop now, the content first.
      try await sender.send("abcdGET /behind-content HTTP/1.1\r\nHost: h\r\n\r\n")
      try await asker.send("GET /request HTTP/1.1\r\nHost: h\r\n\r\n")
      recorder.gate.signal()
      for connection in [holder, sender, asker] {
        #expect(try await connection.receiveResponse().status == 204)
      }
      #expect(recorder.paths.current == ["/first", "/hold", "/request", "/behind-content"])
    }
  }
}
