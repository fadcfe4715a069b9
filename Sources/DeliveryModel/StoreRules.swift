package import Commerce
import CoreTypes

/// The rules of a store about the accounts and devices that may use its purchases, as the operator decided.
/// docs/stores.md explains them for operators.
package struct StoreRules: Hashable, Sendable {
  /// How long a device is a customer's that does not show a proof any more.
  package static let silence: Duration = .seconds(90 * 86_400)
  /// The time for which store accounts are counted: the last day.
  package static let feedingWindow: Duration = .seconds(86_400)
  /// So many store accounts that buy for one application account within ``feedingWindow`` are irregular.
  package static let irregularPayers = 3

  /// The treatment of a purchase that another account claims.
  package var claims = ClaimRule.reject
  /// Devices of one customer that are granted something.
  package var deviceLimit = 10
  /// Whether what is irregular is refused, and not only listed.
  package var refusesIrregular = false

  /// Creates rules; the defaults are those of the configuration.
  package init(claims: ClaimRule = ClaimRule.reject, deviceLimit: Int = 10, refusesIrregular: Bool = false) {
    self.claims = claims
    self.deviceLimit = deviceLimit
    self.refusesIrregular = refusesIrregular
  }

  /// Whether a device that was never granted anything of the customer's finds a place beside those that were.
  package func hasPlace(besides devices: Int) -> Bool { devices < deviceLimit }
}

/// The treatment of a purchase that belongs to one application account and is claimed by another.
package enum ClaimRule: Hashable, Sendable {
  /// It stays with the first.
  case reject
  /// It is the one's who claimed it last, and no other's.
  case transfer
  /// So many accounts have it together.
  case share(Int)

  /// The numbers of accounts that may share a purchase.
  package static let shares = 2...1000

  /// Whether purchases that name one account are one customer's, also where several store accounts paid for them. Where they are not, naming another's
  /// account opens nothing of theirs.
  package var joinsAccounts: Bool { self != .reject }
}

/// A purchase and the application accounts that it belongs to. Pure.
///
///     var claim = PurchaseClaim(signed: transaction.account, holders: written)
///     claim.decide(on: request.account, by: .reject)
package struct PurchaseClaim: Hashable, Sendable {
  /// The decision on a claim, which the write that makes the grant carries out.
  package enum Decision: Hashable, Sendable {
    /// Nothing is to be written: it is the claimant's, or nothing is known of whose it is.
    case stands
    /// It belongs to these from now on.
    case belongs(to: [ApplicationAccount])
    /// It belongs to this account alone from now on, and the grants of others end.
    case transferred(to: ApplicationAccount)
    /// It belongs to others, and the rule gives it to no further account.
    case refused
  }

  /// Whom the store says that it was bought for.
  package var signed: ApplicationAccount?
  /// In the order of their claims; empty before the first that differs from ``signed``.
  package var holders: [ApplicationAccount]

  /// `signed` is nil where the purchase names no account; `holders` are in the order of their claims.
  package init(signed: ApplicationAccount? = nil, holders: [ApplicationAccount]) {
    self.signed = signed
    self.holders = holders
  }

  /// Returns the decision on the claim of an application account. A request that names no account asks for the account of
  /// the purchase: it binds nothing and takes nothing from others.
  package func decide(on named: ApplicationAccount?, by rule: ClaimRule) -> Decision {
    let present = holders.isEmpty ? [signed].compactMap { $0 } : holders
    guard let claimant = named ?? signed, !present.contains(claimant) else { return .stands }
    guard !present.isEmpty else { return .belongs(to: [claimant]) }
    switch rule {
    // Who claimed it before the store named an account has it no more.
    case .reject: return claimant == signed ? .belongs(to: [claimant]) : .refused
    case .transfer: return named == nil ? .refused : .transferred(to: claimant)
    case .share(let count): return present.count < count ? .belongs(to: present + [claimant]) : .refused
    }
  }
}

/// The conditions of a request for grants besides its orders, and the rules of its store.
package struct GrantConditions: Sendable {
  /// The rules of the store that the proof is of.
  package var rules = StoreRules()
  /// Whom the application asks for.
  package var account: ApplicationAccount?
  /// Whether the store may learn what was delivered; nil where that stays as it was.
  package var consentsToConsumption: Bool?

  /// Creates conditions; the defaults ask for nothing.
  package init(
    rules: StoreRules = StoreRules(), account: ApplicationAccount? = nil,
    consentsToConsumption: Bool? = nil
  ) {
    self.rules = rules
    self.account = account
    self.consentsToConsumption = consentsToConsumption
  }
}
