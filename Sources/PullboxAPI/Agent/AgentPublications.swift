/// `GET /v1/publications` of the agent: those of which something is sold to the agent's store account.
public struct AgentPublicationsResponse: Codable, Sendable {
  /// The account: prices are those of its territory.
  public var account: StoreAccount
  /// The publications of this page, in the operator's order.
  public var publications: [PublicationListing]
  /// The `after` of the next page's request; absent on the last page.
  public var next: String?

  /// Creates the document from its members.
  public init(account: StoreAccount, publications: [PublicationListing], next: String? = nil) {
    self.account = account
    self.publications = publications
    self.next = next
  }
}

/// `GET /v1/publications/{id}` and `GET /v1/singles` of the agent: what is for sale of one publication, or of none, and what the
/// account has of it.
public struct AgentPublicationResponse: Codable, Sendable {
  /// The account: prices are those of its territory.
  public var account: StoreAccount
  /// Absent for what belongs to no publication.
  public var publication: PublicationListing?
  /// Those that open the publication's issues, by identifier.
  public var subscriptions: [AgentProduct]
  /// The issues of this page, the newest first; what belongs to no publication by identifier.
  public var issues: [AgentProduct]
  /// The `after` of the next page's request; absent on the last page.
  public var next: String?

  /// Creates the document from its members.
  public init(
    account: StoreAccount, publication: PublicationListing?, subscriptions: [AgentProduct],
    issues: [AgentProduct], next: String? = nil
  ) {
    self.account = account
    self.publication = publication
    self.subscriptions = subscriptions
    self.issues = issues
    self.next = next
  }
}
