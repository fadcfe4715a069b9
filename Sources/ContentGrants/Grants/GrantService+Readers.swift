package import Commerce
import ContentCatalog
import ContentDelivery
import CoreTypes
import Database
package import DeliveryModel
package import DeliveryRecords
import PaymentStores
import PullboxAPI
package import ServiceAPI

/// The grants of applications for reading, which show a key of their customer's in place of a proof: the ledger alone is asked, and no
/// store. Nothing that they fetch finishes a transaction.
extension GrantService {
  /// Transactions of a customer that are looked at for a reader's key: the latest.
  package static let maximumReadTransactions = 20_000

  /// The customer to whom the proofs belong, with the ledger's newest of them. Throws what stands against the proofs where none of them is
  /// good, and `purchase-required` where nothing was ever bought.
  ///
  /// - Parameters:
  ///   - proofs: as for ``entitlements(of:base:asked:)``.
  ///   - device: the device that shows them.
  ///   - id: the request's name in the log.
  package func customer(
    showing proofs: ProofList, on device: DeviceIdentifier, asked id: String
  ) async throws -> CustomerIdentifier {
    let shown = try await judge(proofs, for: device, recordsNew: true, asked: id)
    if proofs.isList { try await join(shown.good, shownBy: device) }
    let transactions = shown.transactions.sorted { $0.purchaseDate > $1.purchaseDate }
    let customer = try await grantStore.database.read { connection -> CustomerIdentifier? in
      for transaction in transactions {
        if let customer = try CustomerTable.customer(of: transaction.key, in: connection) { return customer }
      }
      return nil
    }
    guard let customer else { throw Problem(.purchaseRequired, "nothing was bought so far") }
    return customer
  }

  /// The rules of the customer's stores about devices: the least that one of them allows counts.
  package func deviceRules(for transactions: [VerifiedTransaction]) -> StoreRules {
    Set(transactions.map(\.store)).map { storeRules[$0] ?? StoreRules() }
      .min { $0.deviceLimit < $1.deviceLimit } ?? StoreRules()
  }

  /// Writes a reader's key, which takes a place among the customer's devices. Throws `device-limit`.
  package func add(_ key: ReaderKey) async throws {
    let now = grantStore.clock.now()
    try await grantStore.database.write(locking: []) { connection in
      let customer = try CustomerTable.lockCurrent(key.customer, in: connection)
      let transactions = try LedgerTable.transactions(of: customer, in: connection)
      let rules = deviceRules(for: transactions)
      guard
        try CustomerTable.hasPlace(for: key.device, of: customer, under: rules, at: now, in: connection)
      else {
        throw Problem(
          .deviceLimit,
          "the purchases are in use on \(rules.deviceLimit) devices; one that is silent for 90 days makes room, and so does a reader's key that is removed"
        )
      }
      var key = key
      key.customer = customer
      try ReaderKeyTable.insert(key, in: connection)
      try CustomerTable.note(key.device, of: customer, isGranted: true, at: now, in: connection)
    }
  }

  /// Ends a reader's key. Throws `not-found` where the customer has none of that name.
  package func removeReaderKey(_ name: String, of customer: CustomerIdentifier) async throws {
    try await grantStore.database.write(locking: []) { connection in
      let current = try CustomerTable.lockCurrent(customer, in: connection)
      guard try ReaderKeyTable.remove(name, of: current, in: connection) else {
        throw Problem(.notFound, "there is no reader's key of that name")
      }
    }
  }

  /// Writes down that a key was shown, and that its device is there.
  package func note(_ key: ReaderKey) async throws {
    let now = grantStore.clock.now()
    try await grantStore.database.write(locking: []) { connection in
      let customer = try CustomerTable.lockCurrent(key.customer, in: connection)
      // It may have been removed meanwhile.
      guard try ReaderKeyTable.find(key.name, in: connection) != nil else { return }
      try ReaderKeyTable.note(key.name, at: now, in: connection)
      try CustomerTable.note(key.device, of: customer, at: now, in: connection)
    }
  }

