package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel
import PullboxAPI

/// The products that a transaction owes a device. A transaction may be finished when it owes nothing. Its
/// functions run in the caller's transaction and throw ``DatabaseError`` and ``ColumnTypeMismatch``.
package enum ObligationTable {
  /// A transaction and one of the devices that it owes something.
  package struct Debt: Hashable, Sendable {
    /// The transaction, which is not finished while the debt has a product.
    package var transaction: TransactionKey
    /// The device that is owed the products.
    package var device: DeviceIdentifier

    package init(transaction: TransactionKey, device: DeviceIdentifier) {
      self.transaction = transaction
      self.device = device
    }
  }

  /// Adds products to a debt. Those that are there stay.
  package static func add(
    _ products: [ProductIdentifier], to debt: Debt, in connection: borrowing Connection
  ) throws {
    for product in products {
      try connection.enqueue(
        """
        INSERT INTO obligations (store, environment, transaction_id, device, product) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING
        """,
        debt.values + [.identifier(product)])
    }
  }

  /// Every product that the debt was made of, completed or not.
  package static func products(
    owedBy debt: Debt, in connection: borrowing Connection
  ) throws -> Set<ProductIdentifier> {
    let rows = try connection.query(
      """
      SELECT product FROM obligations WHERE store = ? AND environment = ? AND transaction_id = ? AND device = ?
      """, debt.values)
    return Set(try rows.map { try $0.identifier("product") })
  }

  /// How far the grants of a debt's transaction have come.
  private struct Progress {
    /// The best of a product's grants to the device, of all versions.
    enum Best: Int, Comparable {
      /// All grants of the product are revoked.
      case revoked
      /// One may still be completed.
      case live
      case completed

      static func < (first: Best, second: Best) -> Bool { first.rawValue < second.rawValue }
    }

    /// The best grant of each product to the debt's device; a product without a grant is missing.
    var products: [ProductIdentifier: Best] = [:]
    /// The device has completed something of the transaction.
    var hasCompleted = false
    /// The store has finished the transaction: a finished grant of any device says so, also when the call is forgotten.
    var hasFinished = false
  }

  /// Reads the transaction's grants, and no other's.
  private static func progress(of debt: Debt, in connection: borrowing Connection) throws -> Progress {
    let rows = try connection.query(
      """
      SELECT product,
        CASE WHEN device <> ? THEN NULL WHEN state IN ('completed', 'finished') THEN 2
          WHEN revoked_by IS NULL THEN 1 ELSE 0 END AS best,
        CASE WHEN state IN ('finished', 'revoked/finished') THEN 1 ELSE 0 END AS finished
      FROM grants WHERE store = ? AND environment = ? AND transaction_id = ?
        AND (device = ? OR state IN ('finished', 'revoked/finished'))
      """, [.identifier(debt.device)] + debt.transaction.values + [.identifier(debt.device)])
    var progress = Progress()
    for row in rows {
      if try row.boolean("finished") { progress.hasFinished = true }
      guard let best = try row.optionalInteger("best").flatMap({ Progress.Best(rawValue: Int($0)) }) else {
        continue
      }
      if best == .completed { progress.hasCompleted = true }
      let product: ProductIdentifier = try row.identifier("product")
      progress.products[product] = max(best, progress.products[product] ?? best)
    }
    return progress
  }

  /// The products that the device has still to complete, by name. Owed no longer is a product that the device
  /// is offered no version of (all were withdrawn, or a rollout shrank past the device), and one of which its
  /// grants are all revoked.
  package static func remaining(of debt: Debt, in connection: borrowing Connection) throws
    -> [ProductIdentifier]
  {
    let owed = try products(owedBy: debt, in: connection)
    return try remaining(of: debt, owing: owed, progress: progress(of: debt, in: connection), in: connection)
  }

  /// The products that the transaction still owes the device of a grant, by name; nil where there are none, and of a grant that tells nothing: one
  /// that is completed tells them, and one that an operator revoked and the store has not, since the others stay paid for.
  package static func remaining(
    besides grant: GrantRecord, in connection: borrowing Connection
  ) throws -> [ProductIdentifier]? {
    if grant.machine.state != .completed {
      guard grant.machine.state.isRevoked, grant.operatorWord?.decision == .revoke else { return nil }
      let known = try LedgerTable.find(grant.transactionKey, in: connection)
      guard known?.transaction.revokedDate == nil else { return nil }
    }
    let remaining = try remaining(of: Debt(grant), in: connection)
    return remaining.isEmpty ? nil : remaining
  }

  /// Keeps of the products those that are still owed, in the order of their names.
  private static func remaining(
    of debt: Debt, owing products: Set<ProductIdentifier>, progress: Progress,
    in connection: borrowing Connection
  ) throws -> [ProductIdentifier] {
    try products.sorted().filter { product in
      try progress.products[product] ?? .live == .live
        && VersionTable.offered(product, to: debt.device, in: connection) != nil
    }
  }

  /// Completed grants that a step with a product looks at, the newest: there are many only while a store does not answer,
  /// and the sweep finds the debts of the others.
  private static let maximumLookedAt = 1000

  /// At most `limit` debts in which the device has completed something lately, and which the product is a part of.
  package static func debts(
    owing product: ProductIdentifier, limit: Int, in connection: borrowing Connection
  ) throws -> [Debt] {
    try connection.query(
      """
      SELECT DISTINCT store, environment, transaction_id, device
      FROM (
        SELECT store, environment, transaction_id, device FROM grants WHERE state = 'completed'
        ORDER BY number DESC LIMIT ?) AS newest
      WHERE EXISTS (
        SELECT 1 FROM obligations AS owed
        WHERE owed.store = newest.store AND owed.environment = newest.environment
          AND owed.transaction_id = newest.transaction_id AND owed.device = newest.device AND owed.product = ?)
      LIMIT ?
      """, [.integer(maximumLookedAt), .identifier(product), .integer(limit)]
    ).map(debt)
  }

  fileprivate static func debt(_ row: Row) throws -> Debt {
    Debt(
      transaction: TransactionKey(
        store: try row.identifier("store"), environment: try row.choice("environment"),
        id: try row.identifier("transaction_id")),
      device: try row.identifier("device"))
  }
}

