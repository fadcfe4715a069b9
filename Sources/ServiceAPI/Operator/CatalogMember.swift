public import Commerce
public import CoreTypes

/// A member that the items of an import describe, by the name of its column in a sheet: `type`, `price:FRA`,
/// `title:fr-FR`.
public enum CatalogMember: Hashable, Sendable, LosslessStringCodable {
  /// A member that an item has once.
  public enum Plain: String, CaseIterable, Sendable {
    case type
    case publication
    case publicationDate
    case period
    case onSale
    case samples
    case priceTier
    case availableFrom
    case availableUntil
    case application
    case privacyURL
    case ownedIfVersionBelow
    case ownedIfPurchaseBefore
    case keepRevoked
    case cover
    case order
  }

  case plain(Plain)
  /// A member of a publication's policy, which says what its subscriptions open.
  case policy(SubscriptionPolicy.Member)
  case title(locale: String)
  case text(locale: String)
  case terms(locale: String)
  case price(territory: String)
  case preserved(territory: String, before: Timestamp)

  /// Nil for what no column is called.
  public init?(_ name: String) {
    if let plain = Plain(rawValue: name) {
      self = .plain(plain)
      return
    }
    if let member = SubscriptionPolicy.Member(rawValue: name) {
      self = .policy(member)
      return
    }
    let parts = name.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
    guard parts.count >= 2, !parts[1].isEmpty else { return nil }
    switch (parts[0], parts.count) {
    case ("title", 2): self = .title(locale: parts[1])
    case ("description", 2): self = .text(locale: parts[1])
    case ("terms", 2): self = .terms(locale: parts[1])
    case ("price", 2): self = .price(territory: parts[1])
    case ("preserved", 3):
      guard let date = Timestamp(rfc3339: parts[2]) else { return nil }
      self = .preserved(territory: parts[1], before: date)
    default: return nil
    }
  }

  /// The member's name in the first row of a sheet.
  public var description: String {
    switch self {
    case .plain(let member): member.rawValue
    case .policy(let member): member.rawValue
    case .title(let locale): "title:\(locale)"
    case .text(let locale): "description:\(locale)"
    case .terms(let locale): "terms:\(locale)"
    case .price(let territory): "price:\(territory)"
    case .preserved(let territory, let before): "preserved:\(territory):\(before)"
    }
  }
}

extension SubscriptionPolicy {
  /// The names of its members.
  public enum Member: String, CaseIterable, Sendable {
    case keepsIssuesAfterLapse
    case latestIssueAtStart
    case backIssues
    case toleranceSeconds
    case servesInGrace
    case servesInBillingRetry
    case keepsIssuesOfUnrecoveredGrace
    case keepsRevokedIssues
  }

  /// Takes one member from another policy.
  public mutating func take(_ member: Member, from other: SubscriptionPolicy) {
    switch member {
    case .keepsIssuesAfterLapse: keepsIssuesAfterLapse = other.keepsIssuesAfterLapse
    case .latestIssueAtStart: latestIssueAtStart = other.latestIssueAtStart
    case .backIssues: backIssues = other.backIssues
    case .toleranceSeconds: toleranceSeconds = other.toleranceSeconds
    case .servesInGrace: servesInGrace = other.servesInGrace
    case .servesInBillingRetry: servesInBillingRetry = other.servesInBillingRetry
    case .keepsIssuesOfUnrecoveredGrace: keepsIssuesOfUnrecoveredGrace = other.keepsIssuesOfUnrecoveredGrace
    case .keepsRevokedIssues: keepsRevokedIssues = other.keepsRevokedIssues
    }
  }
}
