import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import ServiceRuntime

/// The offers that a reader of this device sees before a purchase: the products that the server sells in the territory of
/// the store account, and which of them the account has.
///
/// Nothing of it is kept longer than ``lifetime``, nor more than ``maximumKept`` answers; a question is asked once, however many
/// readers ask it at the same time.
struct Shop: Sendable {
  /// How long an answer of server or store serves.
  static let lifetime: Duration = .seconds(15)
  /// Lists of products that are kept.
  static let maximumKept = 32
  /// Identifiers that one request may ask for.
  static let maximumIdentifiers = 200

  /// All that an answer depends on, so that two accounts never share one.
  private struct ListQuestion: Hashable, Sendable {
    /// The names in the order of the request.
    var names: [String]
    /// The territory whose prices are told.
    var territory: String
    /// The application whose products are told beside the common ones; nil for none.
    var application: ApplicationIdentifier?
    /// The language of the texts; nil for each product's first.
    var locale: String?
    /// The moment since which the account subscribes, for preserved prices.
    var subscribedSince: Timestamp?
  }

  /// The account's products and subscriptions.
  private struct Holdings: Sendable {
    /// The products that the server counts as owned.
    var owned: Set<ProductIdentifier>
    /// The subscriptions as the store tells them.
    var subscriptions: [StoreSubscription]
    /// Until when those run that do not renew, which the store does not list.
    var seasons: [String: Timestamp]
    /// Since when its subscriptions run without a lapse.
    var since: [String: Timestamp]
  }

  /// Which page of a list is asked for.
  struct PageQuestion: Hashable, Sendable {
    /// The language of the texts; nil for each product's first.
    var locale: String?
    /// The `next` of the page before.
    var after: String?
    /// Items of the page, at most.
    var limit: Int
  }

  /// By the subscriptions that they are for.
  private typealias Offers = [ProductIdentifier: ProductAccountOffers]

  /// There is one account.
  private struct OfAccount: Hashable, Sendable {}

  /// The client of the store.
  private let store: StoreQueueClient
  /// The client of the delivery server.
  private let server: DeliveryClient
  /// The transactions, which know the account's holdings and the titles.
  private let transactions: TransactionManager
  /// The account of a moment ago.
  private let accounts: RecentAnswers<OfAccount, StoreAccount, Problem>
  /// Products of a moment ago, by all that their answer depends on.
  private let lists: RecentAnswers<ListQuestion, ProductsResponse, Problem>
  /// Pages of publications, by the parts of their question.
  private let publicationLists: RecentAnswers<[String], PublicationsResponse, Problem>
  /// Pages of issues, by the parts of their question.
  private let issueLists: RecentAnswers<[String], PublicationResponse, Problem>
  /// The holdings of a moment ago; forgotten after each purchase.
  private let holdings: RecentAnswers<OfAccount, Holdings, Problem>
  /// Offers of the store, by the subscriptions that were asked about.
  private let offerLists: RecentAnswers<[ProductIdentifier], Offers, APICallError>
  /// The log of offers that cannot be read.
  private let log: Log

  /// Asks nothing: the first reader's question does.
  init(
    store: StoreQueueClient, server: DeliveryClient, transactions: TransactionManager,
    clock: any MonotonicClock, log: Log
  ) {
    self.store = store
    self.server = server
    self.transactions = transactions
    self.log = log
    accounts = RecentAnswers(lifetime: Self.lifetime, clock: clock)
    lists = RecentAnswers(lifetime: Self.lifetime, capacity: Self.maximumKept, clock: clock)
    publicationLists = RecentAnswers(lifetime: Self.lifetime, capacity: Self.maximumKept, clock: clock)
    issueLists = RecentAnswers(lifetime: Self.lifetime, capacity: Self.maximumKept, clock: clock)
    holdings = RecentAnswers(lifetime: Self.lifetime, clock: clock)
    offerLists = RecentAnswers(lifetime: Self.lifetime, capacity: Self.maximumKept, clock: clock)
  }

  /// The products of these names; without names, the account alone. Throws `request-malformed` for too many, and the
  /// ``Problem`` that stands in the way: `store-unavailable`, `unavailable`. Products that are not for sale
  /// here are in `invalidProductIdentifiers`.
  func products(_ names: [String], locale: String?) async throws(Problem) -> AgentProductsResponse {
    guard names.count <= Self.maximumIdentifiers else {
      throw Problem(.requestMalformed, "at most \(Self.maximumIdentifiers) ids at once")
    }
    let account = try await account()
    guard !names.isEmpty else {
      return AgentProductsResponse(account: account, products: [], invalidProductIdentifiers: [])
    }
    let question = ListQuestion(
      names: names, territory: account.territory, application: account.application, locale: locale)
    let list = try await lists.value(of: question) { () async throws(Problem) in
      try await listed(names, for: account, locale: locale)
    }.value
    let held = try await held()
    let products = try await preserved(list.products, for: account, locale: locale, held: held)
    let offers = await offers(for: products)
    return AgentProductsResponse(
      account: account, products: products.map { Self.product($0, held: held, offers: offers) },
      invalidProductIdentifiers: list.invalidProductIdentifiers, nearest: list.nearest)
  }

