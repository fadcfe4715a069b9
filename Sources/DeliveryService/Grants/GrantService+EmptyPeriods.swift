import Commerce
import CoreTypes
import Database
import DeliveryRecords
import PaymentStores
import PullboxAPI

extension GrantService {
  /// Transactions of one question that are looked at.
  private static let maximumWaiting = 1000

  /// Has the store told that those of the transactions are finished which are periods of subscriptions that are over and
  /// open nothing: no completion will ever end them. Answers those; nil where none waits. What an operator decided not to
  /// call stays as it is, and so does
  /// a number that several of the stores and environments have, since nothing says which one is meant. `purchases` are the
  /// transactions of each.
  func finishEmptyPeriods(
    _ waiting: [TransactionIdentifier]?, of purchases: [[VerifiedTransaction]], now: Timestamp
  ) async throws -> [TransactionIdentifier]? {
    guard let waiting = waiting?.prefix(Self.maximumWaiting), !waiting.isEmpty else { return nil }
    let places = purchases.flatMap { Set($0.map(\.id)) }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    let asked = Set(waiting).filter { places[$0] == 1 }
    let empty = try await catalog.current { catalog -> [TransactionKey]? in
      guard try await grantStore.database.read({ try catalog.isCurrent(in: $0) }) else { return nil }
      var empty: [TransactionKey] = []
      for transactions in purchases {
        let record = try await record(of: transactions, catalog: catalog)
        let related = catalog.related(to: transactions.map(\.product) + record.products)
        let report = rules.evaluate(
          transactions, catalog: related, policies: catalog.policies, record: record, now: now)
        empty += transactions.filter { transaction in
          asked.contains(transaction.id) && transaction.revokedDate == nil
            && catalog[transaction.product]?.product.type == .autoRenewableSubscription
            && (transaction.graceExpiresDate ?? transaction.expiresDate).map { $0 <= now } == true
            // An issue that it opens is owed, also one that has no released version yet.
            && report.products(claimedBy: transaction.id).isEmpty
        }.map(\.key)
      }
      return empty
    }
    guard !empty.isEmpty else { return [] }
    let settled = try await grantStore.database.write(
      locking: empty.map { .transaction($0) }
    ) { connection in
      try empty.filter { transaction in
        let acknowledgement = try LedgerTable.acknowledgement(of: transaction, in: connection)
        let standing = try OutboxTable.add(
          OutboxEntry.Kind(ending: acknowledgement), of: transaction, payload: acknowledgement?.reference,
          at: now, in: connection)
        return switch standing {
        case .waiting, .done: true
        case .parked, .dropped: false
        }
      }
    }
    outbox.wake()
    return settled.map(\.id)
  }
}
