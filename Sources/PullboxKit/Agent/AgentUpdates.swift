public import Commerce
public import CoreTypes
import PullboxAPI
import PullboxAPIClient

extension AgentClient {
  /// How everything stands that is not over, and then every change, through restarts of the agent: what
  /// ``follow(_:backoff:maximumFailures:clock:generator:_:)`` calls its closure with, for a loop. Nothing is asked before the first element is.
  public func updates(
    _ transactions: [TransactionIdentifier] = [],
    backoff: Backoff = Backoff(initial: .milliseconds(200), cap: .seconds(5)), maximumFailures: Int = .max,
    clock: any MonotonicClock = SystemMonotonicClock()
  ) -> AgentUpdates {
    AgentUpdates(
      follower: AgentFollower(
        self, transactions, backoff: backoff, maximumFailures: maximumFailures, clock: clock,
        generator: SystemRandomNumberGenerator()))
  }
}

/// The updates of an agent for one who follows it, in order. Never ends by itself: it throws the `APICallError` of a first connection that fails, that
/// of a refusal, and `CancellationError`. The connection is closed with its iterator.
public struct AgentUpdates: AsyncSequence, Sendable {
  /// A snapshot, a change or an outage.
  public typealias Element = AgentUpdate
  /// `APICallError` or `CancellationError`.
  public typealias Failure = any Error

  let follower: AgentFollower

  /// Each iterator has a connection of its own.
  public func makeAsyncIterator() -> Iterator { Iterator(follower: follower) }

  /// Follows the agent, one update at a time. One that is slow makes the agent wait with its events, and misses nothing.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var follower: AgentFollower

    /// The next update.
    public mutating func next() async throws -> AgentUpdate? { try await follower.next() }
  }
}

/// Follows an agent through its restarts: opens the stream of events, reads the lists, passes the events on, and after a lost
/// connection begins again.
struct AgentFollower: Sendable {
  private let agent: AgentClient
  private let backoff: Backoff
  private let maximumFailures: Int
  private let clock: any MonotonicClock
  private var generator: any RandomNumberGenerator & Sendable
  private var followed: FollowedEntries
  private var wasConnected = false
  /// Failures in a row.
  private var failures = 0
  /// Nil while there is no connection.
  private var events: AgentEvents?
  /// To be waited before the next connection.
  private var delay: Duration?

  init(
    _ agent: AgentClient, _ transactions: [TransactionIdentifier], backoff: Backoff, maximumFailures: Int,
    clock: any MonotonicClock, generator: any RandomNumberGenerator & Sendable
  ) {
    self.agent = agent
    self.backoff = backoff
    self.maximumFailures = maximumFailures
    self.clock = clock
    self.generator = generator
    followed = FollowedEntries(transactions)
  }

  /// The next update. Throws as ``AgentClient/follow(_:backoff:maximumFailures:clock:generator:_:)`` does.
  mutating func next() async throws -> AgentUpdate {
    if let delay {
      self.delay = nil
      try await clock.sleep(for: delay)
    }
    var reason: APICallError?
    do {
      guard let events else { return try await connect() }
      var iterator = events.makeAsyncIterator()
      while let event = try await iterator.next() {
        guard followed.isNews(event) else { continue }
        followed.note(event)
        return .event(event)
      }
    } catch let error as APICallError {
      guard wasConnected, error.isTemporary else { throw error }
      reason = error
    }
    events = nil
    try Task.checkCancellation()
    failures += 1
    guard failures <= maximumFailures else { throw reason ?? Self.gone }
    let delay = backoff.delay(afterFailures: failures, using: &generator)
    self.delay = delay
    return .lost(reason, retryIn: delay)
  }

  /// The stream is opened before the lists are read: what ended before is in the lists, what ends later is an event.
  private mutating func connect() async throws -> AgentUpdate {
    let opened = try await agent.events()
    let update = try await agent.snapshot(&followed)
    events = opened
    wasConnected = true
    failures = 0
    return update
  }

  private static var gone: APICallError {
    .problem(Problem(.unavailable, "the agent stopped and did not come back"))
  }
}
