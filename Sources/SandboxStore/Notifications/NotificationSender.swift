import CoreTypes
import Database
import HTTPClient
import Monitoring
import PullboxAPI
import SandboxRecords
import ServiceRuntime
import Synchronization

/// Sends the notifications that were written down to the configured address, again and again until they are taken or
/// the attempts are over, and keeps what became of each attempt.
///
/// Nothing is kept in memory: a store that ends in the middle sends what it had not sent, and may send one a second time,
/// with the same UUID.
final class NotificationSender: Sendable {
  private let store: PaymentStore
  private let issuer: PayloadIssuer
  /// Nil where none is sent: they are dated for the history alone.
  private let address: String?
  private let client: HTTPClient
  private let log: Log
  private let worker: Worker
  private let counts = Mutex(Counts())

  /// Attempts since the process began.
  private struct Counts {
    var delivered = 0
    var refused = 0
  }

  /// - Parameter timer: measures the pauses. Notifications and attempts are dated by the store's clock.
  init(
    store: PaymentStore, issuer: PayloadIssuer, address: String?, client: HTTPClient, log: Log,
    timer: any MonotonicClock = SystemMonotonicClock()
  ) {
    self.store = store
    self.issuer = issuer
    self.address = address
    self.client = client
    self.log = log
    worker = Worker(clock: timer)
  }

  /// Something may have been written down.
  func wake() { worker.wake() }

  /// Until the task is cancelled.
  func run() async {
    await worker.run {
      try await self.pass()
    } onFailure: { [log] error in
      log.error("notifications cannot be sent", ["error": LogValue(error)])
    }
  }

  /// Notifications that are dated, or sent, in one pass.
  private static let batch = 64
  /// Sent at one moment.
  private static let width = 16
  /// The longest pause between two passes. Background work writes notifications and does not wake the sender.
  private static let longestPause = Duration.seconds(1)

  /// Dates what was written down, and sends what is due. Without an address it only dates, and pauses for a
  /// minute. Otherwise it pauses until the next attempt, a second at most. A transport failure is an attempt
  /// as well and no error of the pass.
  func pass() async throws -> Worker.Next {
    let now = store.clock.now()
    guard
      try await store.database.read({ [isSent = address != nil] in
        try NotificationTable.hasWork(at: now, isSent: isSent, in: $0)
      })
    else {
      guard address != nil else { return .pause(atMost: .seconds(60)) }
      let next = try await store.database.read { try NotificationTable.nextAttempt(in: $0) }
      return .pause(
        atMost: min(Self.longestPause, next.map { max(.milliseconds(10), $0 - now) } ?? .seconds(60)))
    }
    let lost = try await store.dateNotifications(isSent: address != nil)
    if lost > 0 { log.warning("notifications were given up unsent", ["count": LogValue(lost)]) }
    guard let address else { return .again }
    let due = try await store.database.read {
      try NotificationTable.due(at: now, limit: Self.batch, in: $0)
    }
    guard !due.isEmpty else { return .again }
    let sent = try await send(due, to: address)
    try await store.database.write(locking: [.everything], waiting: .unlimited) {
      [clock = store.clock] connection in
      let calendar = try CalendarTable.current(in: connection)
      for notification in sent {
        let next =
          notification.attempts.last?.sendAttemptResult == .success
          ? nil
          : NotificationSchedule.next(
            afterAttempts: notification.attempts.count, at: clock.now(), by: calendar)
        try NotificationTable.record(notification, next: next, in: connection)
      }
    }
    let delivered = sent.count { $0.attempts.last?.sendAttemptResult == .success }
    counts.locked { counts in
      counts.delivered += delivered
      counts.refused += sent.count - delivered
    }
    return .again
  }

  /// Sends ``width`` at a time, the next one as soon as one has ended. The answers are in the order in which
  /// they came.
  private func send(_ due: [StoredNotification], to address: String) async throws -> [StoredNotification] {
    try await withThrowingTaskGroup { group in
      var waiting = due[...]
      var sent: [StoredNotification] = []
      for notification in waiting.prefix(Self.width) {
        group.addTask { try await self.attempt(notification, at: address) }
      }
      waiting = waiting.dropFirst(Self.width)
      while let notification = try await group.next() {
        sent.append(notification)
        if let next = waiting.popFirst() {
          group.addTask { try await self.attempt(next, at: address) }
        }
      }
      return sent
    }
  }

