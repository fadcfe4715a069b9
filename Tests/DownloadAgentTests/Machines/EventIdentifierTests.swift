import AgentTesting
import Commerce
import CoreTypes
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import Testing

@testable import DownloadAgent

/// WHATWG HTML §9.2.6: a reader that comes back says which event it read last.
@Suite("The identifiers of the agent's events")
struct EventIdentifierTests {
  private static func download(
    _ id: String, _ verified: Int64, _ state: DownloadStatus.State = .active
  ) throws -> AgentEvent {
    .download(
      DownloadStatus(
        id: try #require(DownloadIdentifier(id)), product: try #require(ProductIdentifier("com.example.a")),
        version: nil, transaction: try #require(TransactionIdentifier("20")), state: state,
        reason: "transferring", bytesVerified: ByteCount(verified), bytesTotal: nil,
        bytesReceived: ByteCount(verified), progress: 0, timeRemaining: nil, speed: 0, error: nil,
        contentPath: nil))
  }

  /// All that waits for the observer, which ends by that.
  private static func story(_ observer: EventObserver) async -> [String] {
    observer.close()
    var story: [String] = []
    func text(_ event: AgentEvent) -> String {
      guard case .download(let status) = event else { return event.name }
      return "\(status.id) \(status.bytesVerified.rawValue)"
    }
    while let item = await observer.next() {
      switch item {
      case .event(let event): story.append(text(event))
      case .numbered(let event, let number): story.append("\(number): \(text(event))")
      case .reset: story.append("reset")
      case .mark(let number): story.append("\(number)")
      case .heartbeat: story.append("-")
      }
    }
    return story
  }

  @Test("a stream begins with how everything stands and its number, and each change has the next one")
  func numbers() async throws {
    let hub = EventHub(run: "abc")
    hub.publish(try Self.download("d1", 1))
    hub.publish(try Self.download("d2", 1))
    let observer = try #require(hub.subscribe(user: nil, after: nil))
    hub.publish(try Self.download("d3", 1))
    #expect(await Self.story(observer) == ["d2 1", "d1 1", "2", "3: d3 1"])
  }

  @Test("one that comes back gets what came behind the event that it read last, and nothing else")
  func resumed() async throws {
    let hub = EventHub(run: "abc")
    for number in 1...5 { hub.publish(try Self.download("d\(number)", 1, .finished)) }
    #expect(
      await Self.story(try #require(hub.subscribe(user: nil, after: "abc-3"))) == ["4: d4 1", "5: d5 1"])
    let current = try #require(hub.subscribe(user: nil, after: "abc-5"))
    hub.publish(try Self.download("d6", 1))
    #expect(await Self.story(current) == ["6: d6 1"])
  }

  @Test(
    "an identifier of another run, of the future, or that is none begins anew, and says so",
    arguments: ["abd-1", "abc-3", "abc-", "abc", "3", "abc--1", "abc-1x"])
  func unknown(identifier: String) async throws {
    let hub = EventHub(run: "abc")
    hub.publish(try Self.download("d1", 1))
    hub.publish(try Self.download("d2", 1, .finished))
    let observer = try #require(hub.subscribe(user: nil, after: identifier))
    #expect(await Self.story(observer) == ["reset", "d1 1", "2"])
  }

  @Test("at least 1,024 changes are kept, and one of before begins anew")
  func kept() async throws {
    let hub = EventHub(run: "abc")
    let count = 5000
    for number in 1...count { hub.publish(try Self.download("d\(number)", 1, .finished)) }
    let last = try #require(
      hub.subscribe(user: nil, after: hub.identifier(of: UInt64(count - EventHub.maximumKept))))
    #expect(await Self.story(last).count == EventHub.maximumKept)
    let old = try #require(hub.subscribe(user: nil, after: hub.identifier(of: 1)))
    #expect(await Self.story(old) == ["reset", "\(count)"])
  }

  @Test(
    "newer progress that takes the place of older keeps its number, so that what came between is not missed")
  func replaced() async throws {
    let hub = EventHub(run: "abc")
    let observer = try #require(hub.subscribe(user: nil, after: nil))
    hub.publish(try Self.download("d1", 1))
    hub.publish(try Self.download("d2", 1))
    hub.publish(try Self.download("d1", 2))
    #expect(await Self.story(observer) == ["0", "1: d1 2", "2: d2 1"])
    // A reader of the first alone gets the second.
    #expect(
      await Self.story(try #require(hub.subscribe(user: nil, after: "abc-1"))) == ["2: d2 1", "3: d1 2"])
  }

  @Test("over the socket, events have an id line, and a reader goes on behind its own")
  func stream() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        _ = try await agent.transaction("finished")
        let first = agent.hub.identifier(of: 0)
        async let answer = harness.ask("GET", "/v1/events", headers: [("Last-Event-ID", first)])
        // The end of the agent's hub ends the stream.
        while agent.hub.observerCount == 0 { await Task.yield() }
        agent.hub.close()
        let text = String(decoding: try await answer.body, as: UTF8.self)
        #expect(text.contains("}\nid: \(first.dropLast())1\n\n"))
        #expect(!text.contains("event: reset"))
      }
    }
  }
}
