import Commerce
import ContentCatalog
import ContentDelivery
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryRecords
import PaymentStores
import PullboxAPI
package import ServiceAPI

extension GrantService {
  /// `base` is put before the addresses in the answer where no public URL is configured; empty leaves them
  /// relative. `id` is the request's, for the log. `isNew` is false for a grant that the device has already.
  /// Throws the problem of the product or of the proof, and ``DatabaseError``.
  package func grant(_ request: GrantRequest, base: String = "", asked id: String = "") async throws -> (
    response: GrantResponse, isNew: Bool
  ) {
    let order = GrantOrder(
      product: request.product, version: request.version, transaction: request.transaction)
    let conditions = GrantConditions(
      account: request.account?.canonical, consentsToConsumption: request.consent?.consumption)
    let (granted, feed) = try await carryOut(
      [order], of: request.proofs, for: request.device, under: conditions, base: base, asked: id)
    let (plan, issued) = try granted[0].get()
    var answer = try await response(to: plan, issued, base: base)
    answer.feed = feed
    return (answer, issued.isNew)
  }

  /// Every product of one proof, with one question to the store and one write. What is wrong with one product is
  /// in the answer; what is wrong with the proof is thrown. The grants and the problems are in the order of the
  /// products. Throws also ``DatabaseError``.
  package func grants(_ request: GrantBatchRequest, base: String = "", asked id: String = "") async throws
    -> (
      response: GrantBatchResponse, isNew: Bool
    )
  {
    let orders = request.products.map { GrantOrder(product: $0) }
    let conditions = GrantConditions(
      account: request.account?.canonical, consentsToConsumption: request.consent?.consumption)
    let (granted, feed) = try await carryOut(
      orders, of: request.proofs, for: request.device, under: conditions, base: base, asked: id)
    var answer = GrantBatchResponse(feed: feed)
    var isNew = false
    for (order, result) in zip(orders, granted) {
      switch result {
      case .success((let plan, let issued)):
        answer.grants.append(try await response(to: plan, issued, base: base))
        isNew = isNew || issued.isNew
      case .failure(let problem):
        answer.problems.append(GrantBatchResponse.Refusal(product: order.product, problem: problem))
      }
    }
    return (answer, isNew)
  }

  private typealias Granted = (plan: GrantPlan, issued: GrantStore.Issued)
  /// With the device's feed, where that was written down as well.
  private typealias Outcome = (granted: [Result<Granted, Problem>], feed: FeedService.Written?)

  /// Carries out the orders of a request by one proof or by several; one result for each order, in that order.
  private func carryOut(
    _ orders: [GrantOrder], of proofs: ProofList, for device: Device, under conditions: GrantConditions,
    base: String, asked id: String
  ) async throws -> (granted: [Result<Granted, Problem>], feed: FeedReference?) {
    if proofs.isList {
      return try await carryOut(orders, ofAll: proofs, for: device, under: conditions, base: base, asked: id)
    }
    let key = try verifier.key(of: proofs.all[0])
    // The store is not asked for what could not be granted anyway.
    if !verifier.knows(key), let refusals = try await completeRefusals(of: orders, for: device.id) {
      return (refusals, nil)
    }
    let shown = try await judge(proofs.all[0], as: key, for: device.id, recordsNew: false, asked: id)
    return try await carryOut(orders, of: shown, for: device, under: conditions, base: base)
  }

  /// Carries out the orders by a list of proofs. The store accounts behind them become one customer first,
  /// where their purchases allow it. A product that no proof pays for is refused with the most telling problem
  /// of all.
  private func carryOut(
    _ orders: [GrantOrder], ofAll proofs: ProofList, for device: Device, under conditions: GrantConditions,
    base: String, asked id: String
  ) async throws -> (granted: [Result<Granted, Problem>], feed: FeedReference?) {
    if let refusals = try await completeRefusals(of: orders, for: device.id) { return (refusals, nil) }
    let shown = try await judge(proofs, for: device.id, recordsNew: true, asked: id)
    try await join(shown.good, shownBy: device.id)
    var granted: [Int: Granted] = [:]
    var refusals: [Int: [Problem]] = [:]
    var feed: FeedReference?
    // Each product is granted by the first proof that pays for it.
    for proof in shown.good {
      let open = orders.indices.filter { granted[$0] == nil }
      guard !open.isEmpty else { break }
      let (results, itsFeed) = try await carryOut(
        open.map { orders[$0] }, of: proof, for: device, under: conditions, base: base)
      if feed == nil { feed = itsFeed }
      for (index, result) in zip(open, results) {
        switch result {
        case .success(let grant): granted[index] = grant
        case .failure(let problem): refusals[index, default: []].append(problem)
        }
      }
    }
    let results = orders.indices.map { index -> Result<Granted, Problem> in
      if let grant = granted[index] { return .success(grant) }
      // A proof that led to nothing may be the one that pays.
      let problems = (refusals[index] ?? []) + shown.problems.map(\.problem)
      return .failure(Problem.mostTelling(problems) ?? Problem(.purchaseRequired))
    }
    return (results, feed)
  }

