import Commerce
import CoreTypes
import Crypto
import Database
import PullboxAPI
import SandboxRecords
import ServiceAPI
import ServiceRuntime

extension PaymentStore {
  /// Sets what a product offers to new subscribers. Throws `request-malformed`, and `too-many-requests` beyond the
  /// store's limit. What the product offered before is replaced.
  func setOffers(_ offers: ProductOffers, of name: String) async throws -> ProductOffers {
    guard let product = ProductIdentifier(name) else {
      throw Problem(.requestMalformed, "\(name) names no product")
    }
    try offers.introductory?.check()
    guard offers.bonus.map(Self.isBonus) ?? true else {
      throw Problem(.requestMalformed, "a bonus is of three months at most")
    }
    try await database.write(locking: [.everything]) { [limits] connection in
      let isNew = try OfferTable.find(product, in: connection) == nil
      guard try !isNew || OfferTable.count(in: connection) < limits.offers else {
        throw Problem(.tooManyRequests, "the store holds offers of \(limits.offers) products")
      }
      try OfferTable.put(offers, of: product, in: connection)
    }
    return offers
  }

  /// At most three months: 90 days, 12 weeks or 3 months.
  private static func isBonus(_ period: BillingPeriod) -> Bool {
    switch period.unit {
    case .day: period.count <= 90
    case .week: period.count <= 12
    case .month: period.count <= 3
    case .year: false
    }
  }

  /// Returns the offers of these products to the account in its territory, and their bonus. Products that offer nothing or are
  /// not for sale are left out. The answer is in the order of `products`. The catalog is asked about one
  /// after the other, and may throw `catalogue-unavailable`.
  func offers(
    of products: [ProductIdentifier], to account: Account
  ) async throws -> [ProductAccountOffers] {
    let offered = try await database.read { connection in
      try products.compactMap { product -> (product: ProductIdentifier, offers: ProductOffers)? in
        guard let offers = try OfferTable.find(product, in: connection), offers != ProductOffers() else {
          return nil
        }
        return (product, offers)
      }
    }
    var found: [ProductAccountOffers] = []
    for (product, offers) in offered {
      let listing = try await catalog.listing(of: product, territory: account.territory, device: nil)
      guard let listing, listing.type == .autoRenewableSubscription else { continue }
      let run = offers.introductory?.run(.introductory, in: account.territory)
      guard run != nil || offers.bonus != nil else { continue }
      let gets = try await database.read { connection in
        try Self.firstTerms(of: account, listing.publication ?? product, product, in: connection)
      }
      var told = ProductAccountOffers(product: product, offers: [])
      if let offer = offers.introductory, let run {
        told.offers.append(
          AccountOffer(
            kind: .introductory, payment: offer.payment, period: offer.period, payments: run.paymentsLeft,
            price: run.price, eligible: gets.introduction))
      }
      told.bonus = offers.bonus.map { AccountBonus(period: $0, eligible: gets.bonus) }
      found.append(told)
    }
    return found
  }

  /// Whether a purchase would be an introduction, and whether it would have the bonus: none was given yet, and no subscription to the
  /// group runs, whose change is neither.
  private static func firstTerms(
    of account: Account, _ group: ProductIdentifier, _ product: ProductIdentifier,
    in connection: borrowing Connection
  ) throws -> (introduction: Bool, bonus: Bool) {
    let earlier = try SubscriptionTable.find(
      in: connection, account: account.id, group: group, product: product)
    guard let earlier else { return (true, true) }
    let last = try TransactionTable.last(in: connection, account: account.id, originalID: earlier.originalID)
    let isRunning = earlier.life.isRunning && last?.sale.map { $0.revocation == nil } == true
    return (
      earlier.life.hasHadIntroduction != true && !isRunning, earlier.life.hasHadBonus != true && !isRunning
    )
  }

  /// Makes a code of sixteen random hexadecimal digits. The product is not looked up before the code is used.
  /// Throws `request-malformed` for a number of uses outside of 1 to 1,000,000 and an offer that cannot be,
  /// and `too-many-requests` beyond the store's limit.
  func makeCode(_ request: CodeRequest) async throws -> StoreCode {
    guard (1...1_000_000).contains(request.uses) else {
      throw Problem(.requestMalformed, "uses is from 1 to 1,000,000")
    }
    try request.offer?.check()
    let code = StoredCode(
      code: Hexadecimal.encode(RandomBytes.make(8)).uppercased(), product: request.product,
      offer: request.offer, uses: request.uses)
    try await database.write(locking: [.everything]) { [limits] connection in
      guard try CodeTable.count(in: connection) < limits.codes else {
        throw Problem(.tooManyRequests, "the store holds \(limits.codes) codes")
      }
      try CodeTable.insert(code, in: connection)
    }
    return StoreCode(code: code.code, product: code.product, uses: code.uses)
  }

