import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryService
@testable import RouteAccess

extension FeedTests {
  /// A connection that asks for the feed as server-sent events; the head of the answer is read.
  private func stream(
    _ feed: FeedReference, after id: String? = nil, of server: ServerHarness
  ) async throws -> RawConnection {
    let port = try #require(server.server.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
    let connection = try RawConnection.tcp(port: port)
    let last = id.map { "Last-Event-ID: \($0)\r\n" } ?? ""
    try await connection.send(
      """
      GET /v1/feed?device=\(server.device.id) HTTP/1.1\r\nHost: a\r\nAccept: text/html, text/event-stream;q=0.9\r
      Authorization: Bearer \(feed.token)\r\n\(last)\r\n
      """)
    let head = try await connection.receive(through: "\r\n\r\n")
    #expect(head.hasPrefix("HTTP/1.1 200 ") && head.contains("text/event-stream"))
    return connection
  }

  /// The next event: its name and its id.
  private func event(_ connection: RawConnection) async throws -> (name: String, id: String, data: String) {
    while true {
      // Comments and the pieces of the transfer coding stand between.
      let text = try await connection.receive(through: "\n\n")
      guard let start = text.firstRange(of: "id: ") else { continue }
      let lines = text[start.lowerBound...].split(separator: "\n")
      guard lines.count >= 3 else { continue }
      return (
        String(lines[1].dropFirst("event: ".count)), String(lines[0].dropFirst("id: ".count)),
        String(lines[2].dropFirst("data: ".count))
      )
    }
  }

  @Test("as server-sent events each entry comes with the cursor behind it, as it happens")
  func streamed() async throws {
    try await ServerHarness.run { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let connection = try await stream(feed, of: server)
      let opening = try await event(connection)
      #expect(opening.name == "feed" && opening.data.contains(#""whole":true"#))
      let first = try await event(connection)
      #expect(first.name == "issue-available" && first.data.contains(issue(0)))
      while server.server.components.feeds.waiters.count == 0 { await Task.yield() }
      try await publish(1, dated: server.clock.now(), on: server)
      let second = try await event(connection)
      #expect(second.name == "issue-available" && second.data.contains(issue(1)))
      // The entries that a document tells behind the id of an event are those after that event.
      #expect(kinds(try await read(feed, after: first.id, of: server)) == ["issue-available 1"])
    }
  }

  @Test("a stream that is opened again with the id of its last event goes on behind it")
  func streamedAgain() async throws {
    try await ServerHarness.run { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let broken = try await stream(feed, of: server)
      let whole = try await event(broken)
      let first = try await event(broken)
      broken.reset()
      try await publish(1, dated: server.clock.now(), on: server)
      let connection = try await stream(feed, after: first.id, of: server)
      let opening = try await event(connection)
      #expect(opening.data.contains(#""whole":false"#) && opening.id == first.id)
      #expect(try await event(connection).data.contains(issue(1)))
      // One that broke before its first entry lost nothing, and an id of no feed is told everything.
      let early = try await stream(feed, after: whole.id, of: server)
      _ = try await event(early)
      #expect(try await event(early).data.contains(issue(0)))
      let foreign = try await stream(feed, after: "1-1", of: server)
      #expect(try await event(foreign).data.contains(#""whole":true"#))
    }
  }

  @Test("a stream ends with a later request of the same feed, and with the server")
  func streamEnds() async throws {
    try await ServerHarness.run { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let first = try await stream(feed, of: server)
      for _ in 0..<2 { _ = try await event(first) }
      while server.server.components.feeds.waiters.count == 0 { await Task.yield() }
      let second = try await stream(feed, of: server)
      _ = try await first.receive(through: "\r\n0\r\n\r\n")
      for _ in 0..<2 { _ = try await event(second) }
      server.server.components.feeds.close()
      _ = try await second.receive(through: "\r\n0\r\n\r\n")
    }
  }

  @Test("a stream has its place among the requests in progress until it ends")
  func streamIsInProgress() async throws {
    let limit = "{class: 'feed', inProgress: 1}"
    try await ServerHarness.run(options: ["--admission-class", limit]) { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let connection = try await stream(feed, of: server)
      for _ in 0..<2 { _ = try await event(connection) }
      while server.server.components.feeds.waiters.count == 0 { await Task.yield() }
      let refused = try await server.problem { _ = try await read(feed, of: server) }
      #expect(refused.code == .unavailable)
      server.server.components.feeds.close()
      _ = try await connection.receive(through: "\r\n0\r\n\r\n")
      while server.server.components.admission.counts[.feed]?.inProgress != 0 { await Task.yield() }
      _ = try await read(feed, of: server)
    }
  }

  @Test("a stream without news shows signs of life, and ends after its time")
  func quietStream() async throws {
    struct Enough: Error {}
    try await ServerHarness.run { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let cursor = try #require(FeedService.Cursor(try await read(feed, of: server).cursor))
      let feeds = server.server.components.feeds
      let name = try feeds.open(feed.token, of: server.device.id).feed
      var signs = 0
      do {
        try await feeds.follow(
          name, after: cursor, for: .seconds(3600), heartbeat: .milliseconds(1)
        ) { event in
          guard case .heartbeat = event else { return }
          signs += 1
          if signs == 3 { throw Enough() }
        }
        Issue.record("it ended")
      } catch is Enough {}
      try await feeds.follow(name, after: cursor, for: .milliseconds(5), heartbeat: .seconds(60)) { _ in
        Issue.record("there was nothing to tell")
      }
    }
  }

  @Test("a stream is refused as a document is: without a token, and to another device")
  func streamRefused() async throws {
    try await ServerHarness.run { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      for (device, token, status) in [(server.device.id.description, "", 401), ("other", feed.token, 403)] {
        let refused = try await server.problem {
          _ = try await server.api.exchange(
            "GET", feed.url + "?device=\(device)",
            headers: [("Accept", "text/event-stream")]
              + (token.isEmpty ? [] : [("Authorization", "Bearer \(token)")]))
        }
        #expect(refused.status == status)
      }
    }
  }
}
