package import Commerce
package import CoreTypes
import PullboxAPI
package import Receipts

extension GoogleStoreClient {
  /// The transactions of an order that was refunded, as such. One that was never heard of is asked about.
  package func voided(
    _ order: GoogleOrder, _ token: GooglePurchaseToken, _ kind: GooglePurchaseKind?, at date: Timestamp
  ) async throws(StoreRefusal) -> [VerifiedTransaction] {
    var known: [VerifiedTransaction] = []
    for environment in StoreEnvironment.allCases {
      known += try await transactions(of: order, in: environment)
    }
    if known.isEmpty {
      do {
        if let purchase = try await purchase(with: token, of: kind) { known = try await taken(purchase) }
      } catch {
        guard case .final = error.kind else { throw error }
      }
    }
    // Not before anything that was said of them meanwhile: of two words of one moment the one that revokes counts.
    let moment = clock.now()
    let heard = memory.dates(of: known.map(\.key))
    return known.filter { $0.id == order.id || $0.isPart(of: order) }.map { transaction in
      let last = max(transaction.asOf, heard[transaction.key] ?? transaction.asOf)
      return transaction.revised(revokedDate: transaction.revokedDate ?? date, asOf: max(moment, last))
    }
  }

  /// The transactions of an order that the ledger has.
  private func transactions(
    of order: GoogleOrder, in environment: StoreEnvironment
  ) async throws(StoreRefusal) -> [VerifiedTransaction] {
    let key = TransactionKey(store: name, environment: environment, id: order.original)
    return try await remembered { try await memory.transactions(ofPurchases: [key]) }
      .filter { $0.id == order.id || $0.isPart(of: order) }
  }
}

extension VerifiedTransaction {
  /// Whether it is of one of several products of that order.
  fileprivate func isPart(of order: GoogleOrder) -> Bool {
    id.description.hasPrefix("\(order.id).p")
  }
}