  /// A page of the publications of which something is for sale. Throws as ``products(_:locale:)`` does.
  func publications(_ page: PageQuestion) async throws(Problem) -> AgentPublicationsResponse {
    let account = try await account()
    let list = try await asked("/v1/publications", page, account, in: publicationLists)
    return AgentPublicationsResponse(
      account: account, publications: list.publications, next: list.next)
  }

  /// A page of one publication's issues; of what belongs to none, for nil. Throws as ``products(_:locale:)`` does, and
  /// `publication-unknown`.
  func issues(
    of publication: ProductIdentifier?, _ page: PageQuestion
  ) async throws(Problem) -> AgentPublicationResponse {
    let account = try await account()
    let path = publication.map { "/v1/publications/\($0)" } ?? "/v1/singles"
    let list = try await asked(path, page, account, in: issueLists)
    let held = try await held()
    let subscriptions = try await preserved(
      list.publication?.subscriptions ?? [], for: account, locale: page.locale, held: held)
    let offers = await offers(for: subscriptions)
    return AgentPublicationResponse(
      account: account, publication: list.publication,
      subscriptions: subscriptions.map { Self.product($0, held: held, offers: offers) },
      issues: list.issues.map { Self.product($0, held: held) }, next: list.next)
  }

  /// Returns the store's offers for the subscriptions among `listings`. The result is empty where the store cannot say, and
  /// the next reader asks again. Without subscriptions, the store is not asked. A failure is no reason to
  /// show no shop.
  private func offers(for listings: [ProductListing]) async -> Offers {
    let subscriptions = Set(listings.filter { $0.type == .autoRenewableSubscription }.map(\.id)).sorted()
    guard !subscriptions.isEmpty else { return [:] }
    do {
      return try await offerLists.value(of: subscriptions) { () async throws(APICallError) in
        try await askedOffers(of: subscriptions)
      }.value
    } catch {
      return [:]
    }
  }

  /// One line for all who wait for the same answer.
  private func askedOffers(of subscriptions: [ProductIdentifier]) async throws(APICallError) -> Offers {
    do {
      return try await store.offers(of: subscriptions)
    } catch {
      // No reader waits any more.
      guard !Task.isCancelled else { throw error }
      let failure = StepFailure(error, from: .store)
      log.info(
        "what the store offers cannot be read",
        ["reason": "\(failure.reason)", "cause": LogValue(failure.cause ?? "-")])
      throw error
    }
  }

  /// The same, the subscriptions that the account has with the prices that they go on at: those may be
  /// preserved from before a change. Asks the server once for each such subscription, one after the other.
  private func preserved(
    _ listings: [ProductListing], for account: StoreAccount, locale: String?, held: Holdings
  ) async throws(Problem) -> [ProductListing] {
    var listings = listings
    for index in listings.indices {
      let listing = listings[index]
      guard let since = held.since[listing.id.description] else { continue }
      let question = ListQuestion(
        names: [listing.id.description], territory: account.territory, application: account.application,
        locale: locale, subscribedSince: since)
      let list = try await lists.value(of: question) { () async throws(Problem) in
        try await listed(question.names, for: account, locale: locale, subscribedSince: since)
      }.value
      listings[index] = list.products.first ?? listing
    }
    return listings
  }

  /// Asks the server where no answer is kept.
  private func asked<Value: Decodable & Sendable>(
    _ path: String, _ page: PageQuestion, _ account: StoreAccount,
    in lists: RecentAnswers<[String], Value, Problem>
  ) async throws(Problem) -> Value {
    let question = [
      path, account.territory, account.application?.description ?? "", page.locale ?? "", page.after ?? "",
      "\(page.limit)",
    ]
    return try await lists.value(of: question) { () async throws(Problem) in
      try await asked(path, page, for: account)
    }.value
  }

  /// Asks the server now.
  private func asked<Value: Decodable & Sendable>(
    _ path: String, _ page: PageQuestion, for account: StoreAccount
  ) async throws(Problem) -> Value {
    do {
      return try await server.list(
        path, for: account, locale: page.locale, after: page.after, limit: page.limit, as: Value.self)
    } catch {
      throw error.problem(of: .server)
    }
  }

  /// Asks what a product is called, which its download then has before its manifest came. Without an answer it has no title
  /// until then.
  func noteTitle(of product: ProductIdentifier) async { await noteTitles(of: [product]) }

  /// The same for many, so many at once as one question may name.
  func noteTitles(of products: [ProductIdentifier]) async {
    guard !products.isEmpty, let account = try? await account() else { return }
    for start in stride(from: 0, to: products.count, by: Self.maximumIdentifiers) {
      let names = products.dropFirst(start).prefix(Self.maximumIdentifiers).map(\.description)
      // One that is not answered is followed by none that would be.
      guard (try? await listed(names, for: account, locale: nil)) != nil else { return }
    }
  }

