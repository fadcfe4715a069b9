/// The name of an account's copy of the application: `70` and sixteen digits.
package struct AppTransactionIdentifier: Hashable, Sendable {
  package let account: Int64

  package init(account: Int64) {
    self.account = account
  }

  /// Nil for any other text, such as a transaction's identifier.
  package init?(_ text: String) {
    guard text.utf8.count == 18, text.hasPrefix(Self.prefix),
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let account = Int64(text.dropFirst(Self.prefix.count))
    else { return nil }
    self.account = account
  }

  /// Two digits, then the row of the account with zeros before it.
  package var text: String {
    let digits = String(account)
    return Self.prefix + String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
  }

  private static let prefix = "70"
}
