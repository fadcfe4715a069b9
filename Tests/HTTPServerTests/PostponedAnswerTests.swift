import CoreTypes
import HTTPServer
import PullboxTesting
import Testing

@Suite("Answers that are postponed", .timeLimit(.minutes(5)))
struct PostponedAnswerTests {
  /// Is over when a test, or the server, says so.
  private final class Wait: ResponsePostponement {
    private struct State {
      var resume: (@Sendable () -> Void)?
      var isOver = false
    }

    let wasCancelled = Locked(false)
    private let state = Locked(State())

    var isWaiting: Bool { state.withLock { $0.resume != nil } }

    func begin(_ resume: @escaping @Sendable () -> Void) {
      let isOver = state.withLock { state in
        if !state.isOver { state.resume = resume }
        return state.isOver
      }
      if isOver { resume() }
    }

    func end() {
      let resume = state.withLock { state in
        state.isOver = true
        return state.resume.take()
      }
      resume?()
    }

    func cancel() {
      wasCancelled.withLock { $0 = true }
      end()
    }
  }

  /// Answers what it was asked the second time.
  @Sendable private static func postpone(_ request: HTTPRequest, by wait: Wait) -> HTTPResponse {
    if request.postponement as? Wait === wait {
      return HTTPResponse(status: .ok, body: .bytes(Array("later: \(request.path)".utf8)))
    }
    var response = HTTPResponse(status: .noContent)
    response.postponement = wait
    return response
  }

  @Test("nothing is sent until the wait is over; then the handler is asked again, and the connection is kept")
  func later() async throws {
    let wait = Wait()
    try await withServer(respond: { request in
      request.path == "/now" ? HTTPResponse(status: .noContent) : Self.postpone(request, by: wait)
    }) { server in
      let connection = try server.connect()
      try await connection.send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n")
      while !wait.isWaiting { await Task.yield() }
      wait.end()
      let response = try await connection.receiveResponse()
      #expect(response.status == 200 && response.text == "later: /later")
      #expect(!wait.wasCancelled.current)
      try await connection.send("GET /now HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 204)
    }
  }

  @Test("a wait that is over before the handler's task has ended is answered at once")
  func atOnce() async throws {
    let wait = Wait()
    wait.end()
    try await withServer(respond: { Self.postpone($0, by: wait) }) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().text == "later: /")
    }
  }

  @Test("the task of a handler that is asked again is cancelled when its peer goes")
  func goneAtTheSecond() async throws {
    let wait = Wait()
    let (isAsked, wasCancelled) = (Locked(false), Locked(false))
    try await withServer(respond: { request in
      guard request.postponement != nil else { return Self.postpone(request, by: wait) }
      isAsked.withLock { $0 = true }
      while !Task.isCancelled { await Task.yield() }
      wasCancelled.withLock { $0 = true }
      return HTTPResponse(status: .noContent)
    }) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      while !wait.isWaiting { await Task.yield() }
      wait.end()
      while !isAsked.current { await Task.yield() }
      connection.reset()
      while !wasCancelled.current { await Task.yield() }
    }
  }

  @Test("the wait of a peer that has gone is cancelled, and another's goes on")
  func gone() async throws {
    let (first, second) = (Wait(), Wait())
    try await withServer(respond: { request in
      Self.postpone(request, by: request.path == "/1" ? first : second)
    }) { server in
      do {
        let connection = try server.connect()
        try await connection.send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n")
        while !first.isWaiting { await Task.yield() }
        connection.reset()
      }
      while !first.wasCancelled.current { await Task.yield() }
      let connection = try server.connect()
      try await connection.send("GET /2 HTTP/1.1\r\nHost: h\r\n\r\n")
      while !second.isWaiting { await Task.yield() }
      #expect(!second.wasCancelled.current)
      second.end()
      #expect(try await connection.receiveResponse().text == "later: /2")
    }
  }
}