  /// Forgets the account's products and offers, so that the next question asks for them again. Called after
  /// everything that may change what the account has.
  func forgetHoldings() async {
    await holdings.removeAll()
    await offerLists.removeAll()
  }

  /// Returns what a code gives the account, with the product as the server sells it, where that answers. Nothing is redeemed. Throws
  /// `store-unavailable`, and the store's refusal of the code.
  func preview(of code: GiftCode, locale: String?) async throws(Problem) -> AgentCodePreview {
    let account = try await account()
    let preview: CodePreview?
    do {
      preview = try await store.preview(of: code)
    } catch {
      throw error.problem(of: .store)
    }
    guard let preview else { return AgentCodePreview(account: account) }
    let list = try? await listed([preview.product.description], for: account, locale: locale)
    return AgentCodePreview(
      account: account, preview: preview, listing: list?.products.first { $0.id == preview.product })
  }

  /// The account's subscriptions, also those that are over. Throws `store-unavailable`, or what the store answers.
  func subscriptions() async throws(Problem) -> SubscriptionsResponse {
    do {
      return try await store.subscriptions()
    } catch {
      throw error.problem(of: .store)
    }
  }

  /// Changes what comes after the present period. Throws as ``subscriptions()`` does: `subscription-unknown`,
  /// `state-conflict`.
  func change(
    _ subscription: TransactionIdentifier, to change: SubscriptionChange
  ) async throws(Problem) -> StoreSubscription {
    do {
      let changed = try await store.change(subscription, to: change)
      await forgetHoldings()
      return changed
    } catch {
      throw error.problem(of: .store)
    }
  }

  /// Asks the store for a refund of a transaction. Throws what it refuses, and `not-implemented` of a store that takes no such request from
  /// a program.
  func requestRefund(
    of transaction: TransactionIdentifier, _ application: RefundApplication
  ) async throws(Problem) {
    let told: StoreTransaction?
    do {
      told = try await store.requestRefund(of: transaction, application)
    } catch {
      throw error.problem(of: .store)
    }
    guard told != nil else {
      throw Problem(
        .notImplemented,
        "the store takes no request for a refund from a program; it is asked where things are bought there")
    }
  }

  /// The territory of the store's account, whose prices its owner pays.
  func territory() async throws(Problem) -> String { try await account().territory }

  /// The store's account, kept for a moment.
  private func account() async throws(Problem) -> StoreAccount {
    try await accounts.value(of: OfAccount(), asking: askedAccount).value
  }

  /// Asks the store now.
  private func askedAccount() async throws(Problem) -> StoreAccount {
    do {
      return try await store.account()
    } catch {
      throw error.problem(of: .store)
    }
  }

  /// Asks the server for its products now. Their titles serve downloads until the manifests are read.
  private func listed(
    _ names: [String], for account: StoreAccount, locale: String?, subscribedSince: Timestamp? = nil
  ) async throws(Problem) -> ProductsResponse {
    let list: ProductsResponse
    do {
      list = try await server.products(names, for: account, locale: locale, subscribedSince: subscribedSince)
    } catch {
      throw error.problem(of: .server)
    }
    for listing in list.products { transactions.titles.noteListed(listing.title, of: listing.id) }
    return list
  }

  /// The server's and the store's word together. Throws where either cannot be asked: a shop that does not
  /// know what is owned would sell it again.
  private func held() async throws(Problem) -> Holdings {
    try await holdings.value(of: OfAccount()) { () async throws(Problem) in
      let held = try await transactions.holdings()
      return Holdings(
        owned: Set(held.products.map(\.product)), subscriptions: try await subscriptions().subscriptions,
        seasons: held.subscribedUntil ?? [:], since: held.subscribedSince ?? [:])
    }.value
  }

  /// The offers are those that the store told; without them `offers` is nil, which says nothing of
  /// eligibility.
  private static func product(
    _ listing: ProductListing, held: Holdings, offers: Offers = [:]
  ) -> AgentProduct {
    // While the store tries again to be paid, and serves no grace, it may be bought anew.
    let running = held.subscriptions.first {
      $0.product == listing.id
        && ($0.state == .active || $0.state == .billingRetry && $0.gracePeriodExpiresDate != nil)
    }
    let season = listing.type == .nonRenewingSubscription ? held.seasons[listing.id.description] : nil
    let told = offers[listing.id]
    return AgentProduct(
      listing: listing, owned: listing.type == .nonConsumable && held.owned.contains(listing.id),
      subscribedUntil: running.map { $0.gracePeriodExpiresDate ?? $0.expiresDate } ?? season,
      offers: told.flatMap { $0.offers.isEmpty ? nil : $0.offers }, bonus: told?.bonus)
  }
}