extension ObligationTable.Debt {
  /// The debt that the grant is a part of.
  package init(_ grant: GrantRecord) {
    self.init(transaction: grant.transactionKey, device: grant.device)
  }

  fileprivate var values: [SQLValue] {
    transaction.values + [.identifier(device)]
  }
}

/// Every step that can lessen a debt settles it, in its own database transaction.
extension ObligationTable {
  /// The state of a debt after a step.
  package enum Settlement: Hashable, Sendable {
    /// The device has still to complete these; or it completed nothing, so that there is nothing to finish.
    case open([ProductIdentifier])
    /// The outbox will finish the transaction, unless an operator dropped the call; `taken` where a lease claimed
    /// it for the caller.
    case waiting(taken: OutboxEntry?)
    /// The store finished the transaction before: so are its completed grants now.
    case finished
  }

  /// Debts that a step with a product settles in its own transaction, at most. The sweep finds the others.
  static let maximumSettledAtOnce = 200

  /// Puts the transaction's end in the outbox if the device completed something of it and nothing else is
  /// owed. With a lease the call is claimed for the caller, who then has it made. `products` is what ``products(owedBy:in:)`` has said.
  ///
  /// It may be called any number of times: a call that is there is not added again. Runs in a write that locks the transaction.
  ///
  /// - Parameters:
  ///   - products: what the debt was made of; nil reads it.
  ///   - lease: claims the call for the caller; nil leaves it to the worker.
  package static func settle(
    _ debt: Debt, owing products: Set<ProductIdentifier>? = nil, lease: OutboxLease? = nil,
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> Settlement {
    let progress = try progress(of: debt, in: connection)
    let owed = try products ?? self.products(owedBy: debt, in: connection)
    let remaining = try remaining(of: debt, owing: owed, progress: progress, in: connection)
    guard remaining.isEmpty, progress.hasCompleted else { return .open(remaining) }
    if progress.hasFinished {
      try finishGrants(of: debt.transaction, at: now, in: connection)
      return .finished
    }
    guard case .told(let acknowledgement) = try LedgerTable.ending(of: debt.transaction, in: connection)
    else {
      try finishGrants(of: debt.transaction, at: now, in: connection)
      return .finished
    }
    let standing = try OutboxTable.add(
      OutboxEntry.Kind(ending: acknowledgement), of: debt.transaction, payload: acknowledgement?.reference,
      lease: lease, at: now, in: connection)
    switch standing {
    case .waiting(let taken): return .waiting(taken: taken)
    case .parked, .dropped: return .waiting(taken: nil)
    case .done:
      try finishGrants(of: debt.transaction, at: now, in: connection)
      return .finished
    }
  }

  /// The transactions of the debts that ``settleDebts(owing:of:at:in:)`` would settle now, for the write's locks.
  package static func transactions(
    owing product: ProductIdentifier, in connection: borrowing Connection
  ) throws -> Set<TransactionKey> {
    Set(try debts(owing: product, limit: maximumSettledAtOnce, in: connection).map(\.transaction))
  }

  /// Settles the debts that the product is a part of, ``maximumSettledAtOnce`` at most, as far as they are of these
  /// transactions, which the caller's write locks.
  package static func settleDebts(
    owing product: ProductIdentifier, of transactions: Set<TransactionKey>, at now: Timestamp,
    in connection: borrowing Connection
  ) throws {
    for debt in try debts(owing: product, limit: maximumSettledAtOnce, in: connection)
    where transactions.contains(debt.transaction) {
      _ = try settle(debt, at: now, in: connection)
    }
  }

  /// The store has finished the transaction: so are all its completed grants.
  package static func finishGrants(
    of transaction: TransactionKey, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    for var grant in try GrantTable.all(paidBy: transaction, in: connection) {
      let before = grant.machine.state
      _ = grant.machine.handle(.transactionFinished)
      try GrantTable.update(grant, from: before, at: now, detail: "the store finished it", in: connection)
    }
  }
}

extension ObligationTable {
  /// Where a sweep over completed grants goes on: behind the number of the grant that was looked at last.
  package struct SweepPosition: Sendable {
    /// The number of that grant.
    package var number: Int64
  }

  /// At most `limit` completed grants that no row of the outbox waits for, from `position` on, the oldest
  /// first: the debts they are a part of, and where to go on; nil at the end. Where an operator dropped the call
  /// there is nothing to settle.
  package static func completed(
    after position: SweepPosition?, limit: Int, in connection: borrowing Connection
  ) throws -> (debts: [Debt], next: SweepPosition?) {
    let rows = try connection.query(
      """
      SELECT number, store, environment, transaction_id, device, EXISTS (
        SELECT 1 FROM outbox
        WHERE outbox.store = grants.store AND outbox.environment = grants.environment AND subject = transaction_id
          AND kind IN ('finish', 'acknowledge', 'consume')
          AND (done IS NULL OR dropped IS NOT NULL)
        ) AS is_waiting
      FROM grants WHERE state = 'completed' AND number > ? ORDER BY number LIMIT ?
      """, [.integer(position?.number ?? 0), .integer(limit)])
    let debts = try rows.filter { try !$0.boolean("is_waiting") }.map(debt)
    guard rows.count == limit, let last = rows.last else { return (debts, nil) }
    return (debts, SweepPosition(number: try last.integer("number")))
  }
}
