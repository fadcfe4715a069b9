public struct AccountResponse: Codable, Sendable {
  public var account: String
  /// The bearer token for the account's requests; shown this once.
  public var token: String

  public init(account: String, token: String) {
    self.account = account
    self.token = token
  }
}
