public import Commerce

/// The answer to `POST /v1/grants`: a recorded permission, and all that is needed to use it.
public struct GrantResponse: Codable, Sendable {
  public var grant: GrantIdentifier
  public var transaction: TransactionIdentifier
  public var download: DownloadTerms

  public init(grant: GrantIdentifier, transaction: TransactionIdentifier, download: DownloadTerms) {
    self.grant = grant
    self.transaction = transaction
    self.download = download
  }
}
