package import Commerce
package import ContentCatalog
package import ContentDelivery
import CoreTypes
import Crypto
import Database
package import DeliveryModel
import DeliveryRecords
package import Entitlements
package import Monitoring
package import PaymentStores
import PullboxAPI
import Receipts
package import ServiceAPI

/// The way of a purchase: receipt → verdict → grant → ticket, and completion → transaction finished. The service asks the
/// store that issued the proof, checks its verdict against the catalog (``EntitlementRules``), and leaves every change to
/// ``GrantStore``, where ``GrantMachine`` decides inside the database's transaction. Refusals are thrown as `Problem`.
///
///     let (response, isNew) = try await grants.grant(request)
///     let status = try await grants.status(of: response.grant, credential: credential)
///     let completion = try await grants.complete(response.grant, with: report, credential: credential)
package struct GrantService: Sendable {
  /// Decides and writes, inside transactions of the database.
  package let grantStore: GrantStore
  /// Asks stores about proofs.
  package let verifier: ProofVerifier
  /// The catalog in memory. A decision that rests on it checks in its own read or write that it is the
  /// database's.
  package let catalog: CatalogCache
  /// Makes the calls to stores that follow from completions and refunds.
  package let outbox: Outbox
  /// Seals the tickets of grants that live.
  package let tickets: TicketIssuer
  /// The grants and contents that open nothing, as the event loops see them.
  package let stops: RevocationList
  /// Writes down what was sent.
  package let recorder: DeliveryRecorder
  /// Tells devices what becomes of what their customers own.
  package let feeds: FeedService
  /// Looks for purchases that leave nothing to deliver.
  package let sales: EmptySales
  /// The rules of docs/entitlements.md, with the policy of publications that have none of their own.
  package let rules: EntitlementRules
  /// The rules of each store about the accounts and devices that may use its purchases.
  package var storeRules: [StoreIdentifier: StoreRules] = [:]
  /// Put before content addresses; empty leaves them relative to the server's address as the client knows it.
  package let publicURL: String
  /// How long a store's good verdict on a proof serves while the store is away; zero: not at all.
  package let storeGrace: Duration
  /// The proofs that running downloads rest on.
  var recentProofs = RecentProofs()
  /// Called with a grant whose device could not verify its content.
  package var noteFailure: @Sendable (GrantRecord) async throws -> Void = { _ in }

  /// Creates the service; it begins no work of its own. The workers among its parts are run by the server.
  package init(
    grantStore: GrantStore, verifier: ProofVerifier, catalog: CatalogCache, outbox: Outbox,
    tickets: TicketIssuer, stops: RevocationList, recorder: DeliveryRecorder, feeds: FeedService,
    sales: EmptySales, rules: EntitlementRules, storeRules: [StoreIdentifier: StoreRules] = [:],
    publicURL: String, storeGrace: Duration, recentProofs: RecentProofs = RecentProofs(),
    noteFailure: @escaping @Sendable (GrantRecord) async throws -> Void = { _ in }
  ) {
    self.grantStore = grantStore
    self.verifier = verifier
    self.catalog = catalog
    self.outbox = outbox
    self.tickets = tickets
    self.stops = stops
    self.recorder = recorder
    self.feeds = feeds
    self.sales = sales
    self.rules = rules
    self.storeRules = storeRules
    self.publicURL = publicURL
    self.storeGrace = storeGrace
    self.recentProofs = recentProofs
    self.noteFailure = noteFailure
  }

  /// The proof's transactions, and behind them what the ledger has of the same customer in the same environment of the store,
  /// which may tell it no more: all but consumables, which are delivered once, where they were bought.
  func remembered(
    beside proof: [VerifiedTransaction], catalog: CatalogSnapshot
  ) async throws -> [VerifiedTransaction] {
    let now = grantStore.clock.now()
    return try await grantStore.database.read { connection in
      try Self.remembered(beside: proof, catalog: catalog, now: now, in: connection)
    }
  }

  /// The same with ``record(of:catalog:)`` of all of them, by one question to the database. Transactions of
  /// several customers in one proof lead to the customer of the latest purchase alone. Throws
  /// ``DatabaseError``.
  package func history(
    beside proof: [VerifiedTransaction], catalog: CatalogSnapshot
  ) async throws -> (transactions: [VerifiedTransaction], record: EntitlementRecord) {
    let now = grantStore.clock.now()
    return try await grantStore.database.read { connection in
      let transactions = try Self.remembered(beside: proof, catalog: catalog, now: now, in: connection)
      let payments = catalog.recorded(transactions)
      guard !payments.isEmpty else { return (transactions, .empty) }
      return (transactions, try EntitlementRecordTable.record(of: payments, in: connection))
    }
  }

  private static func remembered(
    beside proof: [VerifiedTransaction], catalog: CatalogSnapshot, now: Timestamp,
    in connection: borrowing Connection
  ) throws -> [VerifiedTransaction] {
    guard let latest = proof.max(by: { $0.purchaseDate < $1.purchaseDate }),
      let customer = try LedgerTable.find(latest.key, in: connection)?.customer
    else { return proof }
    let shown = Set(proof.map(\.key))
    return proof
      + (try LedgerTable.transactions(of: customer, in: connection)).filter {
        !shown.contains($0.key) && $0.store == latest.store && $0.environment == latest.environment
          && catalog[$0.product]?.product.type != .consumable
          && ($0.licenseEndDate.map { now < $0 } ?? true)
      }
  }

  /// Returns the records of payments for subscriptions and of purchases of applications. Without any among the transactions,
  /// the database is not asked.
  package func record(
    of transactions: [VerifiedTransaction], catalog: CatalogSnapshot
  ) async throws -> EntitlementRecord {
    let payments = catalog.recorded(transactions)
    guard !payments.isEmpty else { return .empty }
    return try await grantStore.database.read { try EntitlementRecordTable.record(of: payments, in: $0) }
  }

  /// Writes down which issues runs of subscriptions unlocked, by the transaction that each began with: the catalog may say otherwise
  /// later. On a disk that cannot be written it is left to the next question.
  func noteUnlocked(_ issues: [TransactionKey: [ProductIdentifier: EntitlementRule]]) async throws {
    guard !issues.isEmpty else { return }
    do {
      // What is written first stays.
      try await grantStore.database.write(locking: []) { connection in
        for (transaction, unlocked) in issues {
          try EntitlementRecordTable.noteUnlocked(unlocked, by: transaction, in: connection)
        }
      }
    } catch is DatabaseError {}
  }

  /// The same for what a store has just told of these.
  func noteUnlocked(by told: [VerifiedTransaction]) async throws {
    let catalog = try await catalog.current()
    guard !catalog.recorded(told).isEmpty else { return }
    let (transactions, record) = try await history(beside: told, catalog: catalog)
    let report = rules.evaluate(
      transactions, catalog: catalog.related(to: transactions.map(\.product) + record.products),
      policies: catalog.policies, record: record, now: grantStore.clock.now())
    try await noteUnlocked(report.issuesUnlocked(beyond: record).named(by: transactions))
  }

  /// Returns a new ticket for a grant that lives. The ticket ends with the content or with the grace, whichever
  /// is first. Throws what ``GrantStore/grantForTicket(_:for:)`` and ``openUntil(_:)`` throw,
  /// `content-withdrawn` or `content-damaged` for content that is stopped, and `verification-undetermined`
  /// after the grace of a store that is away.
  package func ticket(
    for id: GrantIdentifier, credential: GrantCredential
  ) async throws -> TicketResponse {
    let (grant, basis) = try await grantStore.grantForTicket(id, for: credential)
    if let reason = stops.reason(for: grant.digest) { throw Problem.stopped(reason) }
    let limits = [try basis.map { try graceEnd(of: $0) }, try await openUntil(grant)]
    let end = limits.compactMap { $0 }.min()
    try await reopen(grant)
    return tickets.issue(for: grant, openUntil: end, isRenewal: true)
  }

  /// Returns the grant's state as its device sees it. Bytes that are not written down yet are counted. Throws
  /// what ``GrantStore/status(of:for:)`` throws.
  package func status(of id: GrantIdentifier, credential: GrantCredential) async throws -> GrantStatus {
    let found = try await grantStore.status(of: id, for: credential)
    var status = found.status
    status.bytesDelivered += recorder.unrecorded(found.handle)
    return status
  }

  /// Returns the same as operators see it. Throws `grant-unknown` or `grant-ambiguous`.
  package func status(of name: GrantShortName) async throws -> OperatorGrant {
    let found = try await grantStore.status(of: name)
    var status = found.status
    status.add(unrecorded: recorder.unrecorded(found.handle), at: grantStore.clock.now())
    return status
  }

  /// Records the report, then gives the store a moment to finish the transaction, so that the usual answer is
  /// final.
  ///
  /// The wait is bounded by ``Outbox/Options/patience``; without the store's word by then the state is
  /// `completed` and the call goes on. Throws `grant-unknown`, `completion-malformed`, `completion-mismatch`
  /// with the missing step, what ``GrantCredential/checkSecret(for:)`` throws, and `unavailable` while bytes
  /// are still being counted.
  package func complete(
    _ id: GrantIdentifier, with completion: ReceivedCompletion, credential: GrantCredential
  ) async throws -> CompletionResponse {
    let basis = try await grantStore.completionBasis(of: id)
    let completion = try completion.checked(with: basis.grant.publicKey)
    let outcome = try await recorder.askingOthers {
      try await record(completion, of: id, basis, credential)
    }
    recentProofs.forget(outcome.grant.handle)
    // What another purchase of the customer's opens may be here by this delivery.
    sales.note([outcome.grant.transactionKey])
    guard let entry = outcome.outbox else {
      if outcome.isWaiting { outbox.wake() }
      return CompletionResponse(
        state: outcome.grant.machine.name,
        remaining: outcome.remaining.isEmpty ? nil : outcome.remaining)
    }
    return CompletionResponse(state: await outbox.attempt(entry) ? .finished : .completed)
  }

  /// Writes the report down with what this node has sent, which counts.
  private func record(
    _ completion: ReceivedCompletion, of id: GrantIdentifier, _ first: GrantStore.CompletionBasis,
    _ credential: GrantCredential
  ) async throws -> GrantStore.CompletionOutcome {
    var (basis, isOutdated) = (first, false)
    return try await recorder.recording(of: basis.grant.digest, to: basis.grant.device) { unrecorded in
      // Before what was sent is written: a failure after that would let it count twice.
      if isOutdated { basis = try await grantStore.completionBasis(of: id, withKeptContent: true) }
      let outcome = try await grantStore.complete(
        basis, with: completion, for: credential, counting: unrecorded, lease: outbox.lease())
      isOutdated = outcome == nil
      return outcome
    }
  }

  /// The device has given the content up, because it is not what its manifest says; of one that was sent nothing of it that counts
  /// for nothing. Throws `grant-unknown`,
  /// `completion-mismatch` for content that was not granted, and what ``GrantCredential/check(for:at:)`` throws.
  package func report(
    _ failure: VerificationFailure, of id: GrantIdentifier, credential: GrantCredential
  ) async throws -> CompletionResponse {
    let grant = try await grantStore.find(id)
    try credential.check(for: grant, at: grantStore.clock.now())
    guard failure.digest == grant.digest, failure.version == grant.version else {
      throw Problem(
        .completionMismatch, "the report is about other content than was granted", missingStep: .digest)
    }
    // What is written down between the two questions is in the answer to the second.
    var sent = recorder.unrecorded(grant.handle)
    if sent == .zero {
      sent = try await grantStore.database.read {
        try DeliveredBytesTable.bytes(of: grant.digest, to: grant.device, in: $0)
      }
    }
    if sent > .zero { try await noteFailure(grant) }
    return CompletionResponse(state: grant.machine.name)
  }

  /// Throws `receipt-not-authentic` for a proof that is bound to another device. A proof without a binding is
  /// any device's.
  static func requireBinding(
    of verified: VerifiedProof, to device: DeviceIdentifier
  ) throws(Problem) {
    guard verified.binding?.matches(device) ?? true else {
      throw Problem(.receiptNotAuthentic, "the receipt was issued to another device")
    }
  }
}

