import Commerce
import CoreTypes
import Database
import PullboxAPI

extension GrantService {
  /// Transactions of one question that are looked at.
  private static let maximumWaiting = 1000

  /// Has the store told that those of the transactions are finished which are periods of subscriptions that are over and
  /// open nothing: no completion will ever end them. Answers those; nil where none waits. What an operator decided not to
  /// call stays as it is.
  func finishEmptyPeriods(
    _ waiting: [TransactionIdentifier]?, of verified: VerifiedProof, at store: StoreIdentifier,
    on device: DeviceIdentifier, now: Timestamp
  ) async throws -> [TransactionIdentifier]? {
    guard let waiting = waiting?.prefix(Self.maximumWaiting), !waiting.isEmpty else { return nil }
    let asked = Set(waiting)
    let empty = try await catalog.current { catalog -> [TransactionIdentifier]? in
      guard try await grantStore.database.read({ try catalog.isCurrent(in: $0) }) else { return nil }
      let report = rules.evaluate(
        verified.transactions, catalog: catalog.related(to: verified.transactions.map(\.product)), now: now)
      return verified.transactions.filter { transaction in
        asked.contains(transaction.id) && transaction.revokedDate == nil
          && catalog[transaction.product]?.product.type == .autoRenewableSubscription
          && (transaction.graceExpiresDate ?? transaction.expiresDate).map { $0 <= now } == true
          // An issue that it opens is owed, also one that has no released version yet.
          && report.products(claimedBy: transaction.id).isEmpty
      }.map(\.id)
    }
    guard !empty.isEmpty else { return [] }
    let settled = try await grantStore.database.write(
      locking: empty.map { .transaction($0, store) }
    ) { connection in
      try empty.filter { transaction in
        switch try OutboxTable.add(.finish, store: store, subject: transaction, at: now, in: connection) {
        case .waiting, .done: true
        case .parked, .dropped: false
        }
      }
    }
    outbox.wake()
    return settled
  }
}
