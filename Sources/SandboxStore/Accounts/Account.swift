/// A test reader's account.
struct Account: Hashable, Sendable {
  let id: Int64
  /// What the account is called in answers.
  let name: String
  /// ISO 3166 alpha-3.
  let territory: String
}