  /// Sells what the code is good for, which belongs to no device and is not charged beyond what the code's offer says. Of a
  /// subscription that runs it changes the next renewal, and the answer is the transaction of the period that runs; where the
  /// code is for more than that, it begins at once.
  /// A repetition with the same key is answered as the first request was.
  /// Throws `not-found`, `product-unknown`, `state-conflict` for a code that is used up, that the account has redeemed, or
  /// that has no price there, for what it owns, and while another code's offer waits for the next renewal; then the code is as
  /// it was. The sale and the use of the code are one database transaction.
  func redeem(_ text: String, by account: Account, key: String? = nil) async throws -> StoreTransaction {
    let (found, answer) = try await database.read { connection in
      (
        try CodeTable.find(text, in: connection),
        try key.flatMap { try CodeTable.answer(to: $0, of: text, account: account.id, in: connection) }
      )
    }
    guard let code = found else { throw Problem(.notFound, "there is no such code") }
    if let answer { return try answer.published }
    let listing = try await listing(of: code, for: account)
    defer { renewals.wake() }
    return try await database.write(locking: [.everything]) { [limits, clock, environment] connection in
      // The same request may have come twice at once.
      if let key, let answer = try CodeTable.answer(to: key, of: text, account: account.id, in: connection) {
        return try answer.published
      }
      let sold = try Self.sell(
        listing, by: code, to: account, at: clock.now(), environment: environment, limits: limits,
        in: connection
      ).sold
      try CodeTable.redeem(text, account: account.id, key: key, for: sold, in: connection)
      return try sold.published
    }
  }

  /// Returns what the code gives the account, if it is redeemed now. It is redeemed, and that is undone: so the refusals are those of
  /// ``redeem(_:by:key:)``, which this throws. It needs the writer, as a redemption does.
  func preview(of text: String, for account: Account) async throws -> CodePreview {
    guard let code = try await database.read({ try CodeTable.find(text, in: $0) }) else {
      throw Problem(.notFound, "there is no such code")
    }
    let listing = try await listing(of: code, for: account)
    do {
      try await database.write(locking: [.everything]) { [limits, clock, environment] connection in
        let (begun, sold) = try Self.sell(
          listing, by: code, to: account, at: clock.now(), environment: environment, limits: limits,
          in: connection)
        var preview = Self.content(of: code, listing, for: account)
        // Another transaction than the one that was begun is that of the period that runs.
        if sold.id != begun {
          preview.start = try SubscriptionTable.find(
            in: connection, account: account.id, group: listing.publication ?? listing.id,
            product: listing.id)?.life.expires
        }
        throw UndoneRedemption(preview: preview)
      }
    } catch let undone as UndoneRedemption {
      return undone.preview
    }
    preconditionFailure("a redemption that is undone is told by its error")
  }

  /// Undoes all that the redemption wrote. Thrown by the body of the write, whose database transaction is
  /// rolled back then.
  private struct UndoneRedemption: Error {
    let preview: CodePreview
  }

  /// The kind and the terms in the account's territory, without the moment at which they begin.
  private static func content(
    of code: StoredCode, _ listing: ProductListing, for account: Account
  ) -> CodePreview {
    guard listing.type == .autoRenewableSubscription else {
      return CodePreview(product: listing.id, kind: .gift)
    }
    let offer = code.firstOffer(for: SubscriptionPlan(listing))
    return CodePreview(
      product: listing.id, kind: code.offer == nil ? .promotional : .offer,
      terms: offer.run(.code, in: account.territory).map {
        CodeTerms(
          payment: offer.payment, period: offer.period, payments: $0.paymentsLeft, price: $0.price)
      })
  }

  /// Throws `product-unknown`, and what the catalog throws.
  private func listing(of code: StoredCode, for account: Account) async throws -> ProductListing {
    let listing = try await catalog.listing(of: code.product, territory: account.territory, device: nil)
    guard let listing else { throw Problem(.productUnknown, "\(code.product) is not for sale") }
    return listing
  }

  /// Sells what the code is good for, unless the account has redeemed it or it is used up. Answers the transaction that was begun for it,
  /// and the one that was sold. Throws the refusal as a `Problem`, so that the transaction that was begun is
  /// undone with the rest.
  private static func sell(
    _ listing: ProductListing, by code: StoredCode, to account: Account, at now: Timestamp,
    environment: StoreEnvironment, limits: StoreLimits, in connection: borrowing Connection
  ) throws -> (begun: Int64, sold: StoredTransaction) {
    guard try !CodeTable.isRedeemed(code.code, by: account.id, in: connection) else {
      throw Problem(.stateConflict, "this account has redeemed the code already")
    }
    guard try CodeTable.redemptions(of: code.code, in: connection) < code.uses else {
      throw Problem(.stateConflict, "the code is used up")
    }
    guard try TransactionTable.count(in: connection, account: account.id) < limits.transactionsPerAccount
    else {
      throw Problem(
        .tooManyRequests, "an account holds at most \(limits.transactionsPerAccount) transactions")
    }
    let begun = try TransactionTable.insert(
      in: connection, account: account, order: PurchaseOrder(of: code.product), key: nil,
      environment: environment, requested: now.wholeSeconds)
    switch try Sales(now: now, code: code).sell(listing, for: begun, in: connection) {
    case .sold(let transaction): return (begun.id, transaction)
    case .refused(let problem): throw problem
    }
  }
}
