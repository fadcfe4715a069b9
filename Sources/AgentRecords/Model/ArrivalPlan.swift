package import Commerce
import CoreTypes
package import PullboxAPI

/// The policy for arrivals: which of them the agent fetches without being asked.
public enum ArrivalPolicy: String, CaseIterable, Sendable, Codable {
  /// The newest issue of each publication that was told at one time, and corrections of what is in the library.
  case latest
  /// Every issue, and corrections of what is in the library.
  case all
  /// Nothing: what has arrived is listed.
  case ask
  /// Nothing, and nothing is listed.
  case nothing = "none"
}

/// The arrival policies of all publications.
package struct ArrivalPolicies: Equatable, Sendable {
  /// The policy for publications without one of their own, and for products that belong to no publication.
  package var standard: ArrivalPolicy
  /// By publication.
  package var own: [ProductIdentifier: ArrivalPolicy]

  /// Creates the policies.
  package init(_ standard: ArrivalPolicy = .latest, own: [ProductIdentifier: ArrivalPolicy] = [:]) {
    self.standard = standard
    self.own = own
  }

  /// Returns the policy for issues of the publication.
  package subscript(_ publication: ProductIdentifier?) -> ArrivalPolicy {
    publication.flatMap { own[$0] } ?? standard
  }

  /// Whether nothing is fetched of anything, and nothing listed.
  package var areNothing: Bool { standard == .nothing && own.values.allSatisfy { $0 == .nothing } }
}

/// Chooses from what a feed tells what is to be fetched, and what is to be listed. Pure.
package struct ArrivalPlan: Equatable, Sendable {
  /// To be fetched, in the order in which it was told.
  package private(set) var fetched: [FeedEntry] = []
  /// To be listed, until the reader asks for it.
  package private(set) var listed: [FeedEntry] = []
  /// A subscription has ended as far as the server has heard: a renewal shows in a newer receipt.
  package private(set) var needsReceipt = false

  /// `held` is the newest whole version of each product in the library; `expected` are products that were told of and are not
  /// there yet.
  package init(
    _ entries: [FeedEntry], policies: ArrivalPolicies, held: [ProductIdentifier: ContentVersion],
    expected: Set<ProductIdentifier> = []
  ) {
    needsReceipt = entries.contains { $0.known == .subscriptionEnded }
    let arrived = entries.filter {
      Self.isNews($0, held: held[$0.product], isExpected: expected.contains($0.product))
    }
    let offered: Set<FeedEntry.Kind?> = [.issueAvailable, .correctionAvailable, .reinstated]
    let news = Set(arrived.map(\.product))
    let newest = Self.newestIssues(
      of: entries.filter {
        held[$0.product] == nil ? news.contains($0.product) : $0.version != nil && offered.contains($0.known)
      })
    for entry in arrived {
      switch policies[entry.publication] {
      case .nothing: break
      case .ask: listed.append(entry)
      case .all: fetched.append(entry)
      case .latest:
        // What was to come does, whatever is told beside it.
        if held[entry.product] != nil || newest.contains(entry.product) || expected.contains(entry.product) {
          fetched.append(entry)
        }
      }
    }
  }

  /// A correction is one of what is here or was to come; what was removed here stays away.
  private static func isNews(_ entry: FeedEntry, held: ContentVersion?, isExpected: Bool) -> Bool {
    guard let version = entry.version else { return false }
    switch entry.known {
    case .issueAvailable, .reinstated: return held.map { $0 < version } ?? true
    case .correctionAvailable: return held.map { $0 < version } ?? isExpected
    case .revoked, .withdrawn, .subscriptionEnding, .subscriptionEnded, nil: return false
    }
  }

  /// One of each publication: the one that appeared last. What is of none stands for itself.
  private static func newestIssues(of entries: [FeedEntry]) -> Set<ProductIdentifier> {
    var newest: [ProductIdentifier: FeedEntry] = [:]
    for entry in entries {
      let series = entry.publication ?? entry.product
      if let other = newest[series], let date = other.publicationDate,
        entry.publicationDate.map({ $0 < date }) ?? true
      {
        continue
      }
      newest[series] = entry
    }
    return Set(newest.values.map(\.product))
  }
}
