import Commerce
import ContentCatalog
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import Entitlements
import PaymentStores
import PullboxAPI
import ServiceAPI

/// The entitlements of proofs: the plan of a restore.
extension GrantService {
  /// `id` is the request's, for the log. Throws what stands against the proofs where none of them is good.
  ///
  /// Purchases of different stores or environments are judged apart, and the products of all of them are in one
  /// list, by name. The ledger takes in what it never heard of. Each proof that is refused beside a good one is
  /// in the answer's `problems`.
  ///
  /// - Parameters:
  ///   - request: the proofs, the device, and the transactions that its store's queue still has.
  ///   - base: the server's address as the client knows it, for the feeds, where no public URL is configured.
  ///   - id: the request's name in the log.
  func entitlements(
    of request: EntitlementsRequest, base: String = "", asked id: String = ""
  ) async throws -> EntitlementsResponse {
    let device = request.device.id
    let shown = try await judge(request.proofs, for: device, recordsNew: true, asked: id)
    if request.proofs.isList { try await join(shown.good, shownBy: device) }
    sales.note(shown.transactions.map(\.key))
    let now = grantStore.clock.now()
    var products: [EntitledProduct] = []
    var subscribedUntil: [String: Timestamp] = [:]
    var subscribedSince: [String: Timestamp] = [:]
    let purchases = shown.purchases
    for transactions in purchases {
      let entitled = try await entitled(by: transactions, device, now: now)
      products += entitled.products
      subscribedUntil.merge(entitled.subscribedUntil, uniquingKeysWith: max)
      subscribedSince.merge(entitled.subscribedSince, uniquingKeysWith: min)
    }
    let feeds = await enroll(device, showing: shown, base: base)
    // Those of one store and environment are in that order.
    if purchases.count > 1 {
      products = products.enumerated().sorted {
        ($0.element.product, $0.offset) < ($1.element.product, $1.offset)
      }.map(\.element)
    }
    return EntitlementsResponse(
      products: products,
      settled: try await finishEmptySales(request.waiting, of: purchases, on: device, now: now),
      feed: feeds.first?.feed,
      feeds: request.proofs.isList
        ? Dictionary(feeds.map { ($0.store.description, $0.feed) }, uniquingKeysWith: { first, _ in first })
        : nil,
      problems: shown.problems.isEmpty ? nil : shown.problems,
      hasPlace: try await hasPlace(for: device, showing: shown, now: now),
      subscribedUntil: subscribedUntil.isEmpty ? nil : subscribedUntil,
      subscribedSince: subscribedSince.isEmpty ? nil : subscribedSince)
  }

  /// Whether the device would be granted something new of every customer whose purchases it shows.
  private func hasPlace(
    for device: DeviceIdentifier, showing shown: ShownProofs, now: Timestamp
  ) async throws -> Bool {
    try await grantStore.database.read { connection in
      var asked: Set<CustomerIdentifier> = []
      for proof in shown.good {
        let rules = storeRules[proof.key.store] ?? StoreRules()
        let customers = try CustomerTable.customers(
          of: proof.verdict.transactions.map(\.key), in: connection)
        for customer in customers where asked.insert(customer).inserted {
          guard
            try CustomerTable.hasPlace(for: device, of: customer, under: rules, at: now, in: connection)
          else { return false }
        }
      }
      return true
    }
  }

  /// The device's feed of each store, in the order of the proofs; without those that cannot be written down.
  private func enroll(
    _ device: DeviceIdentifier, showing shown: ShownProofs, base: String
  ) async -> [(store: StoreIdentifier, feed: FeedReference)] {
    var enrolled: [(store: StoreIdentifier, feed: FeedReference)] = []
    var seen: Set<StoreIdentifier> = []
    for store in shown.good.map(\.key.store) where seen.insert(store).inserted {
      let transactions = shown.good.filter { $0.key.store == store }.flatMap(\.verdict.transactions)
      if let feed = await feeds.enroll(device, at: store, showing: transactions, base: base) {
        enrolled.append((store, feed))
      }
    }
    return enrolled
  }

  /// The owned products, and the ends and the beginnings of their subscriptions, by product; a subscription without an end
  /// has none here.
  private typealias Entitled = (
    products: [EntitledProduct], subscribedUntil: [String: Timestamp], subscribedSince: [String: Timestamp]
  )

  /// Returns the entitlements of transactions of one store and environment.
  private func entitled(
    by shown: [VerifiedTransaction], _ device: DeviceIdentifier, now: Timestamp
  ) async throws -> Entitled {
    try await catalog.current { catalog in
      let (transactions, record) = try await history(beside: shown, catalog: catalog)
      let keys = Dictionary(
        transactions.map { ($0.id, $0.key) }, uniquingKeysWith: { first, _ in first })
      let related = catalog.related(to: transactions.map(\.product) + record.products)
      let report = rules.evaluate(
        transactions, catalog: related, policies: catalog.policies, record: record, now: now)
      let ends = report.claims.keys.compactMap { product -> (String, Timestamp)? in
        guard catalog[product]?.product.type.isSubscription == true else { return nil }
        return report.ends[product].map { (product.description, $0) }
      }
      let subscribedUntil = Dictionary(ends, uniquingKeysWith: max)
      let starts = report.subscribedSince.map { ($0.key.description, $0.value) }
      let subscribedSince = Dictionary(starts, uniquingKeysWith: min)
      let paying = Array(Set(report.claims.values.joined().compactMap { keys[$0.transaction] }))
      let entitled = try await grantStore.database.read { connection -> Entitled? in
        guard try catalog.isCurrent(in: connection) else { return nil }
        let states = try GrantTable.states(on: device, paidBy: paying, in: connection)
        let products = try report.claims.keys.sorted().flatMap { product -> [EntitledProduct] in
          guard let content = catalog.offered(product, to: device) else { return [] }
          return try (report.claims[product] ?? []).compactMap { claim in
            guard let key = keys[claim.transaction] else { return nil }
            let state = states[
              GrantTable.Delivery(
                transaction: claim.transaction, product: product, version: content.version)]
            if state == nil, catalog[product]?.product.type == .consumable,
              try GrantTable.isGranted(product, paidBy: key, elsewhereThanOn: device, in: connection)
            {
              return nil
            }
            return EntitledProduct(
              product: product, version: content.version, length: content.length,
              because: claim.reason.rawValue, transaction: claim.transaction,
              state: state?.name.rawValue ?? "not-granted",
              publicationDate: catalog[product]?.product.publicationDate, until: report.ends[product],
              store: key.store.description, consumable: catalog[product]?.product.type == .consumable)
          }
        }
        return (products, subscribedUntil, subscribedSince)
      }
      if entitled != nil {
        try await noteUnlocked(report.issuesUnlocked(beyond: record).named(by: transactions))
      }
      return entitled
    }
  }
}