extension GrantService: MetricSource {
  /// Adds the grants by state, those that their stores have not confirmed, and the irregularities by kind. Each is read from the
  /// counters of the database when metrics are asked for.
  package func register(in metrics: inout MetricRegistry) {
    let database = grantStore.database
    let grants: Metric<[CounterTable.GrantCount]> = .gauge(
      "pullbox_grants", help: "Grants by state and by the environment of the purchase.",
      labels: ["state", "environment"]
    ) { $0.map { .init($0.count, labels: [$0.state, $0.environment]) } }
    metrics.registerShared([grants]) { try await database.read { try CounterTable.grants(in: $0) } }
    let unconfirmed: Metric<Int64> = .gauge(
      "pullbox_grants_unconfirmed", help: "Grants that rest on what a store said before it was away."
    ) { $0 }
    metrics.registerShared([unconfirmed]) {
      try await database.read { try CounterTable.unconfirmed(in: $0).grants }
    }
    let irregular: Metric<[(kind: Irregularity.Kind, count: Int64)]> = .gauge(
      "pullbox_irregularities", help: "Cases in which purchases seem to go from hand to hand, by kind.",
      labels: ["kind"]
    ) { $0.map { .init($0.count, labels: [$0.kind.rawValue]) } }
    metrics.registerShared([irregular]) {
      try await database.read { connection in
        try Irregularity.Kind.known.map { ($0, try CounterTable.irregularities(of: $0, in: connection)) }
      }
    }
  }
}

extension [TransactionIdentifier: [ProductIdentifier: EntitlementRule]] {
  /// By the keys of those among these transactions, which are of one store and environment.
  func named(
    by transactions: [VerifiedTransaction]
  ) -> [TransactionKey: [ProductIdentifier: EntitlementRule]] {
    guard !isEmpty else { return [:] }
    var named: [TransactionKey: [ProductIdentifier: EntitlementRule]] = [:]
    for transaction in transactions { named[transaction.key] = self[transaction.id] }
    return named
  }
}
