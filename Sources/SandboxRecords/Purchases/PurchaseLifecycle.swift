package import Commerce
package import CoreTypes
package import PullboxAPI

/// The state machine of one transaction: purchasing → purchased → purchased and finished, or purchasing →
/// failed; between them it may wait for a decision. A pure value whose only action is to be persisted, which its
/// ``Outcome`` asks for. Invariants: a purchase that has failed or was sold is not decided again; a sale is
/// finished once, and keeps its first date; only what was sold is revoked, and only a refund is taken back.
package struct PurchaseLifecycle: Hashable, Sendable {
  /// The terms under which a transaction was sold.
  package struct Sale: Hashable, Sendable {
    /// The cause of the transaction.
    package enum Reason: String, Hashable, Sendable {
      case purchase
      case renewal
      /// Nothing was charged: the account has it already.
      case restore
    }

    /// The product's type when it was sold, whatever the catalog says later.
    package var type: ProductType
    package var reason: Reason
    /// The first transaction of this purchase, which may be this one.
    package var originalID: Int64
    /// When it was sold, or when a renewal's period began.
    package var date: Timestamp
    /// When the first transaction was sold.
    package var originalDate: Timestamp
    /// The end of the period; nil for what is no auto-renewable subscription.
    package var expires: Timestamp?
    /// The price of one unit; nil for a free or a restored one.
    package var price: Price?
    /// When another product of the group took its place.
    package var upgraded: Timestamp?
    package var revocation: Revocation?
    /// Under what offer it was sold; nil for the product's own price.
    package var offer: SaleOffer?
    /// Since when a volume license of it that was withdrawn opens nothing; nil while it is held, and for what is none.
    package var licenseEnds: Timestamp?

    package init(
      type: ProductType, reason: Reason = .purchase, originalID: Int64, date: Timestamp,
      originalDate: Timestamp, expires: Timestamp? = nil, price: Price? = nil, upgraded: Timestamp? = nil,
      offer: SaleOffer? = nil
    ) {
      self.type = type
      self.reason = reason
      self.originalID = originalID
      self.date = date
      self.originalDate = originalDate
      self.expires = expires
      self.price = price
      self.upgraded = upgraded
      self.offer = offer
    }
  }

  /// The right that a sale gave has ended. The first one stands: an end of sharing after a refund changes
  /// nothing.
  package struct Revocation: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
      case refund
      /// Family sharing ended.
      case family
    }

    package var kind: Kind
    package var date: Timestamp
    /// The refunded percentage of the price, 1 to 100; nil without a refund.
    package var percentage: Int?
    /// 1 an issue with the app, 0 another.
    package var reason: Int

    package init(kind: Kind, date: Timestamp, percentage: Int? = nil, reason: Int = 0) {
      self.kind = kind
      self.date = date
      self.percentage = percentage
      self.reason = reason
    }
  }

  /// The decision that an undecided purchase waits for.
  package enum Wait: Hashable, Sendable {
    /// Another person's word, at most until then.
    case approval(until: Timestamp)
    /// The customer, who has something to fix.
    case customer
  }

  /// Where a transaction stands. `purchasing` and `waiting` are undecided, and the others final but for what
  /// changes within a sale.
  package enum State: Hashable, Sendable {
    case purchasing
    case waiting(Wait)
    /// It stays in the queue until it is finished. Finishing dates it.
    case purchased(Sale, finished: Timestamp?)
    /// Nothing is owed: it has left the queue.
    case failed(PurchaseFailure)
  }

  /// An event of a transaction. ``PurchaseLifecycle/handle(_:)`` says which event fits which state.
  package enum Event: Hashable, Sendable {
    /// The purchase is paid for, or what is owned was restored.
    case sold(Sale)
    /// The purchase fails, also one that waits.
    case refused(PurchaseFailure)
    /// A decision is waited for.
    case suspended(Wait)
    /// The purchase no longer waits: it is purchasing again.
    case resumed
    /// The delivery server has seen everything delivered that this transaction pays for.
    case finish(at: Timestamp)
    /// Another product of the group takes the place of what was sold.
    case upgraded(at: Timestamp)
    case revoked(Revocation)
    /// A refund is taken back.
    case reinstated
    /// The volume license was taken back: what was sold opens nothing from then on.
    case licenseWithdrawn(end: Timestamp)
  }

  package enum Outcome: Hashable, Sendable {
    case changed
    /// The event had happened before: there is nothing to persist, and the answer is the same.
    case unchanged
    /// The event does not fit the state, which stays.
    case refused
  }

  package private(set) var state: State

  init(_ state: State = .purchasing) {
    self.state = state
  }

  /// Applies an event. The pairs that change something:
  ///
  /// - purchasing: `sold`, `refused`, `suspended`;
  /// - waiting: `refused`, `resumed`;
  /// - purchased: `finish`, `upgraded` for what has a period, `revoked`, `reinstated` after a refund,
  ///   `licenseWithdrawn`.
  ///
  /// Every other pair is `refused`, also each event for what has failed. An event of a sale that happened
  /// before is `unchanged`.
  package mutating func handle(_ event: Event) -> Outcome {
    let next: State
    switch (state, event) {
    case (.purchasing, .sold(let sale)): next = .purchased(sale, finished: nil)
    case (.purchasing, .refused(let failure)), (.waiting, .refused(let failure)): next = .failed(failure)
    case (.purchasing, .suspended(let wait)): next = .waiting(wait)
    case (.waiting, .resumed): next = .purchasing
    case (.purchased(let sale, let finished), _):
      guard let changed = Self.sold(sale, finished: finished, event) else { return .refused }
      next = changed
    case (.purchasing, _), (.waiting, _), (.failed, _): return .refused
    }
    guard next != state else { return .unchanged }
    state = next
    return .changed
  }

  /// The state after an event of what was sold; nil where the event does not fit.
  private static func sold(_ sale: Sale, finished: Timestamp?, _ event: Event) -> State? {
    var sale = sale
    switch event {
    case .sold, .refused, .suspended, .resumed: return nil
    case .finish(let date): return .purchased(sale, finished: finished ?? date)
    case .upgraded(let date):
      guard sale.expires != nil else { return nil }
      sale.upgraded = sale.upgraded ?? date
    case .revoked(let revocation): sale.revocation = sale.revocation ?? revocation
    case .reinstated:
      guard sale.revocation?.kind == .refund else { return nil }
      sale.revocation = nil
    case .licenseWithdrawn(let end): sale.licenseEnds = sale.licenseEnds ?? end
    }
    return .purchased(sale, finished: finished)
  }
}

