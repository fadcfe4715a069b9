import Commerce
import CoreTypes
import PullboxAPI
import Testing

@testable import DownloadAgent

@Suite struct ObserverQueueTests {
  static func download(
    _ id: String, _ verified: Int, _ state: DownloadStatus.State = .active, _ reason: String = "transferring"
  ) throws -> AgentEvent {
    .download(
      DownloadStatus(
        id: try #require(DownloadIdentifier(id)), product: try #require(ProductIdentifier("a.b")),
        version: nil,
        transaction: try #require(TransactionIdentifier("2000000000000001")), state: state, reason: reason,
        bytesVerified: ByteCount(verified), bytesTotal: nil, bytesReceived: .zero, progress: 0,
        timeRemaining: nil, speed: 0, error: nil, contentPath: nil))
  }

  private func drain(_ queue: inout ObserverQueue) -> [String] {
    var words: [String] = []
    while let event = queue.popFirst() {
      guard case .download(let status) = event else { continue }
      words.append("\(status.id) \(status.state.rawValue) \(status.bytesVerified.rawValue)")
    }
    return words
  }

  @Test("newer progress takes the place of what waits; changes of state all come") func coalescing() throws {
    var queue = ObserverQueue()
    for count in 1...1000 { queue.append(try Self.download("a", count)) }
    queue.append(try Self.download("a", 1000, .active, "placing"))
    queue.append(try Self.download("a", 1000, .finished, "placed"))
    #expect(drain(&queue) == ["a active 1000", "a active 1000", "a finished 1000"])
  }

  @Test("an observer that falls far behind gets the last word on everything") func bound() throws {
    var queue = ObserverQueue(bound: 10)
    for round in 0..<100 {
      for name in ["a", "b", "c"] {
        queue.append(try Self.download(name, round, round.isMultiple(of: 2) ? .active : .paused))
      }
    }
    #expect(queue.count <= 12)
    let words = drain(&queue)
    for name in ["a", "b", "c"] { #expect(words.last { $0.hasPrefix(name) } == "\(name) paused 99") }
  }

  @Test("a long queue that is read while it grows keeps its order and loses nothing (R14)") func long() throws
  {
    var queue = try ObserverQueue((0..<3000).map { try Self.download("d\($0)", 0, .waiting) })
    #expect(queue.count == 3000)
    var read: [String] = []
    for round in 0..<9000 {
      let event = queue.popFirst()
      if case .download(let status) = event { read.append(status.id.description) }
      queue.append(try Self.download("d\(round % 3000)", round, round % 2 == 0 ? .paused : .active))
    }
    #expect(queue.count == 3000)
    #expect(read == (0..<9000).map { "d\($0 % 3000)" })
  }

  @Test("what is about different things keeps its order") func order() throws {
    var queue = ObserverQueue()
    queue.append(try Self.download("a", 1))
    queue.append(try Self.download("b", 1))
    queue.append(try Self.download("a", 2))
    #expect(drain(&queue) == ["a active 2", "b active 1"])
  }
}

@Suite struct EventHubTests {
  private func next(_ observer: EventObserver) async -> String? {
    guard case .event(.download(let status)) = await observer.next() else { return nil }
    return "\(status.id) \(status.bytesVerified.rawValue)"
  }

  @Test("a new observer first gets the last word on what is not over") func snapshot() async throws {
    let hub = EventHub()
    hub.publish(try ObserverQueueTests.download("a", 1))
    hub.publish(try ObserverQueueTests.download("a", 2))
    hub.publish(try ObserverQueueTests.download("b", 1))
    hub.publish(try ObserverQueueTests.download("b", 1, .finished, "placed"))
    let observer = try #require(hub.subscribe())
    hub.publish(try ObserverQueueTests.download("c", 5))
    #expect(await next(observer) == "a 2")
    #expect(await next(observer) == "c 5")
  }

  @Test("an observer that reads nothing holds up no other") func slow() async throws {
    let hub = EventHub()
    let slow = try #require(hub.subscribe())
    for count in 0..<10_000 { hub.publish(try ObserverQueueTests.download("a", count)) }
    #expect(await next(slow) == "a 9999")
  }

  @Test("one user's observers leave room for those of others (R15)") func users() throws {
    let hub = EventHub()
    var observers: [EventObserver] = []
    while let observer = hub.subscribe(user: 1000) { observers.append(observer) }
    #expect(observers.count == EventHub.maximumObserversOfUser)
    observers.append(try #require(hub.subscribe(user: 1001)))
    while let observer = hub.subscribe(user: nil) { observers.append(observer) }
    #expect(observers.count == EventHub.maximumObservers && hub.subscribe(user: 1002) == nil)
    hub.unsubscribe(observers[0])
    #expect(hub.subscribe(user: 1000) != nil)
  }

  @Test("an observer that reads nothing while thousands of things change is let go (R14)") func deaf()
    async throws
  {
    let hub = EventHub()
    for count in 0..<10 { hub.publish(try ObserverQueueTests.download("live\(count)", 0)) }
    let deaf = try #require(hub.subscribe())
    for count in 0..<EventObserver.maximumSubjects {
      hub.publish(try ObserverQueueTests.download("d\(count)", 0, .finished))
    }
    let reading = try #require(hub.subscribe())
    hub.publish(try ObserverQueueTests.download("last", 0, .finished))
    #expect(await deaf.next() == nil)
    for _ in 0..<10 { #expect(await next(reading)?.hasPrefix("live") == true) }
    #expect(await next(reading) == "last 0")
  }

  @Test("closing ends every stream after what is queued, and new ones are refused") func closing()
    async throws
  {
    let hub = EventHub()
    let observer = try #require(hub.subscribe())
    hub.publish(try ObserverQueueTests.download("a", 1))
    hub.close()
    #expect(await next(observer) == "a 1")
    #expect(await observer.next() == nil)
    #expect(hub.subscribe() == nil)
  }

  @Test("there is a bound on observers") func bound() throws {
    let hub = EventHub()
    let observers = (0..<EventHub.maximumObservers).compactMap { _ in hub.subscribe() }
    #expect(observers.count == EventHub.maximumObservers && hub.subscribe() == nil)
    hub.unsubscribe(observers[0])
    #expect(hub.subscribe() != nil)
  }

  @Test("a waiting reader ends with its task") func cancellation() async throws {
    let observer = try #require(EventHub().subscribe())
    await withTaskGroup(of: Bool.self) { group in
      group.addTask { await observer.next() == nil }
      group.cancelAll()
      #expect(await group.next() == true)
    }
  }
}
