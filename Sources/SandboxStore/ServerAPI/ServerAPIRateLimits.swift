import CoreTypes
import Synchronization

/// How often each kind of request of the App Store Server API is answered in an hour.
struct ServerAPIRateLimits: Hashable, Sendable {
  enum Kind: Hashable, Sendable, CaseIterable {
    /// Transactions, histories, statuses, consumption, notification history.
    case reading
    /// Extensions, tokens of accounts, transactions finished.
    case changing
    /// Orders and refunds.
    case lookup
    /// Extensions of all subscribers, test notifications.
    case rare
  }

  /// A kind that is not in it has no bound.
  var perHour: [Kind: Int]

  /// Those that Apple documents for production: 50, 20 and 10 a second, counted by the hour, and one a second for what it
  /// calls low.
  static let production = Self(perHour: [.reading: 180_000, .changing: 72_000, .lookup: 36_000, .rare: 3_600])
  /// A tenth of them.
  static let sandbox = Self(perHour: production.perHour.mapValues { $0 / 10 })
}

/// Counts requests by the hour of the wall clock. The counts live in memory and begin anew with each hour,
/// for all clients together.
final class ServerAPIRateLimiter: Sendable {
  private struct State {
    var hour: Int64 = 0
    var counts: [ServerAPIRateLimits.Kind: Int] = [:]
  }

  private let limits: ServerAPIRateLimits
  private let clock: any WallClock
  private let state = Mutex(State())

  init(_ limits: ServerAPIRateLimits, clock: any WallClock) {
    self.limits = limits
    self.clock = clock
  }

  /// Counts a request. Throws 4290000 with the end of the hour for one too many.
  func admit(_ kind: ServerAPIRateLimits.Kind) throws(ServerAPIError) {
    let hour = clock.now().secondsSinceEpoch / 3600
    let isAdmitted = state.locked { state in
      if state.hour != hour { state = State(hour: hour) }
      let count = state.counts[kind, default: 0]
      guard count < limits.perHour[kind] ?? .max else { return false }
      state.counts[kind] = count + 1
      return true
    }
    guard !isAdmitted else { return }
    var refusal = ServerAPIError.rateLimit
    refusal.retryAfter = Timestamp(millisecondsSinceEpoch: (hour + 1) * 3_600_000)
    throw refusal
  }
}
