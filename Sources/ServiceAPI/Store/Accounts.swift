import Commerce
import CoreTypes
public import PullboxAPI

/// `POST /sandbox/v1/accounts`: a test reader.
public struct AccountRequest: Codable, Sendable, OperatorWritten {
  /// ISO 3166 alpha-3.
  public var territory: String
  /// The account's name, 1 to 100 bytes.
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

/// `PUT /sandbox/v1/time`, and its answer.
public struct StoreTime: Codable, Sendable, OperatorWritten {
  /// How long a month lasts: `real`, or a number of `s`, `m` or `h` from `2s` on.
  public var month: String
  /// After how many renewals a subscription ends: 0 to 100.
  public var renewals: Int

  /// Creates the document from its members.
  public init(month: String, renewals: Int) {
    self.month = month
    self.renewals = renewals
  }
}
