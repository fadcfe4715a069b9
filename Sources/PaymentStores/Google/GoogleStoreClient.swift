package import Commerce
package import CoreTypes
package import Crypto
import PullboxAPI
package import Receipts
package import ServiceAPI

/// Google Play: a purchase token is the proof, and the store is asked what it is of. What was bought is kept by its token, since
/// the store is told of a delivery by that. docs/stores.md describes the store, and docs/decisions/0036 what it
/// does not tell.
package struct GoogleStoreClient: PaymentStoreClient {
  /// Asks the store and tells it.
  package let interface: GoogleInterfaceClient
  /// Has what the store's answers do not tell, from earlier ones.
  package let memory: any GooglePurchaseMemory
  package let clock: any WallClock

  package init(interface: GoogleInterfaceClient, memory: any GooglePurchaseMemory, clock: any WallClock) {
    self.interface = interface
    self.memory = memory
    self.clock = clock
  }

  package var name: StoreIdentifier { interface.access.name }

  private var application: ApplicationIdentifier? { ApplicationIdentifier(interface.access.package) }

  /// The store's answer about a purchase.
  package struct Purchase: Sendable {
    /// The transactions of the answer, and the purchase that this one replaced.
    package var verdict: GoogleVerdict
    package var kind: GooglePurchaseKind
    package var token: GooglePurchaseToken

    /// The environment of the transactions; an answer without any counts as production.
    package var environment: StoreEnvironment { verdict.transactions.first?.environment ?? .production }
  }

  /// Throws `receipt-malformed` for another kind of proof, `purchase-required` for a pending purchase,
  /// `receipt-wrong-environment`, and what the store refuses with.
  package func verify(_ proof: Proof, digest: SHA256Digest) async throws(StoreRefusal) -> VerifiedProof {
    guard let token = proof.purchaseToken.flatMap({ GooglePurchaseToken($0) }), proof.receipt == nil,
      proof.signedTransaction == nil
    else {
      throw .final(
        .receiptMalformed, "\(name) takes a purchase token, in the member purchaseToken, and nothing else",
        onStoresWord: false)
    }
    guard let purchase = try await purchase(with: token) else {
      // What is pending may be paid for in a moment.
      throw .final(.purchaseRequired, "the purchase is pending", onStoresWord: true)
    }
    guard interface.access.environments.contains(purchase.environment) else {
      throw .final(.receiptWrongEnvironment, onStoresWord: true)
    }
    return VerifiedProof(transactions: try await taken(purchase), binding: nil)
  }

  /// Returns the purchase with that token, as the store describes it now; nil while nothing is paid for. The kind of a token
  /// that is new here is not known: the store is asked for a one-time purchase first, and then for a subscription. Throws
  /// the refusal.
  package func purchase(
    with token: GooglePurchaseToken, of kind: GooglePurchaseKind? = nil
  ) async throws(StoreRefusal) -> Purchase? {
    let known = try await remembered { try await memory.records(of: [token], at: name)[token]?.kind }
    guard let kind = kind ?? known else {
      do throws(StoreRefusal) {
        return try await ask(about: token, as: .product)
      } catch {
        guard case .final = error.kind, error.problem.code == .receiptNotAuthentic else { throw error }
        return try await ask(about: token, as: .subscription)
      }
    }
    return try await ask(about: token, as: kind)
  }

  /// Asks about the token as one of that kind; nil for a purchase that is pending.
  private func ask(
    about token: GooglePurchaseToken, as kind: GooglePurchaseKind
  ) async throws(StoreRefusal) -> Purchase? {
    let moment = clock.now()
    do {
      switch kind {
      case .product:
        let purchase = try await interface.product(token)
        let history = try await history(
          of: [purchase.orderId].compactMap { $0 }, in: purchase.environment)
        let products = (purchase.productLineItem ?? []).prefix(50).compactMap(\.productId)
        let consumables = try await consumables(among: products)
        let verdict = try purchase.verdict(
          for: token, by: name, of: application, known: history, consumes: { consumables.contains($0) },
          asOf: moment)
        return Purchase(verdict: verdict, kind: kind, token: token)
      case .subscription:
        let purchase = try await interface.subscription(token)
        let orders = (purchase.lineItems ?? []).prefix(50).compactMap {
          $0.latestSuccessfulOrderId ?? purchase.latestOrderId
        }
        var history = try await history(of: orders, in: purchase.environment)
        history.payments = try await payments(
          of: orders.compactMap { GoogleOrder($0) }, after: history, in: purchase.environment, asOf: moment)
        let verdict = try purchase.verdict(
          for: token, by: name, of: application, known: history, asOf: moment)
        return Purchase(verdict: verdict, kind: kind, token: token)
      }
    } catch let failure as GoogleInterfaceClient.Failure {
      throw failure.refusal
    } catch let refusal as StoreRefusal {
      throw refusal
    } catch GoogleRefusal.pending {
      return nil
    } catch {
      throw .undetermined(
        retryAfter: .seconds(30), cause: "the store's answer lacks what every purchase has",
        outcome: .answered)
    }
  }

  /// Writes down whose token it is, and answers its transactions, with those of the purchase that it replaces: what that one
  /// opened ends where this one began. An answer about the other token of the same moment does not change that, in whichever
  /// order both are taken in.
  package func taken(_ purchase: Purchase) async throws(StoreRefusal) -> [VerifiedTransaction] {
    let (store, verdict, environment) = (name, purchase.verdict, purchase.environment)
    guard let first = verdict.transactions.first else { return [] }
    let tokens = [purchase.token] + (verdict.replaced.map { [$0] } ?? [])
    let records = try await remembered { try await memory.records(of: tokens, at: store) }
    let known = records[purchase.token]
    let replaced = verdict.replaced.flatMap { records[$0] }
    var transactions = verdict.transactions
    if let end = known?.replaced {
      transactions = transactions.map { $0.ended(at: end, asOf: $0.asOf) }
    }
    if let original = replaced?.original {
      let key = TransactionKey(store: store, environment: environment, id: original)
      let earlier = try await remembered { try await memory.transactions(ofPurchases: [key]) }
      transactions += earlier.filter { ($0.expiresDate ?? verdict.start) > verdict.start }
        .map { $0.ended(at: verdict.start, asOf: first.asOf) }
    }
    let record = GooglePurchaseRecord(
      kind: purchase.kind, environment: environment, original: first.originalID, replaced: known?.replaced)
    if known == record, verdict.replaced == nil || replaced?.replaced != nil { return transactions }
    do {
      var changed = [(token: purchase.token, record: record)]
      if let token = verdict.replaced {
        let end = GooglePurchaseRecord(
          kind: .subscription, environment: environment, replaced: verdict.start)
        changed.append((token, end))
      }
      try await memory.keep(changed, at: store)
    } catch {
      // The store has answered; it is this server that could not keep the answer.
      throw .undetermined(retryAfter: .seconds(30), cause: "\(error)", outcome: .abandoned)
    }
    return transactions
  }

  /// When those of the orders were paid for that may not go on where the one before them ended. A store that does not let this
  /// server see orders says nothing of it.
  private func payments(
    of orders: [GoogleOrder], after history: KnownGoogleOrders, in environment: StoreEnvironment,
    asOf moment: Timestamp
  ) async throws(GoogleInterfaceClient.Failure) -> [TransactionIdentifier: Timestamp] {
    let open = Set(orders).filter { order in
      guard let end = history.latestService(before: order, in: environment) else { return false }
      return end < moment
    }
    guard !open.isEmpty else { return [:] }
    do throws(GoogleInterfaceClient.Failure) {
      let records = try await interface.orders(open.map(\.id))
      return Dictionary(records.map { ($0.order.id, $0.created) }, uniquingKeysWith: { first, _ in first })
    } catch {
      switch error.kind {
      case .refused, .forbidden: return [:]
      case .unavailable, .unreadable, .abandoned: throw error
      }
    }
  }

  /// Those of the names that the catalog has as consumables.
  private func consumables(among names: [String]) async throws(StoreRefusal) -> Set<ProductIdentifier> {
    let products = names.compactMap { ProductIdentifier($0) }
    return try await remembered { try await memory.consumables(among: products) }
  }

  /// The transactions that the ledger has of the purchases that these orders belong to.
  private func history(
    of orders: [String], in environment: StoreEnvironment
  ) async throws(StoreRefusal) -> KnownGoogleOrders {
    let originals = Set(orders.compactMap { GoogleOrder($0)?.original })
    let purchases = originals.map { TransactionKey(store: name, environment: environment, id: $0) }
    return KnownGoogleOrders(
      transactions: try await remembered { try await memory.transactions(ofPurchases: purchases) })
  }

  /// Asks the memory. A memory that cannot be reached leaves the proof undetermined, which says nothing of the
  /// store.
  func remembered<Value: Sendable>(
    _ ask: () async throws -> Value
  ) async throws(StoreRefusal) -> Value {
    do {
      return try await ask()
    } catch is CancellationError {
      throw .abandoned
    } catch {
      throw .undetermined(retryAfter: .seconds(30), cause: "\(error)", outcome: .abandoned)
    }
  }
}

