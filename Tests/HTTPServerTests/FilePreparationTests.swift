import CoreTypes
import HTTPParsing
import HTTPServer
import PullboxTesting
import Testing

/// Responses that begin once the first byte of their file is there.
@Suite("Files that are waited for before the head", .timeLimit(.minutes(5)))
struct FilePreparationTests {
  private let presence: ScriptedPresence

  init() throws {
    presence = try ScriptedPresence(length: 500_000)
  }

  private func withServer(_ body: (TestServer) async throws -> Void) async throws {
    let file = try presence.makeFile()
    try await HTTPServerTests.withServer(respond: { request in
      guard case .single(let range) = RangeSet.requested(request, length: file.length.rawValue) else {
        return HTTPResponse(status: .notFound)
      }
      do throws(FilePresenceError) {
        try await file.prepare(range)
        return HTTPResponse(status: .partialContent, body: .file(file, range))
      } catch {
        let seconds = error.retryAfter?.components.seconds ?? 1
        return HTTPResponse(status: .serviceUnavailable, headers: ["Retry-After": "\(seconds)"])
      }
    }) { try await body($0) }
    #expect(presence.heldCount == 0)
    #expect(presence.waitCount == 0)
  }

  private static let request = "GET / HTTP/1.1\r\nHost: h\r\nRange: bytes=70000-140000\r\n\r\n"

  @Test("a response that is prepared begins once its first byte is there, or is another")
  func prepared() async throws {
    try await withServer { server in
      let connection = try server.connect()
      try await connection.send(Self.request)
      await presence.waitForWaits()
      #expect(presence.brings == [70_000..<140_001])
      presence.fail(FilePresenceError(.unavailable, "the store is away", retryAfter: .seconds(7)))
      let refusal = try await connection.receiveResponse()
      #expect(refusal.status == 503)
      #expect(refusal["Retry-After"] == "7")
      try await connection.send(Self.request)
      await presence.waitForWaits()
      presence.provide(1)
      #expect(try await connection.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 206 "))
      await presence.waitForWaits()
      presence.provide(2)
      #expect(try await connection.receive(exactly: 70_001) == Array(presence.content[70_000...140_000]))
    }
  }

  @Test("a client that goes away while a response is prepared ends the wait")
  func gone() async throws {
    try await withServer { server in
      let connection = try server.connect()
      try await connection.send(Self.request)
      await presence.waitForWaits()
      connection.reset()
      while presence.waitCount > 0 { await server.server.ping() }
      #expect(presence.givenUpCount == 1)
    }
  }

  @Test("a file is there as far as its presence says, and one without a presence is")
  func isThere() async throws {
    let file = try presence.makeFile()
    presence.provide(1)
    #expect(!file.isThere(0) && file.isThere(65_536) && file.isThere(131_071) && !file.isThere(131_072))
    try await file.prepare(65_536..<200_000)
    try await file.prepare(0..<0)
    #expect(presence.brings.isEmpty)
    // A task that was cancelled before does not wait.
    await withThrowingTaskGroup(of: Void.self) { group in
      group.cancelAll()
      group.addTask { try await file.prepare(0..<10) }
      await #expect(throws: FilePresenceError.self) { try await group.next() }
    }
    #expect(presence.waitCount == 0)
    #expect(presence.heldCount == 0)
  }
}
