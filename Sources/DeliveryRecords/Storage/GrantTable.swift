package import Commerce
package import CoreTypes
package import Crypto
package import Database
package import DeliveryModel
package import ServiceAPI

/// The rows of grants and of what happened to them.
///
/// Where SQLite has a choice, the statement names its index: a product may have most of the grants, and
/// without statistics, or with those of a sample, SQLite may take the index of the product's.
package enum GrantTable {
  /// The columns that ``record(_:)`` reads, for statements that join other tables as well.
  static let columns = """
    grants.number, grants.id, grants.handle, grants.store, grants.environment, grants.transaction_id, grants.product,
    grants.version, grants.device, grants.public_key, grants.renewal_digest, grants.previous_renewal_digest, grants.digest,
    grants.length, grants.manifest_digest, grants.state, grants.created, grants.operator_decision, grants.operator_as_of,
    grants.operator_excuses
    """
  // Texts that are put together once.
  private static let selectionByID = "SELECT \(columns) FROM grants WHERE id = ?"
  private static let selectionByHandle = "SELECT \(columns) FROM grants WHERE handle = ?"
  private static let selectionByDevice =
    "SELECT \(columns) FROM grants \(SQLDialect.index("grants_by_device")) WHERE device = ? AND product = ?"
  private static let selectionByTransaction =
    "SELECT \(columns) FROM grants WHERE store = ? AND environment = ? AND transaction_id = ?"
  private static let selectionByAll = """
    SELECT \(columns) FROM grants
    WHERE store = ? AND environment = ? AND transaction_id = ? AND product = ? AND version = ? AND device = ?
    """
  /// The key of the table, whose next number may be asked for ahead of a grant.
  package static let key = NumberedKey(of: "grants", column: "number")
  private static let insertion = """
    INSERT \(SQLDialect.failing) INTO grants (number, id, handle, store, environment, transaction_id, product, version, device, public_key,
      renewal_digest, digest, length, manifest_digest, state, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """
  private static let stateUpdate = "UPDATE \(SQLDialect.failing) grants SET state = ? WHERE number = ?"
  private static let placementUpdate =
    "UPDATE \(SQLDialect.failing) grants SET state = ?, placed = ? WHERE number = ?"

  /// Returns the grant by the name that its device knows; nil without one.
  package static func find(_ id: GrantIdentifier, in connection: borrowing Connection) throws -> GrantRecord?
  {
    try connection.first(selectionByID, [.identifier(id)]).map(record)
  }

  /// Returns the grant whose bytes flow under that handle; nil without one.
  package static func find(_ handle: DeliveryHandle, in connection: borrowing Connection) throws
    -> GrantRecord?
  {
    try connection.first(selectionByHandle, [.handle(handle)]).map(record)
  }

  /// The grants that operators know by that name, two at most: one, but for a coincidence.
  package static func all(
    named name: GrantShortName, in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    let bounds = DeliveryHandle.bounds(of: name)
    return try connection.query(
      "SELECT \(columns) FROM grants WHERE handle BETWEEN ? AND ? ORDER BY handle LIMIT 2",
      [.handle(bounds.first), .handle(bounds.last)]
    ).map(record)
  }

  /// The grant that the transaction pays for, of that version on that device; nil without one.
  package static func find(
    _ product: ProductIdentifier, _ version: ContentVersion, paidBy transaction: TransactionKey,
    on device: DeviceIdentifier, in connection: borrowing Connection
  ) throws -> GrantRecord? {
    try connection.first(
      selectionByAll,
      transaction.values + [.identifier(product), .identifier(version), .identifier(device)]
    ).map(record)
  }

  /// Whether another device has the product by the transaction, in any version.
  package static func isGranted(
    _ product: ProductIdentifier, paidBy transaction: TransactionKey,
    elsewhereThanOn device: DeviceIdentifier,
    in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      """
      SELECT 1 FROM grants \(SQLDialect.index("grants_by_transaction"))
      WHERE store = ? AND environment = ? AND transaction_id = ? AND product = ? AND device <> ? AND revoked_by IS NULL
      LIMIT 1
      """, transaction.values + [.identifier(product), .identifier(device)]) != nil
  }

  /// A version that a transaction paid for on one device.
  package struct Delivery: Hashable, Sendable {
    package var transaction: TransactionIdentifier
    package var product: ProductIdentifier
    package var version: ContentVersion

    package init(transaction: TransactionIdentifier, product: ProductIdentifier, version: ContentVersion) {
      self.transaction = transaction
      self.product = product
      self.version = version
    }
  }

  /// The states of the device's grants that were paid for with some of these, which are of one store and environment, but for those of a
  /// reader's key.
  package static func states(
    on device: DeviceIdentifier, paidBy transactions: [TransactionKey], in connection: borrowing Connection
  ) throws -> [Delivery: GrantMachine] {
    guard let first = transactions.first else { return [:] }
    var states: [Delivery: GrantMachine] = [:]
    for ids in KeyBatch.all(of: transactions.map(\.id)) {
      try connection.forEach(
        """
        SELECT transaction_id, product, version, state FROM grants
        WHERE store = ? AND environment = ? AND transaction_id IN (\(ids.placeholders)) AND device = ?
          AND state <> 'reading'
        """,
        [.identifier(first.store), .choice(first.environment)] + ids.values + [.identifier(device)]
      ) { row in
        let delivery = Delivery(
          transaction: try row.identifier("transaction_id"), product: try row.identifier("product"),
          version: try row.identifier("version"))
        states[delivery] = GrantMachine(state: try row.grantState("state"))
      }
    }
    return states
  }

  /// Returns the devices on which the customer has completed each product. The grants stand; purchases at any store may have
  /// paid for them.
  package static func completed(
    by customer: CustomerIdentifier, in connection: borrowing Connection
  ) throws -> [ProductIdentifier: Set<DeviceIdentifier>] {
    try completed(
      connection.query(
        """
        SELECT DISTINCT grants.product AS product, grants.device AS device
        FROM transactions \(SQLDialect.index("transactions_by_customer"))
        JOIN grants ON grants.store = transactions.store AND grants.environment = transactions.environment
          AND grants.transaction_id = transactions.transaction_id
        WHERE transactions.customer = ? AND grants.state IN ('completed', 'finished')
        """, [.customer(customer)]))
  }

  /// Returns those of the devices that have completed each product, for any customer: one person may have purchases that
  /// nothing joins.
  package static func completed(
    on devices: [DeviceIdentifier], in connection: borrowing Connection
  ) throws -> [ProductIdentifier: Set<DeviceIdentifier>] {
    try completed(
      devices.flatMap { device in
        try connection.query(
          """
          SELECT DISTINCT product, device FROM grants \(SQLDialect.index("grants_by_device"))
          WHERE device = ? AND state IN ('completed', 'finished')
          """, [.identifier(device)])
      })
  }

  /// By product, the devices of the rows.
  private static func completed(_ rows: [Row]) throws -> [ProductIdentifier: Set<DeviceIdentifier>] {
    var completed: [ProductIdentifier: Set<DeviceIdentifier>] = [:]
    for row in rows {
      completed[try row.identifier("product"), default: []].insert(try row.identifier("device"))
    }
    return completed
  }

  /// Every grant that the transaction pays for, on whichever device.
  package static func all(
    paidBy transaction: TransactionKey, in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    try connection.query(selectionByTransaction, transaction.values).map(record)
  }

  /// Every grant of the product for that device, of whichever version.
  package static func all(
    of product: ProductIdentifier, on device: DeviceIdentifier, in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    try connection.query(
      selectionByDevice, [.identifier(device), .identifier(product)]
    ).map(record)
  }

  /// Those among the next `limit` of the product's in that state behind `number` whose content may be closed though the grant is not
  /// revoked: of a license, or paid for with something else than the product itself by a customer of whom the ledger knows no
  /// period of a subscription to `publication` that runs at `now`. With the number of the last that was looked at; nil where
  /// there are no more.
  package static func mayBeClosed(
    of product: ProductIdentifier, in publication: ProductIdentifier, in state: String,
    after number: Int64, limit: Int, at now: Timestamp, in connection: borrowing Connection
  ) throws -> (last: Int64?, grants: [GrantRecord]) {
    let last = try connection.first(
      """
      SELECT number FROM grants \(SQLDialect.index("grants_by_product"))
      WHERE product = ? AND state = ? AND number > ? ORDER BY number LIMIT 1 OFFSET ?
      """, [.identifier(product), .text(state), .integer(number), .integer(limit - 1)]
    )?.integer("number")
    let grants = try connection.query(
      """
      SELECT \(columns) FROM grants \(SQLDialect.index("grants_by_product"))
      JOIN transactions AS paid ON paid.store = grants.store AND paid.environment = grants.environment
        AND paid.transaction_id = grants.transaction_id
      WHERE grants.product = ? AND grants.state = ? AND grants.number > ? AND grants.number <= ?
        AND (paid.license_ends IS NOT NULL OR paid.product <> grants.product AND NOT EXISTS (
          SELECT 1 FROM transactions AS running \(SQLDialect.index("transactions_by_customer"))
          WHERE running.customer = paid.customer AND running.purchased <= ? AND running.expires > ?
            AND running.revoked IS NULL AND running.license_ends IS NULL AND running.store = paid.store
            AND running.environment = paid.environment
            AND running.product IN (SELECT id FROM products WHERE publication = ?)))
      """,
      [
        .identifier(product), .text(state), .integer(number), .integer(last ?? .max), .timestamp(now),
        .timestamp(now), .identifier(publication),
      ]
    ).map(record)
    return (last, grants)
  }

  /// Answers the grant's number.
  @discardableResult
  package static func insert(_ grant: GrantRecord, in connection: borrowing Connection) throws -> Int64 {
    let number = try connection.insert(
      insertion,
      [
        .identifier(grant.id), .handle(grant.handle), .identifier(grant.store), .choice(grant.environment),
        .identifier(grant.transaction), .identifier(grant.product), .identifier(grant.version),
        .identifier(grant.device),
        .optional(grant.publicKey, SQLValue.publicKey), .optional(grant.renewalDigest, SQLValue.digest),
        .digest(grant.digest), .byteCount(grant.length), .digest(grant.manifestDigest),
        .grantState(grant.machine.state), .timestamp(grant.created),
      ], numberedBy: key)
    try record(grant.machine.name, of: number, at: grant.created, detail: nil, in: connection)
    return number
  }

  /// Writes the machine's state down, with an entry in the history where it changed.
  package static func update(
    _ grant: GrantRecord, from before: GrantMachine.State, at now: Timestamp, detail: String?,
    in connection: borrowing Connection
  ) throws {
    guard grant.machine.state != before else { return }
    try connection.enqueue(
      stateUpdate,
      [.grantState(grant.machine.state), .integer(grant.number)])
    try record(grant.machine.name, of: grant.number, at: now, detail: detail, in: connection)
    if before.isRevoked != grant.machine.state.isRevoked {
      try StopLog.note(.grant(grant.handle), at: now, in: connection)
    }
  }

  /// Writes down that the device has reported the content as placed, and what that made of the grant.
  package static func updatePlaced(
    _ grant: GrantRecord, from before: GrantMachine.State, at now: Timestamp,
    in connection: borrowing Connection
  ) throws {
    guard grant.machine.state != before else {
      try connection.enqueue(
        "UPDATE grants SET placed = ? WHERE number = ?", [.timestamp(now), .integer(grant.number)])
      return
    }
    try connection.enqueue(
      placementUpdate,
      [.grantState(grant.machine.state), .timestamp(now), .integer(grant.number)])
    try record(grant.machine.name, of: grant.number, at: now, detail: nil, in: connection)
  }

  /// From now on the device signs with `key`; the secrets that it renewed with before are forgotten. Noted in the history.
  package static func setPublicKey(
    _ key: VerificationKey, of grant: GrantRecord, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE grants SET public_key = ?, renewal_digest = NULL, previous_renewal_digest = NULL WHERE id = ?",
      [.publicKey(key), .identifier(grant.id)])
    try record(
      grant.machine.name, of: grant.number, at: now, detail: "the device has a new key", in: connection)
  }

  /// From now on the device renews with the secret of that digest, or with the one before it.
  package static func setRenewalDigest(
    _ digest: SHA256Digest, of id: GrantIdentifier, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE grants SET previous_renewal_digest = renewal_digest, renewal_digest = ? WHERE id = ?",
      [.digest(digest), .identifier(id)])
  }

  /// Returns the grant as devices are shown it.
  package static func status(of grant: GrantRecord, in connection: borrowing Connection) throws -> GrantStatus
  {
    var status = GrantStatus(
      grant, delivered: try DeliveredBytesTable.bytes(of: grant.number, in: connection),
      history: try history(of: grant.number, in: connection))
    status.remaining = try ObligationTable.remaining(besides: grant, in: connection)
    return status
  }

  /// Returns the grant as operators are shown it at `now`, with `course` where that is known already.
  package static func operatorStatus(
    of grant: GrantRecord, _ course: DeliveryCourseTable.Course? = nil, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> OperatorGrant {
    let course = try course ?? DeliveryCourseTable.all(of: [grant], in: connection)[grant.number]
    var status = OperatorGrant(
      grant, delivered: course?.bytes ?? .zero, history: try history(of: grant.number, in: connection))
    status.application = course?.application
    status.lastSent = course?.last
    status.progress = course.flatMap { DeliveryProgress(of: grant, $0, at: now) }
    status.unconfirmed = try UnconfirmedTable.since(grant.number, in: connection)
    return status
  }

  /// Returns the grant's events in their order; some may have been forgotten.
  package static func history(
    of number: Int64, in connection: borrowing Connection
  ) throws -> [GrantStatus.Event] {
    try connection.query(
      "SELECT state, at, detail FROM grant_events WHERE grant_number = ? ORDER BY id", [.integer(number)]
    ).map {
      GrantStatus.Event(
        state: try $0.choice("state"), at: try $0.timestamp("at"), detail: try $0.optionalText("detail"))
    }
  }

  private static func record(
    _ state: GrantState, of number: Int64, at: Timestamp, detail: String?,
    in connection: borrowing Connection
  ) throws {
    try connection.enqueue(
      "INSERT INTO grant_events (grant_number, state, at, detail) VALUES (?, ?, ?, ?)",
      [.integer(number), .choice(state), .timestamp(at), .optional(detail)])
  }

  /// Reads the columns of ``columns``.
  package static func record(_ row: Row) throws -> GrantRecord {
    GrantRecord(
      number: try row.integer("number"), id: try row.identifier("id"), handle: try row.handle("handle"),
      store: try row.identifier("store"), environment: try row.choice("environment"),
      transaction: try row.identifier("transaction_id"), product: try row.identifier("product"),
      version: try row.identifier("version"), device: try row.identifier("device"),
      publicKey: try row.optionalPublicKey("public_key"),
      renewalDigest: try row.optionalDigest("renewal_digest"),
      previousRenewalDigest: try row.optionalDigest("previous_renewal_digest"),
      digest: try row.digest("digest"), length: try row.byteCount("length"),
      manifestDigest: try row.digest("manifest_digest"),
      machine: GrantMachine(state: try row.grantState("state")), created: try row.timestamp("created"),
      operatorWord: try operatorWord(row))
  }
}

