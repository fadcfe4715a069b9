/// The payload of a signed app transaction: that an account has the application. Unless a test says
/// otherwise, the values are those that Apple's sandbox has for every application.
package struct AppTransactionPayload: Codable, Hashable, Sendable {
  package var receiptType: String
  package var appAppleId: Int64?
  /// The application that the account has.
  package var bundleId: String
  package var applicationVersion = "1"
  package var versionExternalIdentifier: Int64 = 0
  /// The date of the signature, in place of `signedDate`.
  package var receiptCreationDate: Int64
  /// Milliseconds since the epoch, as ``receiptCreationDate``.
  package var originalPurchaseDate: Int64
  package var originalApplicationVersion: String
  /// The account (``AppTransactionIdentifier``).
  package var appTransactionId: String
  package var originalPlatform = "iOS"

  package init(
    receiptType: String, appAppleId: Int64?, bundleId: String, receiptCreationDate: Int64,
    originalPurchaseDate: Int64, originalApplicationVersion: String, appTransactionId: String
  ) {
    self.receiptType = receiptType
    self.appAppleId = appAppleId
    self.bundleId = bundleId
    self.receiptCreationDate = receiptCreationDate
    self.originalPurchaseDate = originalPurchaseDate
    self.originalApplicationVersion = originalApplicationVersion
    self.appTransactionId = appTransactionId
  }
}
