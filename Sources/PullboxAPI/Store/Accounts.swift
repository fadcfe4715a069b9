/// `POST /sandbox/v1/accounts`: a test reader.
public struct AccountRequest: Codable, Sendable {
  /// ISO 3166 alpha-3.
  public var territory: String
  /// What the account is called, 1 to 100 bytes.
  public var name: String

  /// Creates the request.
  public init(territory: String, name: String) {
    self.territory = territory
    self.name = name
  }
}

/// The answer to `POST /store/v1/accounts`: 201.
public struct AccountResponse: Codable, Sendable {
  /// The account's name in the store.
  public var account: String
  /// The bearer token for the account's requests; shown this once.
  public var token: String

  /// Creates the document from its members.
  public init(account: String, token: String) {
    self.account = account
    self.token = token
  }
}
