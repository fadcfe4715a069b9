import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Synchronization
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import PaymentStores

/// An outbox over a database, with stores that the test scripts, on clocks that the test moves.
final class OutboxHarness: Sendable {
  let timer: ManualMonotonicClock
  let clock: ManualWallClock
  let database: Database
  let outbox: Outbox
  let start: MonotonicInstant

  init(
    _ stores: [ScriptedStore], database: Database, timer: ManualMonotonicClock,
    clock: ManualWallClock = ManualWallClock(), options: Outbox.Options = Outbox.Options()
  ) {
    self.timer = timer
    self.clock = clock
    self.database = database
    start = timer.now()
    outbox = Outbox(
      grantStore: GrantStore(database: database, clock: clock),
      stores: Dictionary(uniqueKeysWithValues: stores.map { ($0.name, $0 as any PaymentStoreClient) }),
      timer: timer, options: options, log: Log(level: .error))
  }

  /// Lets the outbox work while `body` runs.
  func run(_ body: () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { [outbox] in await outbox.run() }
      try await body()
      group.cancelAll()
    }
  }

  var elapsed: Duration { timer.now() - start }

  /// Adds calls about the transactions `first` and those behind it.
  func add(_ count: Int, to store: StoreIdentifier = .sandbox, from first: Int = 1) async throws {
    let now = clock.now()
    try await database.write(locking: [.everything]) { connection in
      for number in first..<first + count {
        _ = try OutboxTable.add(
          .finish, of: .numbered(number, at: store), at: now, in: connection)
      }
    }
    outbox.wake()
  }

  /// Adds a call as a completion does, claimed for an attempt at once.
  func addClaimed(_ number: Int = 1, to store: StoreIdentifier = .sandbox) async throws -> OutboxEntry? {
    let (now, lease) = (clock.now(), outbox.lease())
    let standing = try await database.write(locking: [.everything]) { connection in
      try OutboxTable.add(
        .finish, of: .numbered(number, at: store), lease: lease, at: now, in: connection)
    }
    guard case .waiting(let entry) = standing else { return nil }
    return entry
  }

  /// Returns once a call is in the outbox's hand.
  func waitForCall() async {
    while outbox.state.withLock({ $0.queues.values.allSatisfy { $0.inHand.isEmpty } }) { await Task.yield() }
  }

  func calls(_ state: OutboxCall.State? = nil) async throws -> [OutboxCall] {
    try await outbox.page(after: nil, matching: OutboxTable.Filter(state: state), limit: 2000).items
  }

  /// Returns once nothing happens any more until a clock is moved: all that works sleeps, and what can be seen from
  /// outside stays the same over several round trips through the database.
  func settle() async throws {
    var last: [SQLValue] = []
    var repetitions = 0
    while repetitions < 25 {
      for _ in 0..<20 { await Task.yield() }
      try await database.write(locking: []) { _ in }
      let rows = try await database.read { connection in
        try connection.query(
          """
          SELECT count(*) AS total, count(done) AS ended, count(parked) AS stopped, sum(attempts),
            sum(refusals), sum(leased_until), sum(next_attempt) FROM outbox
          """)
      }
      let inHand = outbox.state.withLock { $0.queues.values.reduce(0) { $0 + $1.inHand.count } }
      let begun = outbox.state.withLock { state in
        state.queues.values.reduce(0) { $0 + $1.inHand.count - $1.line.count }
      }
      // Each call that was begun sleeps, in the store or until it is written again, and each worker that pauses. What works,
      // or was woken and has not come to its turn yet, does not.
      let standings = [outbox.worker, outbox.patienceWorker, outbox.sweeper].map(\.standing)
      let sleepers = begun + standings.count { $0 == .pausing }
      let isQuiet = !standings.contains(.working) && sleepers <= timer.sleeperCount
      let seen =
        rows.flatMap(\.values) + [
          .integer(timer.timeToNextSleeper?.nanoseconds ?? 0), .integer(Int64(inHand)),
        ]
      repetitions = seen == last && isQuiet ? repetitions + 1 : 0
      last = seen
    }
  }

  /// Moves both clocks from one event to the next until `condition` holds, or `limit` has passed since the start; whether
  /// it holds.
  func advance(upTo limit: Duration, until condition: () async throws -> Bool) async throws -> Bool {
    while true {
      try await settle()
      if try await condition() { return true }
      guard let next = timer.timeToNextSleeper, elapsed + next <= limit else { return false }
      clock.advance(by: next)
      timer.advance(by: next)
    }
  }

  /// Moves both clocks on by `duration`, from one event to the next.
  func advance(by duration: Duration) async throws {
    let end = elapsed + duration
    _ = try await advance(upTo: end) { false }
    clock.advance(by: end - elapsed)
    timer.advance(by: end - elapsed)
    try await settle()
  }
}

