public import Commerce
public import CoreTypes
public import Entitlements
public import PullboxAPI

/// A publication as an operator writes it: the body of `PUT /v1/operator/publications/{id}`.
public struct PublicationDescription: Codable, Sendable, OperatorWritten {
  /// The publication's name; it may be left out, the address has it.
  public var id: ProductIdentifier?
  /// Texts by BCP 47 tag; none: lists show the identifier.
  public var localizations: [String: Product.Localization]?
  /// The product whose cover stands for the publication; absent for its latest issue.
  public var cover: ProductIdentifier?
  /// Where it stands in lists, 0 to 1,000,000: lower ones first, those without one last.
  public var order: Int?
  /// The policy of its subscriptions, which says what they open; absent for the defaults.
  public var policy: SubscriptionPolicy?

  /// Creates the description. What is nil is left out and gets its default.
  public init(
    id: ProductIdentifier? = nil, localizations: [String: Product.Localization]? = nil,
    cover: ProductIdentifier? = nil, order: Int? = nil, policy: SubscriptionPolicy? = nil
  ) {
    self.id = id
    self.localizations = localizations
    self.cover = cover
    self.order = order
    self.policy = policy
  }

  /// Creates the description of an existing publication.
  public init(of publication: OperatorPublication) {
    self.init(
      id: publication.id, localizations: publication.localizations, cover: publication.cover,
      order: publication.order, policy: publication.policy)
  }
}

/// The policy of a publication's subscriptions: what they open, and for how long. Members that are left out are as in
/// `PublicationPolicy.standard`.
public struct SubscriptionPolicy: Codable, Hashable, Sendable {
  /// Whether issues that a subscription opened stay open after it; true unless said.
  public var keepsIssuesAfterLapse: Bool?
  /// Whether the latest issue at the start of an uninterrupted run is opened; true unless said.
  public var latestIssueAtStart: Bool?
  /// How many issues before it are opened then, 0 to 1,000; none unless said.
  public var backIssues: Int?
  /// The longest gap between two periods that is no lapse, in seconds, a day at most; 300 unless said.
  public var toleranceSeconds: Int?
  /// Whether a subscription goes on in a store's grace; true unless said.
  public var servesInGrace: Bool?
  /// Whether it goes on while a store still tries to charge; false unless said.
  public var servesInBillingRetry: Bool?
  /// Whether issues of a grace that was never paid are open; false unless said.
  public var keepsIssuesOfUnrecoveredGrace: Bool?
  /// Whether devices leave the content of issues to those who have it when they own it no more; false unless said.
  public var keepsRevokedIssues: Bool?

  /// Creates the policy. What is nil gets its default.
  public init(
    keepsIssuesAfterLapse: Bool? = nil, latestIssueAtStart: Bool? = nil, backIssues: Int? = nil,
    toleranceSeconds: Int? = nil, servesInGrace: Bool? = nil, servesInBillingRetry: Bool? = nil,
    keepsIssuesOfUnrecoveredGrace: Bool? = nil, keepsRevokedIssues: Bool? = nil
  ) {
    self.keepsIssuesAfterLapse = keepsIssuesAfterLapse
    self.latestIssueAtStart = latestIssueAtStart
    self.backIssues = backIssues
    self.toleranceSeconds = toleranceSeconds
    self.servesInGrace = servesInGrace
    self.servesInBillingRetry = servesInBillingRetry
    self.keepsIssuesOfUnrecoveredGrace = keepsIssuesOfUnrecoveredGrace
    self.keepsRevokedIssues = keepsRevokedIssues
  }

  /// The policy as the entitlement rules take it.
  public var policy: PublicationPolicy {
    let standard = PublicationPolicy.standard
    return PublicationPolicy(
      keepsIssuesAfterLapse: keepsIssuesAfterLapse ?? standard.keepsIssuesAfterLapse,
      unlocksLatestIssue: latestIssueAtStart ?? standard.unlocksLatestIssue,
      backIssues: backIssues ?? standard.backIssues,
      tolerance: toleranceSeconds.map { .seconds($0) } ?? standard.tolerance,
      servesInGrace: servesInGrace ?? standard.servesInGrace,
      servesInBillingRetry: servesInBillingRetry ?? standard.servesInBillingRetry,
      keepsIssuesOfUnrecoveredGrace: keepsIssuesOfUnrecoveredGrace ?? standard.keepsIssuesOfUnrecoveredGrace,
      keepsRevokedIssues: keepsRevokedIssues ?? standard.keepsRevokedIssues)
  }
}

/// A publication as the operator sees it.
public struct OperatorPublication: Codable, Sendable {
  /// The publication.
  public var id: ProductIdentifier
  /// Texts by BCP 47 tag; may be empty.
  public var localizations: [String: Product.Localization]
  /// The product whose cover stands for it; absent for its latest issue.
  public var cover: ProductIdentifier?
  /// Where it stands in lists; absent for behind those that have one.
  public var order: Int?
  /// The policy of its subscriptions, as far as the operator gave one; absent for the defaults.
  public var policy: SubscriptionPolicy?
  /// When it was first described, by the server's clock.
  public var created: Timestamp
  /// When its description last changed, by the server's clock.
  public var changed: Timestamp

  /// Creates the document from its members.
  public init(
    id: ProductIdentifier, localizations: [String: Product.Localization], cover: ProductIdentifier?,
    order: Int?, policy: SubscriptionPolicy? = nil, created: Timestamp, changed: Timestamp
  ) {
    self.id = id
    self.localizations = localizations
    self.cover = cover
    self.order = order
    self.policy = policy
    self.created = created
    self.changed = changed
  }
}