  /// The notification with the attempt that was made. Throws where it cannot be signed, and
  /// `CancellationError`: an attempt that the end of the process interrupted is not recorded.
  private func attempt(
    _ notification: StoredNotification, at address: String
  ) async throws -> StoredNotification {
    var notification = notification
    let payload = try issuer.sign(notification)
    let date = store.clock.now()
    let result = await post(payload, to: address)
    try Task.checkCancellation()
    notification.attempts.append(
      NotificationAttempt(attemptDate: date.millisecondsSinceEpoch, sendAttemptResult: result))
    log.debug(
      "notification",
      [
        "type": "\(notification.type.rawValue)", "uuid": "\(notification.uuid)",
        "result": "\(result.rawValue)",
      ])
    return notification
  }

  private struct Body: Encodable {
    var signedPayload: String
  }

  /// Waits for 30 seconds at most. Never throws: every failure is a result.
  private func post(_ payload: String, to address: String) async -> NotificationAttempt.Result {
    do {
      var request = ClientRequest(
        method: "POST", url: address, headers: [("Content-Type", "application/json")],
        body: .bytes(try APIJSON.encode(Body(signedPayload: payload))))
      request.totalTimeout = .seconds(30)
      return NotificationAttempt.Result(status: try await client.send(request).status)
    } catch let error as HTTPClientError {
      return NotificationAttempt.Result(error)
    } catch {
      return .other
    }
  }
}

extension NotificationAttempt.Result {
  /// 200 to 206 is taken. 3xx is `circularRedirect`, everything else is not taken.
  init(status: Int) {
    switch status {
    case 200...206: self = .success
    case 300...399: self = .circularRedirect
    default: self = .unsuccessfulStatus
    }
  }

  /// The transport's failures in the words of the history. A connection that was lost before the head of an
  /// answer is `noResponse`, and one that was lost after it `prematureClose`.
  init(_ error: HTTPClientError) {
    switch error.code {
    case .timedOut: self = .timedOut
    case .secureConnectionFailed, .certificateNotTrusted, .certificateOutOfDate, .certificateForAnotherName,
      .certificateNotPinned:
      self = .tlsIssue
    case .tooManyRedirects: self = .circularRedirect
    case .hostNotFound, .connectionFailed, .proxyRefused: self = .socketIssue
    case .connectionLost: self = error.head == nil ? .noResponse : .prematureClose
    case .protocolViolation, .tooLarge: self = .invalidResponse
    default: self = .other
    }
  }
}

extension NotificationSender: MetricSource {
  func register(in metrics: inout MetricRegistry) {
    let attempts: [Metric<Counts>] = [
      .counter(
        "pullbox_store_notifications_delivered_total", help: "Notifications that their receiver took."
      ) { $0.delivered },
      .counter(
        "pullbox_store_notification_failures_total",
        help: "Attempts to send a notification that it did not take."
      ) { $0.refused },
    ]
    metrics.register(attempts) { self.counts.locked { $0 } }
  }
}

extension PaymentStore {
  /// Dates the notifications that were written down, and removes what the history does not keep. Returns how many were
  /// given up unsent. At most 500 are dated in one database transaction.
  ///
  /// - Parameter isSent: whether they are to be sent as well; false where the store has no address for them.
  @discardableResult
  func dateNotifications(isSent: Bool) async throws -> Int {
    var lost = 0
    while true {
      let now = clock.now()
      let (dated, dropped) = try await database.write(locking: [.everything], waiting: .unlimited) {
        [environment] connection in
        let dated = try NotificationTable.date(at: now, isSent: isSent, limit: 500, in: connection)
        let dropped = try NotificationTable.prune(
          before: now - NotificationTable.reach(in: environment), in: connection)
        return (dated, dropped)
      }
      lost += dropped
      if dated < 500 { return lost }
    }
  }
}
