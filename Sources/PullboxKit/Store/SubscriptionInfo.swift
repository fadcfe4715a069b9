public import Commerce
public import CoreTypes
public import PullboxAPI
import PullboxAPIClient
import SystemCalls

/// The terms of a subscription, and how it stands.
///
/// ```swift
/// guard let status = try await SubscriptionInfo.status(for: "com.example.heroes") else { return }
/// if case .priceConsent = status.state { show(status.statusText) }
/// ```
public struct SubscriptionInfo: Hashable, Sendable {
  /// The publication whose issues it opens; of the subscriptions to one, an account has one at a time.
  public let group: ProductIdentifier
  /// How long one payment lasts; nil for one that has no end.
  public let period: BillingPeriod?
  /// The store's offer for the first payments; nil where it has none, or does not tell.
  public let introductoryOffer: AccountOffer?
  /// Whether the account gets the offer; nil where the store does not say.
  public let isEligible: Bool?
  /// `$4.99 a month`, `free for a week, then $4.99 a month`.
  public let displayTerms: String
  /// Until when a period of it is paid for; nil where none runs.
  public let subscribedUntil: Timestamp?

  /// Nil for a product that is no subscription.
  init?(_ product: Product) {
    guard product.type.isSubscription else { return nil }
    let (value, listing) = (product.value, product.value.listing)
    group = listing.publication ?? listing.id
    period = listing.period
    introductoryOffer = value.offers?.first { $0.kind == .introductory }
    isEligible = introductoryOffer?.eligible
    displayTerms = OfferText.terms(of: value)
    subscribedUntil = value.subscribedUntil
  }

  /// How the account's subscription to that publication stands, or that of the product; nil where it never had one. Where several ran, the one
  /// that runs now or ran last. Throws `APICallError`, with `store-unavailable` while the store is away.
  public static func status(
    for product: ProductIdentifier, from agent: AgentClient? = nil
  ) async throws -> Status? {
    let agent = try agent ?? AppStore.agent
    let found = try await agent.subscriptions()
    if let own = found.filter({ $0.product == product }).map({ Status($0, agent: agent) }).latest {
      return own
    }
    // By the publication: its page lists its subscriptions.
    let products: Set<ProductIdentifier>
    do {
      products = Set(try await agent.publication(product).subscriptions.map(\.listing.id))
    } catch {
      guard case .problem(let problem) = error, problem.code == .publicationUnknown else { throw error }
      return nil
    }
    return found.filter { products.contains($0.product) }.map { Status($0, agent: agent) }.latest
  }

  /// How a subscription stands.
  public struct Status: Sendable, Identifiable, Hashable {
    /// The subscription as the store tells it, with every member.
    public let value: StoreSubscription
    let agent: AgentClient

    init(_ value: StoreSubscription, agent: AgentClient) {
      self.value = value
      self.agent = agent
    }

    /// Its first transaction.
    public var id: TransactionIdentifier { value.originalId }
    /// The product that the present period was paid for, or the last one.
    public var product: ProductIdentifier { value.product }
    /// How it stands.
    public var state: RenewalState { RenewalState(value) }
    /// Whether it goes on at the end of the period.
    public var willAutoRenew: Bool { value.autoRenew && value.state != .expired }
    /// When the period ends.
    public var expires: Timestamp { value.expiresDate }
    /// A sentence for people, without a full stop.
    public var statusText: String { state.text(of: value) }

    /// Compares what the store tells.
    public static func == (left: Status, right: Status) -> Bool { left.value == right.value }
    /// By what the store tells.
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }

    /// The subscriptions of the account, and then each that is new or has changed. The store is asked when the agent was away, and after
    /// each transaction and each word of the server on what is owned: a renewal, an end, a refund. What only the store knows, a payment that
    /// failed or a higher price, shows with the next of these, or when an app begins the sequence anew, as it does when it comes to the front.
    public static var updates: SubscriptionStatusUpdates { SubscriptionStatusUpdates(agent: nil) }