  /// The grant that the key's device has of that version, paid for by a transaction that still pays for it, as its caller knows; nil
  /// where there is none, or one that gives nothing now.
  package func standing(
    _ product: ProductIdentifier, _ version: ContentVersion, paidBy transaction: TransactionKey,
    for key: ReaderKey
  ) async throws -> GrantRecord? {
    let grant = try await grantStore.database.read {
      try GrantTable.find(product, version, paidBy: transaction, on: key.device, in: $0)
    }
    return grant.flatMap { $0.machine.name == .revoked || stops.reason(for: $0.digest) != nil ? nil : $0 }
  }

  /// The grant by which the key's device gets a product: the one that there is, or a new one. Throws `purchase-required`,
  /// `entitlement-expired`, `entitlement-revoked`, `device-limit`, `version-unknown`, `content-withdrawn`, `content-damaged`.
  package func grant(
    _ product: ProductIdentifier, _ version: ContentVersion, for key: ReaderKey
  ) async throws -> GrantRecord {
    let now = grantStore.clock.now()
    let order = GrantOrder(product: product, version: version)
    return try await catalog.current { catalog -> GrantRecord? in
      guard catalog[product]?.product.type != .consumable else {
        throw Problem(.purchaseRequired, "a consumable is delivered where it was bought")
      }
      let transactions = try await grantStore.database.read {
        try LedgerTable.transactions(of: key.customer, limit: Self.maximumReadTransactions, in: $0)
      }
      var refusals: [Problem] = []
      for group in transactions.byStore {
        var conditions = GrantConditions()
        conditions.rules = group.first.flatMap { storeRules[$0.store] } ?? StoreRules()
        let planner = GrantPlanner(
          rules: rules, transactions: group, record: try await record(of: group, catalog: catalog),
          orders: [order], device: Device(id: key.device), conditions: conditions, catalog: catalog,
          stopped: stops.stoppedContents, now: now)
        do {
          return try await grant(by: planner, for: key.name, at: now)
        } catch let problem as Problem {
          refusals.append(problem)
        }
      }
      throw Problem.mostTelling(refusals) ?? Problem(.purchaseRequired, "nothing was bought so far")
    }
  }

  /// Nil where the catalog is not the planner's any more. Throws `unauthorized` for a key that has been removed.
  private func grant(
    by planner: GrantPlanner, for key: String, at now: Timestamp
  ) async throws -> GrantRecord? {
    enum Look {
      case outdated
      case standing(GrantRecord)
      case missing
    }
    let look = try await grantStore.database.read { connection -> Look in
      guard try planner.isCurrent(in: connection), let plan = try planner.plans(in: connection).first else {
        return .outdated
      }
      let basis = try plan.get().basis
      guard let grant = (basis.present ?? []).first(where: { basis.isFor($0) }) else { return .missing }
      guard grant.machine.name != .revoked else { throw Problem(.entitlementRevoked) }
      return .standing(grant)
    }
    switch look {
    case .outdated: return nil
    case .standing(let grant): return grant
    case .missing: break
    }
    return try await grantStore.database.write(locking: planner.locks) { connection -> GrantRecord? in
      let ledger = try GrantStore.record(
        [], by: .answer(takesNew: false, takesRevocations: false), besides: planner.paying, at: now,
        in: connection)
      // It may have been removed since it was shown, and would take a place that no one can give back.
      guard try ReaderKeyTable.find(key, in: connection) != nil else { throw Problem(.unauthorized) }
      guard try planner.isCurrent(in: connection), let plan = try planner.plans(in: connection).first else {
        return nil
      }
      var basis = try plan.get().basis
      // Whose the purchase is was decided when a device claimed it; an application for reading claims nothing.
      switch try GrantStore.claim(on: basis.transaction, under: planner.conditions, in: connection) {
      case .stands, .belongs: break
      case .transferred, .refused: throw Problem(.purchaseClaimed)
      }
      // No completion is expected of it, and so nothing is owed to it.
      basis.owed = []
      basis.isForReading = true
      let made = try GrantStore.grants(
        on: [basis], to: planner.device, under: planner.conditions, shownWith: planner.shown,
        recorded: ledger, at: now, in: connection)
      return try made.first?.get().grant
    }
  }
}
