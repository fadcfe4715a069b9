package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel

/// Customers: names that transactions have in the ledger, with the devices that showed them. A customer who turns out to be
/// another goes on under one of the two names, and the other one is an alias. Its functions run in the caller's
/// transaction and throw ``DatabaseError``. Those that write, and ``hasPlace(for:of:leaving:under:at:in:)``, need the
/// customer's lock (``lock(_:in:)``).
package enum CustomerTable {
  /// A device that is seen again within this time is not written down again.
  package static let deviceFreshness: Duration = .seconds(86_400)

  /// The name that the customer has now.
  package static func current(
    _ customer: CustomerIdentifier, in connection: borrowing Connection
  ) throws -> CustomerIdentifier {
    try connection.first("SELECT customer FROM customer_aliases WHERE alias = ?", [.customer(customer)])?
      .customer("customer") ?? customer
  }

  /// Locks these customers until the end of the caller's write, before its first statement that writes. False where one of them has
  /// become another meanwhile: then whose the caller's transactions are is to be read again.
  package static func lock(
    _ customers: Set<CustomerIdentifier>, in connection: borrowing Connection
  ) throws -> Bool {
    for lock in customers.map(DatabaseLock.customer).sorted() { try connection.lock(lock) }
    return try customers.allSatisfy { try current($0, in: connection) == $0 }
  }

  /// Locks the customer by the name of now, as ``lock(_:in:)`` does, and answers that.
  package static func lockCurrent(
    _ customer: CustomerIdentifier, in connection: borrowing Connection
  ) throws -> CustomerIdentifier {
    while true {
      let current = try current(customer, in: connection)
      if try lock([current], in: connection) { return current }
    }
  }

  /// Locks the customers whose these transactions are, as ``lock(_:in:)`` does, and answers them.
  @discardableResult
  package static func lockCustomers(
    of transactions: [TransactionKey], in connection: borrowing Connection
  ) throws -> Set<CustomerIdentifier> {
    while true {
      let customers = try customers(of: transactions, in: connection)
      if try lock(customers, in: connection) { return customers }
    }
  }

  /// The one customer that the group is; nil where none of them is known, or they are another account's. Customers of one
  /// account, or of none, become one.
  package static func resolve(
    _ group: CustomerGroup, in connection: borrowing Connection
  ) throws -> CustomerIdentifier? {
    guard group.customers.count > 1 || group.account != nil else { return group.customers.first }
    var account = group.account
    var kept: CustomerIdentifier?
    for customer in group.customers {
      let accounts = try accounts(of: customer, in: connection)
      guard accounts.allSatisfy({ account == nil || $0 == account }), accounts.count <= 1 else { continue }
      account = account ?? accounts.first
      if let kept {
        try merge(customer, into: kept, in: connection)
      } else {
        kept = customer
      }
    }
    return kept ?? (group.account == nil ? group.customers.first : nil)
  }

  /// Whether two of the customers have purchases at one store, in the same environment of it.
  package static func shareStore(
    _ customers: [CustomerIdentifier], in connection: borrowing Connection
  ) throws -> Bool {
    var places: Set<String> = []
    for customer in customers {
      let rows = try connection.query(
        """
        SELECT DISTINCT store, environment FROM transactions \(SQLDialect.index("transactions_by_customer"))
        WHERE customer = ?
        """, [.customer(customer)])
      for row in rows
      where try !places.insert("\(row.text("store")) \(row.text("environment"))").inserted { return true }
    }
    return false
  }

  /// The device has shown a proof of the customer's; with `isGranted` it takes one of the customer's places.
  package static func note(
    _ device: DeviceIdentifier, of customer: CustomerIdentifier, isGranted: Bool = false, at now: Timestamp,
    in connection: borrowing Connection
  ) throws {
    try connection.enqueue(
      """
      INSERT INTO customer_devices (customer, device, first_seen, last_seen, granted) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (customer, device) DO UPDATE SET last_seen = excluded.last_seen,
        granted = CASE customer_devices.granted WHEN 1 THEN 1 ELSE excluded.granted END
        WHERE customer_devices.last_seen <= ? OR customer_devices.granted < excluded.granted
      """,
      [
        .customer(customer), .identifier(device), .timestamp(now), .timestamp(now), .boolean(isGranted),
        .timestamp(now - deviceFreshness),
      ])
  }

  /// Whether the device may be granted something of the customer's: it was before, or there is a place for it. A device
  /// that was silent for long has left its place; those that are `leaving` are about to.
  ///
  /// - Parameters:
  ///   - leaving: devices that have a place until the caller's write is done.
  ///   - rules: the rules of the store whose purchase is granted.
  package static func hasPlace(
    for device: DeviceIdentifier, of customer: CustomerIdentifier, leaving: Set<DeviceIdentifier> = [],
    under rules: StoreRules, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    let places = try connection.query(
      """
      SELECT device FROM customer_devices \(SQLDialect.index("customer_devices_granted"))
      WHERE customer = ? AND granted = 1 AND last_seen > ? AND device <> ? LIMIT ?
      """,
      [
        .customer(customer), .timestamp(now - StoreRules.silence), .identifier(device),
        .integer(rules.deviceLimit + leaving.count),
      ])
    let staying = try places.filter { try !leaving.contains($0.identifier("device")) }
    if rules.hasPlace(besides: staying.count) { return true }
    let known = try connection.first(
      """
      SELECT 1 FROM customer_devices WHERE customer = ? AND device = ? AND granted = 1
      UNION ALL
      SELECT 1 FROM grants \(SQLDialect.index("grants_by_device"))
      JOIN transactions ON transactions.store = grants.store AND transactions.environment = grants.environment
        AND transactions.transaction_id = grants.transaction_id
      WHERE grants.device = ? AND transactions.customer = ? AND grants.revoked_by IS NULL
      LIMIT 1
      """,
      [.customer(customer), .identifier(device), .identifier(device), .customer(customer)])
    return known != nil
  }

  /// The transactions of the customer's that pay for grants on the device that stand.
  package static func grants(
    on device: DeviceIdentifier, of customer: CustomerIdentifier, in connection: borrowing Connection
  ) throws -> Set<TransactionKey> {
    let rows = try connection.query(
      """
      SELECT DISTINCT grants.store, grants.environment, grants.transaction_id
      FROM grants \(SQLDialect.index("grants_by_device"))
      JOIN transactions ON transactions.store = grants.store AND transactions.environment = grants.environment
        AND transactions.transaction_id = grants.transaction_id
      WHERE grants.device = ? AND transactions.customer = ? AND grants.revoked_by IS NULL
      """, [.identifier(device), .customer(customer)])
    return Set(try rows.map(TransactionKey.init(row:)))
  }

  /// The device leaves its place with the customer who made the transaction, once none of its grants of that customer's stands.
  package static func leavePlace(
    _ device: DeviceIdentifier, grantedFor transaction: TransactionKey, in connection: borrowing Connection
  ) throws {
    guard let customer = try customer(of: transaction, in: connection) else { return }
    try connection.execute(
      """
      UPDATE customer_devices SET granted = 0 WHERE customer = ? AND device = ? AND granted = 1 AND NOT EXISTS (
        SELECT 1 FROM grants \(SQLDialect.index("grants_by_device"))
        JOIN transactions ON transactions.store = grants.store AND transactions.environment = grants.environment
          AND transactions.transaction_id = grants.transaction_id
        WHERE grants.device = ? AND transactions.customer = ? AND grants.revoked_by IS NULL)
      """, [.customer(customer), .identifier(device), .identifier(device), .customer(customer)])
  }

  /// The device has its place again, whatever the limit says.
  package static func takePlaceAgain(
    _ device: DeviceIdentifier, grantedFor transaction: TransactionKey, in connection: borrowing Connection
  ) throws {
    guard let customer = try customer(of: transaction, in: connection) else { return }
    try connection.execute(
      "UPDATE customer_devices SET granted = 1 WHERE customer = ? AND device = ?",
      [.customer(customer), .identifier(device)])
  }

  /// Nil for a transaction that is not in the ledger.
  package static func customer(
    of transaction: TransactionKey, in connection: borrowing Connection
  ) throws -> CustomerIdentifier? {
    try connection.first(
      "SELECT customer FROM transactions WHERE store = ? AND environment = ? AND transaction_id = ?",
      [.identifier(transaction.store), .choice(transaction.environment), .identifier(transaction.id)]
    )?.optionalCustomer("customer")
  }

  /// Returns the customers of these transactions, each once.
  package static func customers(
    of transactions: [TransactionKey], in connection: borrowing Connection
  ) throws -> Set<CustomerIdentifier> {
    var customers: Set<CustomerIdentifier> = []
    for (store, keys) in Dictionary(grouping: transactions, by: \.store) {
      for (environment, keys) in Dictionary(grouping: keys, by: \.environment) {
        for ids in KeyBatch.all(of: keys.map(\.id)) {
          try connection.forEach(
            """
            SELECT customer FROM transactions
            WHERE store = ? AND environment = ? AND transaction_id IN (\(ids.placeholders))
            """, [.identifier(store), .choice(environment)] + ids.values
          ) { row in
            if let customer = try row.optionalCustomer("customer") { customers.insert(customer) }
          }
        }
      }
    }
    return customers
  }

  /// Whether ``note(_:of:isGranted:at:in:)`` would write something for a device that is granted nothing.
  package static func isNews(
    _ device: DeviceIdentifier, of customer: CustomerIdentifier, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Bool {
    let row = try connection.first(
      "SELECT last_seen FROM customer_devices WHERE customer = ? AND device = ?",
      [.customer(customer), .identifier(device)])
    return try row.map { try $0.timestamp("last_seen") <= now - deviceFreshness } ?? true
  }

  /// The customer's devices, the one that was seen last first, `limit` at most.
  package static func devices(
    of customer: CustomerIdentifier, limit: Int, in connection: borrowing Connection
  ) throws -> [(device: DeviceIdentifier, firstSeen: Timestamp, lastSeen: Timestamp)] {
    try connection.query(
      """
      SELECT device, first_seen, last_seen FROM customer_devices WHERE customer = ?
      ORDER BY last_seen DESC, device LIMIT ?
      """, [.customer(try current(customer, in: connection)), .integer(limit)]
    ).map {
      (try $0.identifier("device"), try $0.timestamp("first_seen"), try $0.timestamp("last_seen"))
    }
  }

  /// Removes some of the devices that were last seen before `cutoff`; whether there may be more. Needs no lock: one that is
  /// seen at that moment stays.
  package static func forgetDevices(
    silentSince cutoff: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> Bool {
    let removed = try connection.execute(
      """
      DELETE FROM customer_devices WHERE (customer, device) IN (
        SELECT customer, device FROM customer_devices WHERE last_seen < ? ORDER BY last_seen LIMIT ?)
        AND last_seen < ?
      """, [.timestamp(cutoff), .integer(limit), .timestamp(cutoff)])
    return removed == limit
  }

  /// Two at most: more than one is too many already.
  private static func accounts(
    of customer: CustomerIdentifier, in connection: borrowing Connection
  ) throws -> [ApplicationAccount] {
    try connection.query(
      """
      SELECT DISTINCT account FROM transactions \(SQLDialect.index("transactions_by_customer"))
      WHERE customer = ? AND account IS NOT NULL LIMIT 2
      """, [.customer(customer)]
    ).map { try $0.identifier("account") }
  }

  /// Gives one customer's transactions, devices and aliases to another. The name that is given up stays as an
  /// alias.
  private static func merge(
    _ customer: CustomerIdentifier, into kept: CustomerIdentifier, in connection: borrowing Connection
  ) throws {
    let both: [SQLValue] = [.customer(kept), .customer(customer)]
    try connection.execute("UPDATE transactions SET customer = ? WHERE customer = ?", both)
    try connection.execute(
      """
      INSERT INTO customer_devices (customer, device, first_seen, last_seen, granted)
      SELECT ?, device, first_seen, last_seen, granted FROM customer_devices WHERE customer = ?
      ON CONFLICT (customer, device) DO UPDATE SET granted = CASE customer_devices.granted WHEN 1 THEN 1 ELSE excluded.granted END,
        first_seen = CASE WHEN customer_devices.first_seen < excluded.first_seen
          THEN customer_devices.first_seen ELSE excluded.first_seen END,
        last_seen = CASE WHEN customer_devices.last_seen > excluded.last_seen
          THEN customer_devices.last_seen ELSE excluded.last_seen END
      """, both)
    try connection.execute("DELETE FROM customer_devices WHERE customer = ?", [.customer(customer)])
    try connection.execute(
      "UPDATE reader_keys SET customer = ?, changes = changes + 1 WHERE customer = ?", both)
    try ReadingProgressTable.merge(customer, into: kept, in: connection)
    try connection.execute("UPDATE customer_aliases SET customer = ? WHERE customer = ?", both)
    try connection.execute("INSERT INTO customer_aliases (customer, alias) VALUES (?, ?)", both)
  }
}
