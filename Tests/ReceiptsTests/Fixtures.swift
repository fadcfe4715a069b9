import Commerce
import CoreTypes
import Crypto
import Testing

@testable import Receipts

/// Key pairs cost a good part of a second, so the suites share one authority.
enum Fixtures {
  static let now = moment("2026-11-21T09:00:00Z")
  static let authority = Result { try ReceiptAuthority.generate(.init(now: now)) }
  /// A root of the same shape that nobody trusts.
  static let stranger = Result { try ReceiptAuthority.generate(.init(now: now)) }

  static func moment(_ text: String) -> Timestamp {
    guard let moment = Timestamp(rfc3339: text) else { preconditionFailure("not a date: \(text)") }
    return moment
  }

  static func purchase(_ transaction: String, product: String = "com.example.heroes.issue1") -> InAppPurchase
  {
    InAppPurchase(
      productIdentifier: product, transactionIdentifier: transaction,
      originalTransactionIdentifier: transaction,
      purchaseDate: now, originalPurchaseDate: now)
  }

  static func receipt(_ purchases: [InAppPurchase] = [purchase("2000000000000001")]) -> AppReceipt {
    AppReceipt(
      environmentName: "ProductionSandbox", bundleIdentifier: "com.example.pullbox", applicationVersion: "1",
      creationDate: now, purchases: purchases)
  }

  static func device(_ text: String) throws -> DeviceIdentifier { try #require(DeviceIdentifier(text)) }
}

extension [VerifiedTransaction] {
  /// Those of what is sold in an application, without the purchase of the application itself.
  var sold: [VerifiedTransaction] { filter { $0.origin == nil } }
}