  /// Carries out the orders that one good proof pays for. The plans are made again where the catalog changed
  /// meanwhile. Purchases that the proof does not show, and that the ledger has, are looked at where the proof
  /// alone does not cover the orders. Where the disk cannot be written, grants that stand already are answered
  /// all the same.
  private func carryOut(
    _ orders: [GrantOrder], of shown: ShownProofs.Good, for device: Device, under said: GrantConditions,
    base: String
  ) async throws -> (granted: [Result<Granted, Problem>], feed: FeedReference?) {
    let (proof, key, verdict) = (shown.proof, shown.key, shown.verdict)
    var conditions = said
    conditions.rules = storeRules[key.store] ?? StoreRules()
    let (now, granting) = (grantStore.clock.now(), conditions)
    let (granted, written) = try await catalog.current { catalog -> Outcome? in
      func makePlanner(_ transactions: [VerifiedTransaction]) async throws -> GrantPlanner {
        GrantPlanner(
          rules: rules, transactions: transactions,
          record: try await record(of: transactions, catalog: catalog), orders: orders, device: device,
          conditions: granting, catalog: catalog, stopped: stops.stoppedContents, now: now)
      }
      var planner = try await makePlanner(verdict.transactions)
      if !planner.coversOrders {
        let remembered = try await remembered(beside: verdict.transactions, catalog: catalog)
        if remembered.count > verdict.transactions.count { planner = try await makePlanner(remembered) }
      }
      // A proof that the store was asked about just now has hardly a grant yet.
      if verdict.source == .cache, let standing = try await standing(by: planner) {
        return (standing, nil)
      }
      do {
        return try await issue(by: planner, on: verdict, of: proof, as: key, at: now)
      } catch let failure as DatabaseError {
        // What there is already needs no disk that can be written, unless it is to be confirmed.
        guard verdict.source != .memory, let standing = try await standing(by: planner) else { throw failure }
        return (standing, nil)
      }
    }
    if verdict.source == .store { sales.note(verdict.transactions.map(\.key)) }
    recentProofs.note(proof, as: key, for: granted.compactMap { try? $0.get().issued.grant.handle })
    let feed = await feeds.enroll(
      device.id, at: key.store, showing: verdict.transactions, written: written, base: base)
    return (granted, feed)
  }

  /// Returns the grants that exist already; nil where something is to be written, or the catalog is not the planner's any
  /// more.
  private func standing(by planner: GrantPlanner) async throws -> [Result<Granted, Problem>]? {
    try await grantStore.database.read { connection in
      guard try planner.isCurrent(in: connection) else { return nil }
      var standing: [Result<Granted, Problem>] = []
      for plan in try planner.plans(in: connection) {
        switch plan {
        case .failure(let problem): standing.append(.failure(problem))
        case .success(let plan):
          guard let grant = plan.standing else { return nil }
          standing.append(.success((plan, GrantStore.Issued(grant: grant, isNew: false))))
        }
      }
      return standing
    }
  }

