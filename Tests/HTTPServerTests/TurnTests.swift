import CoreTypes
import Dispatch
import HTTPParsing
import HTTPServer
import PullboxTesting
import Synchronization
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

  /// Every look at it takes ten microseconds.
  private final class BusyClock: MonotonicClock {
    private let nanoseconds = Atomic<UInt64>(1_000_000_000)

    func now() -> MonotonicInstant {
      MonotonicInstant(nanoseconds: nanoseconds.add(10_000, ordering: .relaxed).newValue)
    }

    func sleep(for duration: Duration) async throws { throw CancellationError() }
  }

  @Test("a client that asks a thousand things at once is answered a few, then the others have their turn")
  func pipelining() async throws {
    let recorder = Recorder()
    try await withServer(inline: recorder, clock: BusyClock()) { server in
      let holder = try server.connect()
      let greedy = try server.connect()
      let modest = try server.connect()
      for connection in [greedy, modest] {
        try await connection.send("GET /first HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await connection.receiveResponse().status == 204)
      }
      try await holder.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n")
      await recorder.begun.wait()
      try await greedy.send(String(repeating: "GET /greedy HTTP/1.1\r\nHost: h\r\n\r\n", count: 1000))
      try await modest.send("GET /modest HTTP/1.1\r\nHost: h\r\n\r\n")
      recorder.gate.signal()
      for _ in 0..<1000 { #expect(try await greedy.receiveResponse().status == 204) }
      #expect(try await modest.receiveResponse().status == 204)
      let before = recorder.paths.current.prefix { $0 != "/modest" }.filter { $0 == "/greedy" }
      #expect(before.count <= 20)
    }
  }
}
