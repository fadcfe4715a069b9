import Commerce
package import CoreTypes
package import Database
package import DeliveryRecords
import PaymentStores
import PullboxAPI
package import ServiceRuntime

/// Finds notifications that never arrived: at the start and every hour the store's own history is read from where it was
/// read last, a page at a time. What arrived by itself is known by its name and changes nothing.
package struct NotificationHistory: Sendable {
  /// How long after one reading the next begins.
  package static let interval: Duration = .seconds(3600)
  /// Read again each time: what a store makes takes a moment to be in its history.
  static let overlap: Duration = .seconds(300)

  /// The time span that is read before its end is written down: the answer to one question is bounded in length.
  package static let window: Duration = .seconds(86_400)

  /// Stores keep it for 180 days of production and 30 of the sandbox, and refuse a question that begins earlier: clocks differ, and
  /// time passes until it is looked at.
  static func depth(of environment: StoreEnvironment) -> Duration {
    .seconds(86_400 * (environment == .production ? 180 : 30) - 3600)
  }

  /// Where to read on behind `position`, at the store's earliest. A position that is ahead was written by a clock that was: where
  /// it stood is not known, so all that the store keeps is read again.
  package static func beginning(after position: Timestamp?, at now: Timestamp, depth: Duration) -> Timestamp {
    let oldest = now - depth
    guard let position, position - overlap <= now else { return oldest }
    return max(oldest, position - overlap)
  }

  /// Has the stores, and takes in what was missed.
  package let notifications: NotificationService
  /// The database with the position up to which each store was read.
  package let database: Database
  /// The clock by which the next reading begins where the last one ended.
  package let clock: any WallClock
  /// Tells of stores that could not be read.
  package let log: Log
  /// Without one, no other process uses the database.
  package var lease: WorkerLease?

  /// Creates the reader; ``run(timer:)`` makes it read.
  package init(
    notifications: NotificationService, database: Database, clock: any WallClock, log: Log,
    lease: WorkerLease? = nil
  ) {
    self.notifications = notifications
    self.database = database
    self.clock = clock
    self.log = log
    self.lease = lease
  }

  /// Reads the history of each store with a key, and of each of its environments. A store that does not answer is left for
  /// the next time. Throws ``DatabaseError``.
  package func read() async throws {
    for source in notifications.sources {
      guard let interface = source.interface else { continue }
      for environment in interface.environments {
        do {
          try await read(interface, of: source.gate.store, environment)
        } catch let failure as StoreInterfaceClient.Failure {
          log.warning(
            "the store's history of notifications cannot be read",
            [
              "store": LogValue(source.gate.store), "environment": LogValue(environment.rawValue),
              "error": LogValue(failure.detail),
            ])
        }
      }
    }
  }

  /// Reads from the last position to now, a ``window`` at a time. The position moves only as far as everything
  /// was taken.
  private func read(
    _ interface: StoreInterfaceClient, of store: StoreIdentifier, _ environment: StoreEnvironment
  ) async throws {
    let end = clock.now()
    let position = try await database.read { connection in
      try NotificationHistoryTable.position(of: store, environment, in: connection)?.until
    }
    var beginning = Self.beginning(after: position, at: end, depth: Self.depth(of: environment))
    var isWhole = true
    while beginning < end {
      // Behind what was refused nothing is written down until all of it is taken: the rest is one question.
      let stop = isWhole ? min(end, beginning + Self.window) : end
      let found = try await readWindow(beginning...stop, of: store, environment, at: interface)
      isWhole = isWhole && found.isComplete
      if isWhole { try await write(stop, recovered: found.recovered, of: store, environment) }
      beginning = stop
    }
  }

  /// How many there were that had not arrived, and whether all were taken.
  private func readWindow(
    _ window: ClosedRange<Timestamp>, of store: StoreIdentifier, _ environment: StoreEnvironment,
    at interface: StoreInterfaceClient
  ) async throws -> (recovered: Int, isComplete: Bool) {
    var recovered = 0
    var isComplete = true
    try await interface.notifications(from: window.lowerBound, to: window.upperBound, in: environment) {
      texts in
      // Those of one page at the same time, so that they share commits: which comes last counts by its date alone.
      for outcome in try await receive(texts, of: store) {
        switch outcome {
        case .new: recovered += 1
        case .known: break
        case .refused: isComplete = false
        }
      }
    }
    return (recovered, isComplete)
  }

  /// Writes the position down, with the number of notifications that were found behind the earlier one.
  private func write(
    _ position: Timestamp, recovered: Int, of store: StoreIdentifier, _ environment: StoreEnvironment
  ) async throws {
    try await database.write(locking: []) { connection in
      try NotificationHistoryTable.setPosition(
        store, environment, until: position, recovered: recovered, in: connection)
    }
    if recovered > 0 {
      log.info(
        "notifications that had not arrived were found in the store's history",
        ["store": LogValue(store), "count": LogValue(recovered)])
    }
  }

  private enum Reception: Sendable {
    /// It had not arrived.
    case new
    /// It had arrived, or is malformed, so that another reading would bring nothing.
    case known
    /// Perhaps by this server's configuration: it is read again the next time.
    case refused
  }

  private func receive(_ texts: [String], of store: StoreIdentifier) async throws -> [Reception] {
    try await withThrowingTaskGroup(of: Reception.self) { group in
      for text in texts { group.addTask { try await receive(text, of: store) } }
      return try await group.reduce(into: [Reception]()) { $0.append($1) }
    }
  }

  /// Takes in one notification of a history. A refused one is counted and named like one that arrives; the others still
  /// count.
  private func receive(_ text: String, of store: StoreIdentifier) async throws -> Reception {
    do {
      return try await notifications.receive(text, isOfHistory: true) ? .new : .known
    } catch let problem as Problem where problem.status < 500 {
      log.warning(
        "a notification in the store's history is not taken",
        ["store": LogValue(store), "problem": LogValue(problem.code?.text ?? "unknown")])
      return problem.code == .receiptMalformed ? .known : .refused
    }
  }

  /// Reads at once, and then every hour, until the task is cancelled. What fails is logged, and tried again.
  package func run(timer: any MonotonicClock) async {
    await Worker(clock: timer).run {
      if try await lease?.isHeld() ?? true { try await read() }
      return .pause(atMost: Self.interval)
    } onFailure: { error in
      log.warning("the gap of notifications cannot be closed", ["error": LogValue(error)])
    }
  }
}
