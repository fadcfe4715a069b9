import CoreTypes
import DeliveryModel
import DeliveryRecords
import PaymentStores
import PullboxAPI

extension OutboxEntry {
  /// The statement to the store about a purchase that may be refunded; nil for a call of another kind, and for a payload
  /// that is no statement.
  var consumption: ConsumptionStatement? {
    guard kind == .consumption, let payload else { return nil }
    return try? APIJSON.decode(ConsumptionStatement.self, from: Array(payload.utf8))
  }

  /// Whether the store would not take the call any more.
  func isOverdue(at now: Timestamp) -> Bool { consumption?.answerBy.map { $0 <= now } ?? false }
}
