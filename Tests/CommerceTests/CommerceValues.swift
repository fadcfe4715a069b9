import Commerce
import CoreTypes
import Entitlements

// Values from their text. A test's own literal that is none ends the test run: it is a mistake in the test.

func product(_ text: String) -> ProductIdentifier {
  guard let value = ProductIdentifier(text) else { preconditionFailure("no product identifier: \(text)") }
  return value
}

func transaction(_ text: String) -> TransactionIdentifier {
  guard let value = TransactionIdentifier(text) else { preconditionFailure("no identifier: \(text)") }
  return value
}

func moment(_ text: String) -> Timestamp {
  guard let value = Timestamp(rfc3339: text) else { preconditionFailure("not a date: \(text)") }
  return value
}

/// Midnight in UTC.
func day(_ text: String) -> Timestamp { moment(text + "T00:00:00Z") }

func period(_ text: String) -> BillingPeriod {
  guard let value = BillingPeriod(text) else { preconditionFailure("no billing period: \(text)") }
  return value
}

func purchase(
  _ id: String, of product: ProductIdentifier, at purchased: Timestamp, until expires: Timestamp? = nil,
  revoked: Timestamp? = nil, store: StoreIdentifier = .sandbox, environment: StoreEnvironment = .sandbox,
  original: String? = nil, quantity: Int = 1
) -> VerifiedTransaction {
  VerifiedTransaction(
    vouchedForBy: store, in: environment, id: transaction(id), originalID: transaction(original ?? id),
    product: product, purchaseDate: purchased, expiresDate: expires, revokedDate: revoked, quantity: quantity)
}

extension VerifiedTransaction {
  /// The same purchase after a refund.
  func refunded(at date: Timestamp) -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: store, in: environment, id: id, originalID: originalID, product: self.product,
      purchaseDate: purchaseDate, expiresDate: expiresDate, revokedDate: date, quantity: quantity)
  }
}

extension Entitlement {
  static func owned(by id: String, _ reason: EntitlementRule) -> Entitlement {
    .owned(EntitlementClaim(transaction: transaction(id), reason: reason))
  }

  static func expired(with id: String) -> Entitlement { .expired(transaction(id)) }
  static func revoked(with id: String) -> Entitlement { .revoked(transaction(id)) }
}