  /// Writes what is not there yet, all of it at once, with what the store said just now. Nil where the catalog is not the planner's
  /// any more, or a purchase that may change hands has transactions that it had not before; then nothing is written.
  ///
  /// One write does all of it: the ledger, the unlocked issues, the grants, the feed, and the marks of what is
  /// to be confirmed. Its effect brings the revocation list in line, in the order of the commits.
  private func issue(
    by planner: GrantPlanner, on verdict: Verdict, of proof: Proof, as key: VerdictCache.Key,
    at now: Timestamp
  ) async throws -> Outcome? {
    let (device, epoch) = (planner.device.id, FeedService.epoch())
    let unconfirmed = verdict.source == .memory ? try UnconfirmedTable.EncodedProof(proof) : nil
    let said = verdict.source == .store ? verdict.transactions : []
    let (unlocked, paying) = (planner.unlocked, planner.paying)
    let joinsAccounts = planner.conditions.rules.claims.joinsAccounts
    let isTransfer = planner.conditions.rules.claims == .transfer
    let transferable =
      isTransfer ? try await grantStore.database.read { try planner.transferable(in: $0) } : []
    let locks =
      planner.locks + [.proof(key.digest), .feed(of: device, at: key.store)]
      + DatabaseLock.statements(on: said, joiningAccounts: joinsAccounts)
      + transferable.map { .transaction($0) }
    let rule = GrantStore.LedgerRule.answer(takesRevocations: false, joinsAccounts: joinsAccounts)
    return try await grantStore.database.write(locking: locks) { connection -> Outcome? in
      connection.prefetch { connection in
        _ = try planner.isCurrent(in: connection)
        try GrantStore.prefetchRecord(said, by: rule, besides: paying, in: connection)
      }
      guard try planner.isCurrent(in: connection),
        try planner.transferable(in: connection).isSubset(of: transferable)
      else { return nil }
      // Refunds were taken in when the store was asked.
      let ledger = try GrantStore.record(
        said, by: rule, besides: paying, and: transferable, at: now, in: connection)
      for (transaction, issues) in unlocked {
        try EntitlementRecordTable.noteUnlocked(issues, by: transaction, in: connection)
      }
      let latest = ledger.entries.filter { $0.customer != nil }.max {
        $0.transaction.purchaseDate < $1.transaction.purchaseDate
      }
      func putFeed(in connection: borrowing Connection) throws -> FeedService.Written? {
        try FeedService.put(
          device, at: key.store, of: latest?.customer, in: latest?.transaction.environment, epoch: epoch,
          now: now, connection: connection)
      }
      connection.prefetch { connection in
        for key in [GrantTable.key, FeedTable.key] { try connection.reserveNumber(for: key) }
        _ = try planner.plans(in: connection)
        try GrantStore.DeviceAdmission(device: device, conditions: planner.conditions)
          .look(at: ledger.customers, claiming: paying, at: now, in: connection)
        _ = try putFeed(in: connection)
      }
      let plans = try planner.plans(in: connection)
      let bases = plans.compactMap { plan in
        (try? plan.get()).flatMap { $0.standing == nil ? $0.basis : nil }
      }
      let made = try GrantStore.grants(
        on: bases, to: planner.device, under: planner.conditions, shownWith: planner.shown, recorded: ledger,
        at: now, in: connection)
      var issued = made[...]
      let results = plans.map { plan in
        plan.flatMap { plan -> Result<Granted, Problem> in
          if let grant = plan.standing {
            return .success((plan, GrantStore.Issued(grant: grant, isNew: false)))
          }
          return issued.removeFirst().map { (plan, $0) }
        }
      }
      var feed = try putFeed(in: connection)
      feed?.customers = ledger.customers
      try Self.note(
        verdict, resting: unconfirmed, as: key, for: device,
        grants: results.compactMap { try? $0.get().issued }, at: now, in: connection)
      return (results, feed)
    } then: { outcome in
      let changed = (outcome?.granted ?? []).flatMap { (try? $0.get().issued.changed) ?? [] }
      if !changed.isEmpty { enforce(changed) }
    }
  }

  /// Why none of the orders can be granted, whatever was bought; nil where one of them can.
  private func completeRefusals(
    of orders: [GrantOrder], for device: DeviceIdentifier
  ) async throws -> [Result<Granted, Problem>]? {
    let refusals = try await refusals(of: orders, for: device)
    return refusals.count == orders.count ? refusals.map { .failure($0) } : nil
  }

  /// Why each order cannot be granted, whatever was bought; fewer than there are orders where one of them can.
  private func refusals(of orders: [GrantOrder], for device: DeviceIdentifier) async throws -> [Problem] {
    let latest = catalog.latest
    let known = orders.compactMap { $0.version == nil ? latest.offered($0.product, to: device) : nil }
    if known.count == orders.count, !known.contains(where: { stops.reason(for: $0.digest) != nil }) {
      return []
    }
    let contents = try await catalog.current { catalog in
      try await grantStore.database.read { connection -> [Result<ReleasedContent, Problem>]? in
        guard try catalog.isCurrent(in: connection) else { return nil }
        var contents: [Result<ReleasedContent, Problem>] = []
        for order in orders {
          do {
            contents.append(.success(try catalog.content(for: order, to: device, in: connection)))
          } catch let problem as Problem {
            contents.append(.failure(problem))
          }
        }
        return contents
      }
    }
    return contents.compactMap { content in
      switch content {
      case .success(let content): stops.reason(for: content.digest).map { Problem.stopped($0) }
      case .failure(let problem): problem
      }
    }
  }

  /// Returns the grant as its device gets it, with a ticket that ends no later than the content is open.
  private func response(
    to plan: GrantPlan, _ issued: GrantStore.Issued, base: String
  ) async throws -> GrantResponse {
    let grant = issued.grant
    // Its issue may have been closed since the grant was made.
    try await reopen(grant)
    let ticket = tickets.issue(for: grant, openUntil: plan.openUntil, isRenewal: false)
    let address = "\(publicURL.isEmpty ? base : publicURL)/v1/content/\(grant.digest.hexadecimal)"
    let terms = DownloadTerms(
      product: grant.product, version: grant.version, length: grant.length, digest: grant.digest,
      manifestDigest: grant.manifestDigest, contentURL: address, manifestURL: address + "/manifest",
      ticket: ticket.ticket, ticketExpires: ticket.ticketExpires, publisherKeys: plan.publisherKeys,
      signatures: plan.signatures.isEmpty ? nil : plan.signatures, previous: plan.previous)
    return GrantResponse(
      grant: grant.id, transaction: grant.transaction, download: terms, renewalSecret: issued.renewalSecret)
  }
}
