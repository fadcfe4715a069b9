package import CoreTypes
package import PullboxAPI
package import ServiceAPI

/// A test reader's account.
package struct Account: Hashable, Sendable {
  /// The row in the table of accounts. Transactions and subscriptions name their account by it, and so do app
  /// transactions (``AppTransactionIdentifier``).
  package let id: Int64
  /// The name of the account in answers. It is sixteen hexadecimal digits, and is not the name that a test
  /// gave the account.
  package let name: String
  /// ISO 3166 alpha-3.
  package let territory: String
  /// False where it may not buy.
  package var canMakePayments = true
  /// Whether another person must approve each purchase.
  package var asksToBuy = false
  /// How and when the account came by the application. Its next receipts and app transactions say so.
  package var application = ApplicationPurchase()
}

/// How an account came by the application itself. Unless a test says otherwise, as Apple's sandbox has it of every account.
package struct ApplicationPurchase: Hashable, Sendable {
  /// Bytes of a version that a test sets.
  static let lengths = 1...64

  /// Attribute 19 of app receipts, `original_application_version`: visible ASCII characters.
  package var originalVersion: String
  /// 2013-08-01T07:00:00Z unless a test sets another one.
  package var date: Timestamp
  /// The number of the download in app receipts; 0 for none.
  package var download: Int64

  package init(
    originalVersion: String = "1.0", date: Timestamp = Timestamp(millisecondsSinceEpoch: 1_375_340_400_000),
    download: Int64 = 0
  ) {
    self.originalVersion = originalVersion
    self.date = date
    self.download = download
  }

  /// Applies a test's change of the account. Throws `request-malformed`.
  ///
  /// - A date loses its milliseconds.
  /// - A change of the version or the date gives an account without a download one, whose number is that of
  ///   its app transaction. A `downloadId` in the change comes before that.
  /// - After a throw some members may be changed already, so that the caller drops the value.
  package mutating func take(_ change: AccountChange, account: Int64) throws(Problem) {
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