/// The offer under which a period was sold, as receipts tell it.
package struct SaleOffer: Hashable, Sendable, Codable {
  /// The kind of an offer, by its number in signed transactions.
  package enum Kind: Int, Hashable, Sendable, Codable {
    case introductory = 1
    case code = 3
  }

  package var kind: Kind
  package var payment: StoreOffer.Payment
  /// The name that its maker gave it. Answers tell it of codes alone.
  package var name: String?
  /// How long one payment of it lasts; nil for what was sold before that was kept.
  package var period: BillingPeriod?
}

/// Why a transaction failed. The text is what clients see in a transaction's `error`.
package struct PurchaseFailure: RawRepresentable, Hashable, Sendable {
  package let rawValue: String

  package init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The catalog does not sell it.
  package static let productUnknown = PurchaseFailure(rawValue: "product-unknown")
  package static let catalogUnavailable = PurchaseFailure(rawValue: "catalogue-unavailable")
  /// The account's subscription to that publication runs.
  package static let alreadySubscribed = PurchaseFailure(rawValue: "already-subscribed")
  /// It costs something else than its customer saw.
  package static let priceChanged = PurchaseFailure(rawValue: "price-changed")
  /// More than one of what is no consumable.
  package static let quantityRefused = PurchaseFailure(rawValue: "quantity-refused")
  /// A test asked for it.
  package static let paymentDeclined = PurchaseFailure(rawValue: "payment-declined")
  /// The customer thought better of it; an app shows no error.
  package static let paymentCancelled = PurchaseFailure(rawValue: "payment-cancelled")
  /// The account may not buy.
  package static let paymentNotAllowed = PurchaseFailure(rawValue: "payment-not-allowed")
  /// Another person did not approve it, or said nothing for a day.
  package static let notApproved = PurchaseFailure(rawValue: "not-approved")
  /// The store ended in the middle of the purchase and reported no sale: there was none.
  package static let interrupted = PurchaseFailure(rawValue: "interrupted")

  /// Whether nothing was decided about the order, so that its key is free for another try.
  package var isUndecided: Bool {
    [
      .productUnknown, .catalogUnavailable, .alreadySubscribed, .quantityRefused, .priceChanged, .interrupted,
    ].contains(self)
  }
}
