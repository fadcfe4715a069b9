import Commerce
package import CoreTypes
import Entitlements
package import PullboxAPI

/// How a product of the account stood when the server told of it last. Pure.
package struct KnownOwnership: Hashable, Sendable {
  package var isOwned: Bool
  /// A rule of docs/entitlements.md; nil where the server did not say.
  package var because: String?
  /// When it ends unless something is paid for again, or when it ended.
  package var until: Timestamp?
  /// Since when it is known to stand so.
  package var asOf: Timestamp
  /// Whether the publisher leaves the content to those who have it, where it is not owned any more.
  package var isKept = false
  /// Whether the server has content of it.
  package var isOffered = true
  /// Whether it is a consumable, which no license lists; nil where that was not told.
  package var isConsumable: Bool?

  /// Whether the other says the same, whenever that was.
  package func says(_ other: KnownOwnership?) -> Bool {
    isOwned == other?.isOwned && because == other?.because && until == other?.until
      && isKept == other?.isKept && isOffered == other?.isOffered
      && isConsumable == other?.isConsumable
  }

  /// Creates the ownership that follows from an entry of the feed and the ownership known before; nil for an entry that
  /// says nothing about ownership.
  package init?(_ entry: FeedEntry, after known: KnownOwnership?, at now: Timestamp) {
    switch entry.known {
    case .revoked:
      // What a subscription opened ends with it; anything else was refunded, or taken back otherwise.
      let lapsed = known.map { $0.isOwned ? $0.until.map { $0 <= now } ?? false : false } ?? false
      if let known, !known.isOwned {
        self = known
      } else {
        self.init(
          isOwned: false, because: (lapsed ? EntitlementRule.closedByLapse : .revoked).rawValue,
          until: lapsed ? known?.until : nil, asOf: now)
      }
      isKept = entry.keep == true
    case .issueAvailable, .correctionAvailable, .reinstated:
      if let known, known.isOwned {
        self = known
      } else {
        self.init(isOwned: true, because: nil, until: nil, asOf: now)
      }
      isOffered = true
    case .withdrawn:
      guard let known else { return nil }
      self = known
      isOffered = false
    case .subscriptionEnding, .subscriptionEnded, nil: return nil
    }
    // A feed tells of none.
    isConsumable = false
  }

  /// Creates the ownership of a product that the server lists as owned.
  package init(_ owned: EntitledProduct, at now: Timestamp) {
    self.init(
      isOwned: true, because: owned.because, until: owned.until, asOf: now, isConsumable: owned.consumable)
  }

  /// Whether its content belongs out of the tree that readers see: it was taken back, and the publisher does not leave it to those who have
  /// it. What only is in no license any more was not taken back, and moves nothing.
  package var withdrawsContent: Bool {
    !isOwned && !isKept && because != EntitlementRule.notBought.rawValue
  }

  package init(
    isOwned: Bool, because: String?, until: Timestamp?, asOf: Timestamp, isKept: Bool = false,
    isOffered: Bool = true, isConsumable: Bool? = nil
  ) {
    self.isConsumable = isConsumable
    self.isKept = isKept
    self.isOffered = isOffered
    self.isOwned = isOwned
    self.because = because
    self.until = until
    self.asOf = asOf
  }
}
