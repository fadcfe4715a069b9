import PullboxAPIClient
import PullboxTesting
import Testing

@testable import PullboxKitTesting

@Suite("The start and the end of a session", .timeLimit(.minutes(3)))
struct StopOrderTests {
  private struct Failure: Error {}

  @Test("a start that fails stops what it had started, the last first, and throws what it failed of")
  func failure() async throws {
    let story = Locked<[String]>([])
    await #expect(throws: Failure.self) {
      _ = try await StopOrder.starting { stops -> Int in
        stops.note { story.withLock { $0.append("client") } }
        stops.note { story.withLock { $0.append("store") } }
        story.withLock { $0.append("start") }
        throw Failure()
      }
    }
    #expect(story.current == ["start", "store", "client"])
  }

  @Test("a start that succeeds stops nothing before it is asked to")
  func success() async throws {
    let story = Locked<[String]>([])
    let (value, stops) = try await StopOrder.starting { stops -> Int in
      stops.note { story.withLock { $0.append("store") } }
      stops.note { story.withLock { $0.append("agent") } }
      return 7
    }
    #expect(value == 7 && story.current.isEmpty)
    await stops.run()
    #expect(story.current == ["agent", "store"])
  }

  @Test("a session that its store refuses throws that, and never runs its test")
  func refused() async throws {
    var options = TestSession.Options()
    // A month of the store lasts two seconds at least.
    options.month = "1s"
    let refused = options
    await #expect(throws: APICallError.self) {
      try await TestSession.with(refused) { _ -> Void in Issue.record("it has started") }
    }
  }
}
