import Commerce
import PullboxAPI
import PullboxAPIClient

extension Product {
  /// The outcome of a purchase.
  public enum PurchaseResult: Sendable {
    /// Everything is on this device, verified: nothing was charged for what was owned and here already.
    case delivered(Delivery)
    /// It is paid for, or was before, and its content is being fetched: await ``Transaction/delivered``.
    case delivering(Transaction)
    /// The store has not decided: a parent has to approve it, or the payment takes a while. ``Transaction/updates`` tells what comes of it.
    case pending(Transaction)
    /// Nothing was bought.
    case declined(Refusal)
  }

  /// Why nothing was bought.
  public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a refusal.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
      /// The buyer said no to the price.
      case cancelledByBuyer = "cancelled-by-buyer"
      /// The payment failed.
      case paymentFailed = "payment-failed"
      /// The price is another one by now: show it anew.
      case priceChanged = "price-changed"
      /// Purchases are not allowed to this account.
      case notAllowed = "not-allowed"
      /// This device is not among those of its account any more.
      case deviceLimit = "device-limit"
      /// It is not for sale, or subscribed to already.
      case notForSale = "not-for-sale"
    }

    /// The kind.
    public let reason: Reason
    /// A sentence for people, without a full stop.
    public let description: String

    /// Creates the refusal.
    public init(_ reason: Reason, _ description: String) {
      self.reason = reason
      self.description = description
    }

    /// Nil for a problem that decides nothing, such as a store that does not answer: that is thrown.
    init?(_ problem: Problem) {
      let reason: Reason
      switch problem.code {
      case .priceChanged: reason = .priceChanged
      case .deviceLimit: reason = .deviceLimit
      case .notPermitted, .forbidden: reason = .notAllowed
      case .productUnknown, .alreadySubscribed: reason = .notForSale
      default: return nil
      }
      self.init(reason, problem.description)
    }
  }

  /// The question to a buyer.
  public struct Offer: Sendable {
    /// The product that is bought.
    public let product: Product
    /// How many.
    public let quantity: Int
    /// `$2.99`, `free for a week, then $4.99 a month`, `2 × $0.99`.
    public let displayPrice: String
    /// Whether no money changes hands: the store is one for tests.
    public let isTest: Bool
  }

  /// Buys at the price that `confirm` was shown. What is owned already is not bought again: it is fetched, or here.
  ///
  /// ```swift
  /// switch try await product.purchase(confirm: { offer in await ask("Buy for \(offer.displayPrice)?") }) {
  /// case .delivered(let delivery): open(delivery.path)
  /// case .delivering(let transaction): open(try await transaction.delivered.path)
  /// case .pending: say("It waits for approval.")
  /// case .declined(let refusal): say(refusal.description)
  /// }
  /// ```
  ///
  /// Returns once the store has decided; the agent fetches the content whether the app waits or not. Throws `APICallError` where nothing was
  /// decided: no agent, or no store, answers. For what is owned and can be neither opened nor fetched now it throws `library-offline`, while the
  /// library's volume is not there, else `unavailable`. Runs on the actor of its caller, and so does `confirm`.
  ///
  /// - Parameters:
  ///   - quantity: 1 to 10; stores refuse more than 1 of anything but consumables.
  ///   - optsIn: whether the buyer gives the store contact data, for the bonus of a subscription.
  ///   - confirm: asked once, and only before something is bought; false buys nothing.
  nonisolated(nonsending) public func purchase(
    quantity: Int = 1, optsIn: Bool = false, confirm: (Offer) async throws -> Bool
  ) async throws -> PurchaseResult {
    if isHeld { return try await fetchHeld() }
    let offer = Offer(
      product: self, quantity: quantity,
      displayPrice: (quantity > 1 ? "\(quantity) × " : "")
        + (optsIn ? OfferText.terms(of: value) : OfferText.price(of: value)),
      isTest: storefront.environment != "Production")
    guard try await confirm(offer) else {
      return .declined(Refusal(.cancelledByBuyer, "nothing was bought"))
    }
    let shown = ShownPrice(of: value.listing, under: value.offer, with: optsIn ? value.bonusPeriod : nil)
    let begun: AgentTransaction
    do {
      begun = try await agent.buy(
        AgentPurchaseRequest(
          product: id, quantity: quantity == 1 ? nil : quantity, shown: shown, optIn: optsIn ? true : nil))
    } catch {
      guard case .problem(let problem) = error, let refusal = Refusal(problem) else { throw error }
      return .declined(refusal)
    }
    return try await PurchaseResult(Transaction(begun, agent: agent))
  }

  /// Nothing is bought: what is not here is fetched, also where that began before.
  private func fetchHeld() async throws -> PurchaseResult {
    if let here = try await placed() { return here }
    guard !type.isSubscription else {
      return .declined(Refusal(.notForSale, "\(displayName) is subscribed to already"))
    }
    let begun = try await agent.restore(AgentRestoreRequest(products: [id]))
    if let live = try await agent.downloads(.live).first(where: { brings($0) && !$0.state.isFinal }) {
      return .delivering(fetching(live))
    }
    // What began may have ended since.
    if let here = try await placed() { return here }
    if !begun.isEmpty, let ended = try await agent.downloads(limit: 1000).first(where: brings) {
      return .delivering(fetching(ended))
    }
    let item = try await agent.library().current(of: id)
    let isOffline = item?.state == .offline && item?.withdrawn != true
    guard !isOffline else { throw APICallError.problem(Problem(.libraryOffline)) }
    throw APICallError.problem(
      Problem(.unavailable, "\(displayName) is owned, but neither on this device nor being fetched"))
  }

  /// Nil unless the library holds it whole.
  private func placed() async throws -> PurchaseResult? {
    guard let item = try await agent.library().current(of: id), (item.state ?? .present) == .present else {
      return nil
    }
    return .delivered(Delivery(items: [item]))
  }

  /// Whether the download is of its content: one of a section brings no more than a part.
  private func brings(_ download: DownloadStatus) -> Bool {
    download.product == id && download.section == nil
  }

  /// The transaction that paid for it, for one who waits for the download.
  private func fetching(_ download: DownloadStatus) -> Transaction {
    Transaction(
      AgentTransaction(
        id: download.transaction, product: id, state: "restored", step: "delivering", reason: nil,
        error: nil, downloads: [download.id], title: download.title), fetching: [download.id], agent: agent)
  }
}

extension Product.PurchaseResult {
  /// How a transaction that the store has taken stands.
  init(_ transaction: Transaction) async throws {
    switch transaction.state {
    case .purchasing, .deferred: self = .pending(transaction)
    case .failed:
      self = .declined(
        Product.Refusal(.paymentFailed, transaction.statusText ?? "the payment failed"))
    case .finished: self = .delivered(try await transaction.delivery())
    case .purchased, .restored: self = .delivering(transaction)
    }
  }
}
