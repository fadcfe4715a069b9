package import Commerce
import ContentDelivery
package import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import PaymentStores
import PullboxAPI
import ServiceAPI

extension GrantService {
  /// Puts in the outbox what was delivered of a purchase, for its store that asks before it decides on a refund. Answers
  /// whether it is told: only where a customer has agreed to that with a request for one of its grants. The store takes the answer
  /// until `end`. The call replaces an earlier one about the same transaction. Throws ``DatabaseError``.
  package func answerConsumptionRequest(
    about transaction: TransactionKey, until end: Timestamp
  ) async throws -> Bool {
    let handles = try await grantStore.database.read { connection in
      try GrantTable.all(paidBy: transaction, in: connection).map(\.handle)
    }
    // Asked before the write: what is written down meanwhile counts twice at most, and never more than all of it.
    let unrecorded = Dictionary(
      handles.map { ($0, recorder.unrecorded($0)) }, uniquingKeysWith: { first, _ in first })
    let now = grantStore.clock.now()
    let call = try await grantStore.database.write(locking: [.transaction(transaction)]) {
      connection -> Int64? in
      let grants = try GrantTable.all(paidBy: transaction, in: connection)
      guard try grants.contains(where: { try ConsentTable.contains($0.number, in: connection) }) else {
        return nil
      }
      var statement = try Self.statement(of: grants, besides: unrecorded, in: connection)
      statement.answerBy = end
      let payload = String(decoding: try APIJSON.encode(statement), as: UTF8.self)
      return try OutboxTable.renew(.consumption, of: transaction, payload: payload, at: now, in: connection)
    }
    guard let call else { return false }
    outbox.callAgain(call, of: transaction.store)
    return true
  }

  /// Returns the statement on a purchase. Of several grants of one product the best delivery counts: a
  /// completed one, then the one with more bytes. `unrecorded` are bytes that the table does not have yet.
  private static func statement(
    of grants: [GrantRecord], besides unrecorded: [DeliveryHandle: ByteCount],
    in connection: borrowing Connection
  ) throws -> ConsumptionStatement {
    var best: [ProductIdentifier: ConsumptionStatement.Delivery] = [:]
    var hadSample = false
    for grant in grants {
      let sent =
        try DeliveredBytesTable.bytes(of: grant.number, in: connection)
        + (unrecorded[grant.handle] ?? .zero)
      // An application for reading reports nothing, and what it was sent may be the same part again: that counts as its share alone.
      let delivery = ConsumptionStatement.Delivery(
        sent: sent, length: grant.length, isCompleted: grant.machine.wasCompleted)
      let known = best[grant.product]
      if known.map({ ($0.isCompleted ? 1 : 0, $0.sent) < (delivery.isCompleted ? 1 : 0, sent) }) ?? true {
        best[grant.product] = delivery
      }
      if try PreviewTable.hasSample(of: grant.product, grant.version, in: connection) { hadSample = true }
    }
    return ConsumptionStatement(of: Array(best.values), hadSample: hadSample)
  }
}