// MARK: What the store is told

extension GoogleStoreClient {
  /// Nothing: it is told of deliveries, and of nothing else.
  package func finish(_ transaction: TransactionIdentifier, in environment: StoreEnvironment) async
    -> StoreAnswer
  {
    StoreAnswer(answer: .accepted)
  }

  package func acknowledge(
    _ transaction: TransactionIdentifier, in environment: StoreEnvironment, by reference: String
  ) async -> StoreAnswer {
    await tell(.acknowledge, reference)
  }

  package func consume(
    _ transaction: TransactionIdentifier, in environment: StoreEnvironment, by reference: String
  ) async -> StoreAnswer {
    await tell(.consume, reference)
  }

  /// Makes a call about a delivery. A call that the store refuses because it was made before counts as accepted, and one about a
  /// purchase that was taken back, or a subscription that has expired, is over: Google takes none for these.
  private func tell(_ call: GoogleInterfaceClient.Delivery, _ reference: String) async -> StoreAnswer {
    guard let purchase = GooglePurchaseReference(reference) else {
      return StoreAnswer(answer: .refused, detail: "the call names no purchase token")
    }
    do throws(GoogleInterfaceClient.Failure) {
      try await interface.tell(call, of: purchase)
      return StoreAnswer(answer: .accepted)
    } catch {
      if case .refused = error.kind, let answer = await reason(for: call, purchase) { return answer }
      return StoreAnswer(answer: error.answer, detail: error.detail)
    }
  }

