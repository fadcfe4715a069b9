/// The payload of a signed app transaction: that an account has the application. Unless a test says
/// otherwise, the values are those that Apple's sandbox has for every application.
struct AppTransactionPayload: Codable, Hashable, Sendable {
  var receiptType: String
  var appAppleId: Int64?
  /// The application that the account has.
  var bundleId: String
  var applicationVersion = "1"
  var versionExternalIdentifier: Int64 = 0
  /// The date of the signature, in place of `signedDate`.
  var receiptCreationDate: Int64
  /// Milliseconds since the epoch, as ``receiptCreationDate``.
  var originalPurchaseDate: Int64
  var originalApplicationVersion: String
  /// The account (``AppTransactionIdentifier``).
  var appTransactionId: String
  var originalPlatform = "iOS"
}
