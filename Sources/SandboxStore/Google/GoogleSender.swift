import CoreTypes
import Crypto
import Database
import HTTPClient
import PullboxAPI
import SandboxRecords
import ServiceRuntime

/// Gives back what was not acknowledged in time, and posts notifications as Pub/Sub does: with a token of its own, again and again
/// until they are taken.
final class GoogleSender: Sendable {
  private let store: PaymentStore
  private let authority: GoogleAuthority
  private let package: String
  /// Nil where none is posted.
  private let address: String?
  private let client: HTTPClient
  private let log: Log
  private let worker: Worker

  /// Notifications that are posted in one pass, one after the other.
  private static let batch = 64
  /// The longest pause between two passes. Background work writes notifications and does not wake the sender.
  private static let longestPause = Duration.seconds(1)
  private static let backoff = Backoff(initial: .seconds(1), factor: 2, cap: .seconds(600))
  /// After that many, a notification is given up: seven days.
  private static let maximumAttempts = 1000

  /// - Parameters:
  ///   - package: the application that notifications name.
  ///   - address: where they are posted; nil for nowhere.
  ///   - timer: measures the pauses. Deadlines and attempts are dated by the store's clock.
  init(
    store: PaymentStore, authority: GoogleAuthority, package: String, address: String?, client: HTTPClient,
    log: Log, timer: any MonotonicClock = SystemMonotonicClock()
  ) {
    self.store = store
    self.authority = authority
    self.package = package
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
      log.error("notifications for Google's receivers cannot be sent", ["error": LogValue(error)])
    }
  }

  /// Gives back what is overdue, then posts a batch of what is due, each with a database transaction of its
  /// own afterwards. Without an address the first that is due removes all that wait. With nothing due it
  /// pauses until the next attempt or deadline, a second at most.
  func pass() async throws -> Worker.Next {
    try await store.catchUpGoogle()
    let now = store.clock.now()
    let due = try await store.database.read {
      try GoogleMessageTable.due(at: now, limit: Self.batch, in: $0)
    }
    guard !due.isEmpty else {
      let next = try await store.database.read { connection in
        [
          try GoogleMessageTable.nextAttempt(in: connection),
          try PurchaseTokenTable.nextDeadline(in: connection),
        ].compactMap { $0 }.min()
      }
      return .pause(
        atMost: min(Self.longestPause, next.map { max(.milliseconds(10), $0 - now) } ?? Self.longestPause))
    }
    guard let address else {
      try await store.database.write(locking: [.everything]) { try GoogleMessageTable.removeAll(in: $0) }
      return .again
    }
    for message in due {
      let isTaken = try await post(message, to: address)
      try Task.checkCancellation()
      let isOver = isTaken || message.attempts + 1 >= Self.maximumAttempts
      let next = store.clock.now() + Self.backoff.delay(afterFailures: message.attempts + 1)
      try await store.database.write(locking: [.everything], waiting: .unlimited) { connection in
        if isOver {
          try GoogleMessageTable.remove(message.id, in: connection)
        } else {
          try GoogleMessageTable.postpone(message.id, until: next, in: connection)
        }
      }
    }
    return .again
  }

  /// The body of a push (Pub/Sub's `PushRequest`), whose `data` is base 64.
  private struct Envelope: Encodable {
    struct Message: Encodable {
      var attributes: [String: String] = [:]
      var data: String
      var messageId: String
    }
    var message: Message
    var subscription = "projects/sandbox-store/subscriptions/pullbox"
  }

  /// The body that is posted for a notification. `messageId` is the row, so that it stays the same from
  /// attempt to attempt.
  func body(of message: GoogleMessage) throws -> [UInt8] {
    var data = try APIJSON.decode(GoogleMessageTable.Data.self, from: Array(message.document.utf8))
    data.packageName = package
    return try APIJSON.encode(
      Envelope(
        message: .init(data: Base64.encode(try APIJSON.encode(data)), messageId: String(message.id))))
  }

  /// Whether the receiver took it. A failed connection counts as a refusal, and so does an answer after 30
  /// seconds.
  private func post(_ message: GoogleMessage, to address: String) async throws -> Bool {
    let token = try authority.identityToken(for: address)
    var request = ClientRequest(
      method: "POST", url: address,
      headers: [("Content-Type", "application/json"), ("Authorization", "Bearer \(token)")],
      body: .bytes(try body(of: message)))
    request.totalTimeout = .seconds(30)
    do {
      let status = try await client.send(request).status
      return [102, 200, 201, 202, 204].contains(status)
    } catch {
      return false
    }
  }
}
