/// `POST /sandbox/v1/accounts`: a test reader.
public struct AccountRequest: Codable, Sendable {
  /// ISO 3166 alpha-3.
  public var territory: String
  public var name: String

  public init(territory: String, name: String) {
    self.territory = territory
    self.name = name
  }
}

public struct AccountResponse: Codable, Sendable {
  public var account: String
  /// The bearer token for the account's requests; shown this once.
  public var token: String

  public init(account: String, token: String) {
    self.account = account
    self.token = token
  }
}
