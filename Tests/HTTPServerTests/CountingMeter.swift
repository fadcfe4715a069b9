import CoreTypes
import HTTPParsing
import HTTPServer
import PullboxTesting
import SystemCalls

/// Counts what a meter is told, and lets a test wait for the end of bodies.
final class CountingMeter: BodyMeter {
  struct Counts: Hashable {
    var begun = 0
    var sent = 0
    var ended = 0
  }

  private struct State {
    var counts = Counts()
    var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Locked(State())
  private let share = Locked<UInt64?>(nil)

  var pace: UInt64? { share.current }

  /// Sets the rate that a paced body goes on with.
  func setPace(_ bytesPerSecond: UInt64) { share.withLock { $0 = bytesPerSecond } }

  var counts: Counts { state.withLock { $0.counts } }

  func didBegin() { state.withLock { $0.counts.begun += 1 } }
  func didSend(_ count: Int) { state.withLock { $0.counts.sent += count } }

  func didEnd() {
    state.withLock { state in
      state.counts.ended += 1
      for waiter in state.waiting where waiter.count <= state.counts.ended { waiter.continuation.resume() }
      state.waiting.removeAll { $0.count <= state.counts.ended }
    }
  }

  func waitForEnds(_ count: Int) async {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        if state.counts.ended >= count {
          continuation.resume()
        } else {
          state.waiting.append((count, continuation))
        }
      }
    }
  }
}

/// Serves one file with a meter, inline or not: `/file`, `/other` (with another meter), `/paced` (at 1
/// MiB/s), and answers without it at `/count` and `/unmodified`.
struct MeteredFile: InlineHandler, AsyncHandler {
  let file: SharedDescriptor
  let meter: CountingMeter
  let other: CountingMeter
  let isInline: Bool

  func makeConnectionState() {}

  func respond(
    head: borrowing RequestHead, bytes: Span<UInt8>, state: inout Void, response: inout InlineResponse
  ) -> InlineOutcome {
    let path = String(decoding: head.path.map { bytes[$0] }, as: UTF8.self)
    let text = Array("text".utf8)
    switch path {
    case "/count":
      response.start(.ok)
      response.finish(bytes: text.span)
    case "/unmodified":
      response.start(.notModified)
      response.finish()
    case "/file" where isInline, "/other" where isInline, "/paced" where isInline:
      response.start(.ok)
      if path == "/paced" { response.pace(bytesPerSecond: 1 << 20) }
      response.finish(file: file, range: 0..<file.length.rawValue, meter: path == "/other" ? other : meter)
    default: return .deferToAsync
    }
    return .answered
  }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    guard ["/file", "/other", "/paced"].contains(request.path) else {
      return HTTPResponse(status: .ok, body: .bytes(Array("text".utf8)))
    }
    var response = HTTPResponse(
      status: .ok,
      body: .file(file, 0..<file.length.rawValue, meter: request.path == "/other" ? other : meter))
    if request.path == "/paced" { response.pacing = 1 << 20 }
    return response
  }
}

/// Runs `body` with a server of one file of zeros, `length` bytes long.
func withFile(
  _ meter: CountingMeter, isInline: Bool, other: CountingMeter = CountingMeter(), length: Int = 1_000_000,
  loops: Int = 1, clock: any MonotonicClock = SystemMonotonicClock(),
  configure: (inout HTTPServerConfiguration) -> Void = { _ in },
  _ body: (TestServer, Int) async throws -> Void
) async throws {
  let directory = try TemporaryDirectory()
  let descriptor = try FileDescriptor.open(directory.path("content"), .readWrite, options: .create)
  try descriptor.truncate(to: ByteCount(length))
  let handler = MeteredFile(
    file: try SharedDescriptor(descriptor), meter: meter, other: other, isInline: isInline)
  try await withServer(
    inline: handler, clock: clock,
    configure: {
      $0.loops = loops
      configure(&$0)
    }, respond: { await handler.respond(to: $0) }
  ) { try await body($0, length) }
}
