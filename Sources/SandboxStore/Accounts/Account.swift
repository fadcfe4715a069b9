import CoreTypes
import PullboxAPI

/// A test reader's account.
struct Account: Hashable, Sendable {
  let id: Int64
  /// The name of the account in answers.
  let name: String
  /// ISO 3166 alpha-3.
  let territory: String
  /// False where it may not buy.
  var canMakePayments = true
  /// Whether another person must approve each purchase.
  var asksToBuy = false
  var application = ApplicationPurchase()
}

/// How an account came by the application itself. Unless a test says otherwise, as Apple's sandbox has it of every account.
struct ApplicationPurchase: Hashable, Sendable {
  static let lengths = 1...64

  var originalVersion = "1.0"
  /// 2013-08-01T07:00:00Z.
  var date = Timestamp(millisecondsSinceEpoch: 1_375_340_400_000)
  /// The number of the download in app receipts; 0 for none.
  var download: Int64 = 0

  /// Applies a test's change of the account. Throws `request-malformed`.
  mutating func take(_ change: AccountChange, account: Int64) throws(Problem) {
    if let version = change.originalApplicationVersion {
      guard Self.lengths.contains(version.utf8.count),
        version.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
      else {
        throw Problem(.requestMalformed, "originalApplicationVersion has 1 to 64 visible characters (ASCII)")
      }
      originalVersion = version
    }
    if let date = change.originalPurchaseDate {
      guard date.secondsSinceEpoch >= 0 else {
        throw Problem(.requestMalformed, "originalPurchaseDate is not before 1970")
      }
      self.date = date.wholeSeconds
    }
    if let number = change.downloadId {
      guard number >= 0 else { throw Problem(.requestMalformed, "downloadId is not below 0") }
      download = number
    } else if download == 0, change.originalApplicationVersion != nil || change.originalPurchaseDate != nil {
      download = Int64(AppTransactionIdentifier(account: account).text) ?? account
    }
  }
}