  /// Why the store refuses a call about the purchase, by what it says of that; nil where that explains nothing, or where the
  /// store cannot be asked.
  private func reason(
    for call: GoogleInterfaceClient.Delivery, _ purchase: GooglePurchaseReference
  ) async -> StoreAnswer? {
    let (isTold, end): (Bool, String?)
    switch purchase.kind {
    case .subscription:
      guard let known = try? await interface.subscription(purchase.token) else { return nil }
      (isTold, end) = (known.isAcknowledged, known.hasExpired ? "the subscription has expired" : nil)
    case .product:
      guard let known = try? await interface.product(purchase.token) else { return nil }
      isTold = call == .acknowledge ? known.isAcknowledged : known.isConsumed
      end = known.isTakenBack ? "the store has taken the purchase back" : nil
    }
    if isTold { return StoreAnswer(answer: .accepted) }
    return end.map { StoreAnswer(answer: .over, detail: $0) }
  }
}

/// The transactions in the ledger of the purchases that an answer is about.
struct KnownGoogleOrders: GoogleOrderHistory {
  package var transactions: [VerifiedTransaction]
  /// When orders were paid for, of those that were asked about.
  package var payments: [TransactionIdentifier: Timestamp] = [:]

  /// Up to when the purchase served before an order that is not known yet; nil for one that is, and for a first one.
  func latestService(before order: GoogleOrder, in environment: StoreEnvironment) -> Timestamp? {
    let periods = transactions.filter { $0.originalID == order.original && $0.environment == environment }
    guard !periods.contains(where: { $0.id == order.id }) else { return nil }
    return periods.compactMap { $0.graceExpiresDate ?? $0.expiresDate }.max()
  }

  /// When the order began where it does not go on at the end of the one before: when it was paid for; nil
  /// otherwise.
  func resumption(of order: GoogleOrder, in environment: StoreEnvironment) -> Timestamp? {
    guard let payment = payments[order.id], let end = latestService(before: order, in: environment),
      end < payment
    else { return nil }
    return payment
  }

  package func transaction(_ id: TransactionIdentifier, in environment: StoreEnvironment)
    -> VerifiedTransaction?
  {
    transactions.first { $0.id == id && $0.environment == environment }
  }

  /// Periods of the same purchase that are later than the one that is asked about do not say where that one begins; the
  /// rule takes none that ends after it.
  func latestEnd(
    of original: TransactionIdentifier, besides id: TransactionIdentifier, in environment: StoreEnvironment
  ) -> Timestamp? {
    transactions.filter { $0.originalID == original && $0.id != id && $0.environment == environment }
      .compactMap(\.expiresDate).max()
  }
}

extension VerifiedTransaction {
  /// The same purchase, opening nothing new from `end` on: another one took its place. What is known of its refund may be
  /// older than `moment`, so it does not say that there was none.
  package func ended(at end: Timestamp, asOf moment: Timestamp) -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: store, in: environment, id: id, originalID: originalID, product: product,
      purchaseDate: purchaseDate, expiresDate: max(purchaseDate, min(expiresDate ?? end, end)),
      graceExpiresDate: nil, revokedDate: revokedDate, licenseEndDate: licenseEndDate,
      licenseAsOf: licenseAsOf, quantity: quantity,
      price: price, account: account, application: application, territory: territory,
      acknowledgement: acknowledgement, asOf: moment, tellsRefunds: false)
  }
}
