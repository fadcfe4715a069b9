import Commerce
import CoreTypes
import Crypto
import Foundation
import Testing

@testable import Receipts

/// Documents as Google Play writes them, and a service account of the tests' own.
enum GoogleDocuments {
  static let key = RS256Key()
  static let now = Timestamp(millisecondsSinceEpoch: 1_800_000_000_000)

  static func keyFile(
    type: String = "service_account", key: String = key.pem,
    uri: String = "https://oauth2.googleapis.com/token"
  ) throws -> [UInt8] {
    Array(
      try JSONEncoder().encode([
        "type": type, "project_id": "p", "private_key_id": "k1", "private_key": key,
        "client_email": "server@p.iam.gserviceaccount.com", "client_id": "1", "token_uri": uri,
      ]))
  }

  static func token(_ text: String = "abc.AO-J1Ox_~") throws -> GooglePurchaseToken {
    try #require(GooglePurchaseToken(text))
  }

  /// A purchase of one product; members are replaced whole.
  static func product(_ changes: String = "") -> [UInt8] {
    document(
      """
      {"kind":"androidpublisher#productPurchaseV2","productLineItem":[{"productId":"com.example.issue1",
      "productOfferDetails":{"offerToken":"o","quantity":1,"consumptionState":"CONSUMPTION_STATE_YET_TO_BE_CONSUMED"}}],
      "purchaseStateContext":{"purchaseState":"PURCHASED"},"acknowledgementState":"ACKNOWLEDGEMENT_STATE_PENDING",
      "purchaseCompletionTime":"2027-01-15T08:00:00.123456Z","orderId":"GPA.3345-1111-2222-33333",
      "obfuscatedExternalAccountId":"reader-7","regionCode":"FR"}
      """, changes)
  }

  static func subscription(_ changes: String = "") -> [UInt8] {
    document(
      """
      {"kind":"androidpublisher#subscriptionPurchaseV2","subscriptionState":"SUBSCRIPTION_STATE_ACTIVE",
      "lineItems":[{"productId":"com.example.magazine.monthly","expiryTime":"2027-02-01T00:00:00Z",
      "latestSuccessfulOrderId":"GPA.3345-1111-2222-44444..0","autoRenewingPlan":{"autoRenewEnabled":true}}],
      "startTime":"2027-01-01T00:00:00Z","acknowledgementState":"ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED"}
      """, changes)
  }

  /// The document with the members of `changes`; null removes one.
  private static func document(_ text: String, _ changes: String) -> [UInt8] {
    func members(_ text: String) -> [String: Any] {
      (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
    }
    var merged = members(text)
    for (name, value) in members("{\(changes)}") { merged[name] = value is NSNull ? nil : value }
    return (try? JSONSerialization.data(withJSONObject: merged)).map { Array($0) } ?? []
  }

  static func date(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }
}

/// The orders that are known before.
struct KnownOrders: GoogleOrderHistory {
  var transactions: [VerifiedTransaction] = []

  func transaction(_ id: TransactionIdentifier, in environment: StoreEnvironment) -> VerifiedTransaction? {
    transactions.first { $0.id == id && $0.environment == environment }
  }

  func latestEnd(
    of original: TransactionIdentifier, besides id: TransactionIdentifier, in environment: StoreEnvironment
  ) -> Timestamp? {
    transactions.filter { $0.originalID == original && $0.id != id && $0.environment == environment }
      .compactMap(\.expiresDate).max()
  }
}
