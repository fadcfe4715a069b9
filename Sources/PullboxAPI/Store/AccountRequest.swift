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