    /// The same of an agent of one's own choice.
    public static func updates(from agent: AgentClient) -> SubscriptionStatusUpdates {
      SubscriptionStatusUpdates(agent: agent)
    }
  }

  /// How a subscription stands, by what an app does about it.
  public enum RenewalState: Hashable, Sendable {
    /// It is paid for.
    case subscribed
    /// The payment failed and is tried again; what was paid for serves on until then.
    case inGracePeriod(until: Timestamp)
    /// The payment failed and is tried again; it serves nothing meanwhile.
    case inBillingRetry
    /// It is paid for, and ends with its period unless the customer accepts the higher price.
    case priceConsent(PendingPrice)
    /// Its customer pays for no period for a while; it goes on by itself then, where the store says when.
    case paused(until: Timestamp?)
    /// It is over.
    case expired(Reason)
    /// The store has given its payment back, or taken it back.
    case revoked(Timestamp)

    /// Why a subscription is over.
    public enum Reason: Int, Hashable, Sendable {
      /// The customer ended it.
      case cancelled = 1
      /// The payment failed for as long as it was tried.
      case billing = 2
      /// A higher price was not accepted.
      case priceNotAccepted = 3
      /// The product is no longer for sale.
      case notForSale = 4
      /// The store does not say.
      case unknown = 0
    }

    /// By the store's word. The end of a grace period counts by `now`.
    init(_ subscription: StoreSubscription, now: Timestamp = SystemWallClock().now()) {
      if let revoked = subscription.revocationDate {
        self = .revoked(revoked)
        return
      }
      switch subscription.state {
      case .expired: self = .expired(subscription.expirationIntent.flatMap(Reason.init) ?? .unknown)
      case .paused: self = .paused(until: subscription.resumeDate)
      case .billingRetry:
        if let end = subscription.gracePeriodExpiresDate, now < end {
          self = .inGracePeriod(until: end)
        } else {
          self = .inBillingRetry
        }
      case .active:
        if let price = subscription.newPrice, price.needsConsent, !price.isAccepted, subscription.autoRenew {
          self = .priceConsent(price)
        } else {
          self = .subscribed
        }
      }
    }

    fileprivate func text(of subscription: StoreSubscription) -> String {
      let end = LocalTime.text(subscription.expiresDate)
      switch self {
      case .subscribed where !subscription.autoRenew: return "ends on \(end)"
      case .subscribed: return "is paid for until \(end), and goes on"
      case .inGracePeriod(let until):
        return "the payment failed; it serves until \(LocalTime.text(until)) while the store tries again"
      case .inBillingRetry:
        return "the payment failed; the store tries again, and nothing new comes meanwhile"
      case .priceConsent(let price):
        return
          "costs \(price.price.amount) \(price.price.currency) from \(end) on, if you accept that; otherwise it ends"
      case .paused(let until):
        return until.map { "is paused until \(LocalTime.text($0))" } ?? "is paused"
      case .expired(let reason):
        let why =
          switch reason {
          case .cancelled: ", since it was ended"
          case .billing: ", since the payment failed"
          case .priceNotAccepted: ", since the higher price was not accepted"
          case .notForSale: ", since it is no longer for sale"
          case .unknown: ""
          }
        return "is over since \(end)\(why)"
      case .revoked(let date): return "was refunded or revoked on \(LocalTime.text(date))"
      }
    }
  }
}

extension [SubscriptionInfo.Status] {
  /// One that runs before one that is over, and of these the one that ends last.
  var latest: SubscriptionInfo.Status? {
    self.max { left, right in
      let isOver = (left.value.state == .expired, right.value.state == .expired)
      return isOver.0 == isOver.1 ? left.expires < right.expires : isOver.0
    }
  }
}

/// The statuses of ``SubscriptionInfo/Status/updates``.
public struct SubscriptionStatusUpdates: AsyncSequence, Sendable {
  /// A subscription that is new or has changed.
  public typealias Element = SubscriptionInfo.Status
  /// `APICallError`, `HTTPClientError` or `CancellationError`.
  public typealias Failure = any Error

  let agent: AgentClient?

  /// Each iterator has a connection of its own.
  public func makeAsyncIterator() -> Iterator { Iterator(agent: agent) }

  /// Follows the agent.
  public struct Iterator: AsyncIteratorProtocol {
    private var followed: FollowedAgent
    private var known: [TransactionIdentifier: StoreSubscription] = [:]
    private var waiting: ArraySlice<StoreSubscription> = []
    private var hasAnswered = false

    fileprivate init(agent: AgentClient?) { followed = FollowedAgent(agent) }

    /// The next status; never nil.
    public mutating func next() async throws -> SubscriptionInfo.Status? {
      let agent = try followed.client()
      while waiting.isEmpty {
        guard let update = try await followed.next() else { return nil }
        guard update.mayChangeSubscriptions else { continue }
        do {
          waiting = try await agent.subscriptions().filter {
            known.updateValue($0, forKey: $0.originalId) != $0
          }[...]
          hasAnswered = true
        } catch {
          // The store is away; the next update asks again.
          guard error.isUnavailable, hasAnswered else { throw error }
        }
      }
      return waiting.popFirst().map { SubscriptionInfo.Status($0, agent: agent) }
    }
  }
}

extension AgentUpdate {
  /// Whether the store may tell something new of subscriptions behind it.
  var mayChangeSubscriptions: Bool {
    switch self {
    case .snapshot, .event(.transaction), .event(.owned): true
    case .event, .lost: false
    }
  }
}