extension GrantTable {
  /// Every revoked grant, for ``RevocationList``.
  package static func revoked(in connection: borrowing Connection) throws -> [DeliveryHandle] {
    var handles: [DeliveryHandle] = []
    try connection.forEach(
      """
      SELECT handle FROM grants \(SQLDialect.index("grants_by_state"))
      WHERE state IN ('revoked/granted', 'revoked/completed', 'revoked/finished', 'revoked/reading')
      """
    ) { handles.append(try $0.handle("handle")) }
    return handles
  }

  /// Writes down the party whose word revokes the grant, and the operator's decision about it.
  package static func setStanding(
    _ standing: TransactionStanding, of grant: GrantRecord, in connection: borrowing Connection
  ) throws {
    let word = standing.operatorWord
    try connection.execute(
      """
      UPDATE grants SET revoked_by = ?, operator_decision = ?, operator_as_of = ?, operator_excuses = ?
      WHERE number = ?
      """,
      [
        .optional(standing.revocation, SQLValue.choice), .optional(word?.decision.stored),
        .optional(word?.asOf), .optional(word?.excused),
        .integer(grant.number),
      ])
  }

  private static func operatorWord(_ row: Row) throws -> TransactionStanding.OperatorWord? {
    guard let stored = try row.optionalText("operator_decision") else { return nil }
    return TransactionStanding.OperatorWord(
      asOf: try row.timestamp("operator_as_of"),
      decision: stored == TransactionStanding.OperatorWord.Decision.revoke.stored
        ? .revoke : .reinstate(excusing: try row.optionalTimestamp("operator_excuses")))
  }
}

extension TransactionStanding.OperatorWord.Decision {
  /// How the database spells it.
  fileprivate var stored: String {
    switch self {
    case .revoke: "revoke"
    case .reinstate: "reinstate"
    }
  }
}