/// A store that behaves as the test says.
final class ScriptedStore: PaymentStoreClient {
  enum Behavior: Sendable {
    /// The call has its effect at once, and is answered after that time.
    case answers(after: Duration)
    /// Nothing ever comes back.
    case hangs
    case resets
    case asksToWait(Duration)
    case refuses(String, after: Duration = .zero)
  }

  private struct State {
    var behavior: @Sendable (Duration, TransactionIdentifier) -> Behavior
    var calls: [TransactionIdentifier] = []
    var running = 0
    var mostRunning = 0
    var accepted: [TransactionIdentifier: Duration] = [:]
    var told: [Told] = []
  }

  /// The kinds of calls that a store was told, with their content.
  enum Told: Hashable, Sendable {
    case finished
    case acknowledged(String)
    case consumed(String)
    case consumption(ConsumptionStatement)
  }

  let name: StoreIdentifier
  private let timer: ManualMonotonicClock
  private let start: MonotonicInstant
  private let state: Mutex<State>

  /// `behavior` gets the time since the store was made.
  init(
    _ name: StoreIdentifier = .sandbox, timer: ManualMonotonicClock,
    _ behavior: @escaping @Sendable (Duration) -> Behavior
  ) {
    self.name = name
    self.timer = timer
    start = timer.now()
    state = Mutex(State(behavior: { time, _ in behavior(time) }))
  }

  func behave(_ behavior: @escaping @Sendable (TransactionIdentifier) -> Behavior) {
    state.withLock { $0.behavior = { _, transaction in behavior(transaction) } }
  }

  var calls: [TransactionIdentifier] { state.withLock { $0.calls } }
  var told: [Told] { state.withLock { $0.told } }
  var mostRunning: Int { state.withLock { $0.mostRunning } }
  /// When each was accepted, since the store was made.
  var accepted: [TransactionIdentifier: Duration] { state.withLock { $0.accepted } }

  func verify(_ proof: Proof, digest: SHA256Digest) async throws(StoreRefusal) -> VerifiedProof {
    throw .abandoned
  }

  func finish(_ transaction: TransactionIdentifier, in environment: StoreEnvironment) async -> StoreAnswer {
    await take(.finished, of: transaction)
  }

  func acknowledge(
    _ transaction: TransactionIdentifier, in environment: StoreEnvironment, by reference: String
  ) async -> StoreAnswer {
    await take(.acknowledged(reference), of: transaction)
  }

  func consume(
    _ transaction: TransactionIdentifier, in environment: StoreEnvironment, by reference: String
  ) async -> StoreAnswer {
    await take(.consumed(reference), of: transaction)
  }

  func tell(
    _ consumption: ConsumptionStatement, of transaction: TransactionIdentifier,
    in environment: StoreEnvironment
  ) async -> StoreAnswer {
    await take(.consumption(consumption), of: transaction)
  }

  private func take(_ told: Told, of transaction: TransactionIdentifier) async -> StoreAnswer {
    let behavior = state.withLock { state in
      state.calls.append(transaction)
      state.told.append(told)
      state.running += 1
      state.mostRunning = max(state.mostRunning, state.running)
      return state.behavior(timer.now() - start, transaction)
    }
    defer { state.withLock { $0.running -= 1 } }
    switch behavior {
    case .answers(let delay):
      guard delay < OutboxMachine.callTimeout else { return await timeOut() }
      if delay > .zero, (try? await timer.sleep(for: delay)) == nil { return StoreAnswer(answer: .abandoned) }
      state.withLock { $0.accepted[transaction] = timer.now() - start }
      return StoreAnswer(answer: .accepted)
    case .hangs: return await timeOut()
    case .resets: return StoreAnswer(answer: .unavailable(retryAfter: nil), detail: "connection reset")
    case .asksToWait(let duration):
      return StoreAnswer(answer: .unavailable(retryAfter: duration), detail: "unavailable")
    case .refuses(let detail, let delay):
      if delay > .zero, (try? await timer.sleep(for: delay)) == nil { return StoreAnswer(answer: .abandoned) }
      return StoreAnswer(answer: .refused, detail: detail)
    }
  }

  private func timeOut() async -> StoreAnswer {
    guard (try? await timer.sleep(for: OutboxMachine.callTimeout)) != nil else {
      return StoreAnswer(answer: .abandoned)
    }
    return StoreAnswer(answer: .unavailable(retryAfter: nil), detail: "no answer in time")
  }
}
