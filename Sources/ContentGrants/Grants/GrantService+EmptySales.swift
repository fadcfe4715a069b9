import Commerce
import ContentCatalog
import CoreTypes
import Database
import DeliveryRecords
import Entitlements
import PaymentStores
import PullboxAPI

extension GrantService {
  /// Transactions of one question that are looked at.
  private static let maximumWaiting = 1000

  /// Has the store told that those of the transactions are finished which leave nothing to deliver to the device
  /// (``EmptySaleRule``): no completion will ever end them. Answers those; nil where none waits. What an operator decided not to
  /// call stays as it is, and so does a number that several of the stores and environments have, since nothing says which one is
  /// meant. `purchases` are the transactions of each.
  func finishEmptySales(
    _ waiting: [TransactionIdentifier]?, of purchases: [[VerifiedTransaction]], on device: DeviceIdentifier,
    now: Timestamp
  ) async throws -> [TransactionIdentifier]? {
    guard let waiting = waiting?.prefix(Self.maximumWaiting), !waiting.isEmpty else { return nil }
    let places = purchases.flatMap { Set($0.map(\.id)) }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    let asked = Set(waiting).filter { places[$0] == 1 }
    let empty = try await catalog.current { catalog -> [TransactionKey]? in
      guard try await grantStore.database.read({ try catalog.isCurrent(in: $0) }) else { return nil }
      let completed = try await grantStore.database.read { connection in
        try GrantTable.completed(on: [device], in: connection)
      }
      var empty: [TransactionKey] = []
      for shown in purchases {
        let (transactions, record) = try await history(beside: shown, catalog: catalog)
        let related = catalog.related(to: transactions.map(\.product) + record.products)
        let rule = EmptySaleRule(
          catalog: catalog,
          report: rules.evaluate(
            transactions, catalog: related, policies: catalog.policies, record: record, now: now),
          devices: [device], completed: completed, now: now)
        empty += shown.filter { asked.contains($0.id) && rule.isEmpty($0) }.map(\.key)
      }
      return empty
    }
    guard !empty.isEmpty else { return [] }
    let settled = try await grantStore.endEmptySales(empty, at: now)
    outbox.wake()
    return settled.map(\.id)
  }
}
