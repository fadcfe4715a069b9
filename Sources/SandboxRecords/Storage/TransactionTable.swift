package import Commerce
package import CoreTypes
package import Database
import PullboxAPI
import ServiceRuntime

/// The table of transactions, within one database transaction.
package enum TransactionTable {
  /// Inserts a purchase that begins; the identifier is the next free one.
  ///
  /// - Parameters:
  ///   - key: the idempotency key; nil where the request bore none. A second row of the account with the key
  ///     breaks a unique index.
  ///   - requested: in whole seconds.
  package static func insert(
    in connection: borrowing Connection, account: Account, order: PurchaseOrder, key: String?,
    environment: StoreEnvironment, requested: Timestamp
  ) throws -> StoredTransaction {
    try connection.execute(
      """
      INSERT INTO transactions
        (account, product, quantity, device, application_username, requested, state, idempotency_key, storefront,
          environment, opts_in, shown)
      VALUES (?, ?, ?, ?, ?, ?, 'purchasing', ?, ?, ?, ?, ?)
      """,
      [
        .integer(account.id), .text(order.product.description), .integer(order.quantity),
        .optional(order.device?.description), .optional(order.applicationUsername), .timestamp(requested),
        .optional(key), .text(account.territory), .text(environment.rawValue), .boolean(order.optsIn),
        .optional(order.shown?.description),
      ])
    return StoredTransaction(
      id: connection.lastInsertedRowID, account: account.id, product: order.product, quantity: order.quantity,
      device: order.device, applicationUsername: order.applicationUsername, storefront: account.territory,
      environment: environment, requested: requested, optsIn: order.optsIn,
      shown: order.shown, life: PurchaseLifecycle())
  }

  /// Inserts what is sold without having been asked for: a renewal, or something restored. It continues
  /// `original`. It is sold at once and tells no receiver:
  /// ``ChangeRecorder/insert(in:continuing:account:product:device:sale:requested:)`` does. The first copy in
  /// an account becomes the original transaction of the later ones there.
  ///
  /// - Parameter account: whose it is, where that is another account, which shares it.
  static func insert(
    in connection: borrowing Connection, continuing original: StoredTransaction,
    account: (id: Int64, territory: String)? = nil, product: ProductIdentifier,
    device: DeviceIdentifier?, sale: PurchaseLifecycle.Sale, requested: Timestamp
  ) throws -> StoredTransaction {
    let owner = account?.id ?? original.account
    let storefront = account?.territory ?? original.storefront
    let username = account == nil ? original.applicationUsername : nil
    try connection.execute(
      """
      INSERT INTO transactions
        (account, product, quantity, device, application_username, requested, state, storefront, environment)
      VALUES (?, ?, ?, ?, ?, ?, 'purchasing', ?, ?)
      """,
      [
        .integer(owner), .text(product.description), .integer(original.quantity),
        .optional(device?.description), .optional(username), .timestamp(requested),
        .optional(storefront), .text(original.environment.rawValue),
      ])
    var sale = sale
    let id = connection.lastInsertedRowID
    if account != nil {
      sale.originalID = try firstShare(of: sale.originalID, with: owner, in: connection)?.id ?? id
    }
    let transaction = StoredTransaction(
      id: id, account: owner, product: product,
      quantity: original.quantity, device: device, applicationUsername: username,
      storefront: storefront, environment: original.environment, requested: requested,
      // A copy that is restored of what is shared is shared as well.
      sharedFrom: account == nil ? original.sharedFrom : original.id,
      life: PurchaseLifecycle(.purchased(sale, finished: nil)))
    try save(transaction, in: connection)
    return transaction
  }

  /// Takes back a purchase that changed nothing but the renewal of another. The row has no references yet.
  static func remove(_ transaction: StoredTransaction, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM transactions WHERE id = ?", [.integer(transaction.id)])
  }

  /// The purchase that was begun with that key. Nil where no purchase of the account has the key, or its key
  /// was forgotten.
  package static func find(
    in connection: borrowing Connection, account: Int64, key: String
  ) throws -> StoredTransaction? {
    try connection.first(
      "SELECT * FROM transactions WHERE account = ? AND idempotency_key = ?", [.integer(account), .text(key)]
    ).map(transaction)
  }

  /// The key is free for another purchase.
  package static func forgetKey(of transaction: Int64, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE transactions SET idempotency_key = NULL WHERE id = ?", [.integer(transaction)])
  }

  /// Saves the state of a transaction, of which ``ChangeRecorder`` tells. Account, product, quantity, device
  /// and what the customer saw are never changed.
  static func save(_ transaction: StoredTransaction, in connection: borrowing Connection) throws {
    let columns = LifeColumns(transaction.life)
    let sale = columns.sale
    try connection.execute(
      """
      UPDATE transactions SET state = ?, failure = ?, type = ?, original_id = ?, purchased = ?, expires = ?,
        finished = ?, reason = ?, original_purchased = ?, price = ?, currency = ?, upgraded = ?, revoked = ?,
        revocation = ?, revocation_percentage = ?, revocation_reason = ?, waits_for = ?, waits_until = ?,
        offer_kind = ?, offer_payment = ?, offer_name = ?, offer_period = ?, shared_from = ?, license = ?, license_ends = ?
      WHERE id = ?
      """,
      [
        .text(columns.state), .optional(columns.failure?.rawValue), .optional(sale?.type.rawValue),
        .optional(sale?.originalID), .optional(sale?.date), .optional(sale?.expires),
        .optional(columns.finished), .optional(sale?.reason.rawValue), .optional(sale?.originalDate),
        .optional(sale?.price?.amount), .optional(sale?.price?.currency), .optional(sale?.upgraded),
        .optional(sale?.revocation?.date), .optional(sale?.revocation?.kind.rawValue),
        .optional(sale?.revocation?.percentage, { .integer($0) }),
        .optional(sale?.revocation?.reason, { .integer($0) }), .optional(columns.waitsFor),
        .optional(columns.waitsUntil), .optional(sale?.offer?.kind.rawValue, { .integer($0) }),
        .optional(sale?.offer?.payment.rawValue), .optional(sale?.offer?.name),
        .optional(sale?.offer?.period?.description),
        .optional(transaction.sharedFrom), .optional(transaction.license), .optional(sale?.licenseEnds),
        .integer(transaction.id),
      ])
  }

  /// Nil where there is no such transaction, in any account.
  package static func find(in connection: borrowing Connection, id: Int64) throws -> StoredTransaction? {
    try connection.first("SELECT * FROM transactions WHERE id = ?", [.integer(id)]).map(transaction)
  }

  /// An account's transactions by their identifiers, from the first after `after`; at most `limit`. With a device, those
  /// that it bought and those that belong to none.
  ///
  /// - Parameter inQueue: whether only those that are neither finished nor failed are wanted.
  package static func list(
    in connection: borrowing Connection, account: Int64, device: DeviceIdentifier? = nil, inQueue: Bool,
    after: Int64, limit: Int
  ) throws -> [StoredTransaction] {
    let queue = inQueue ? "AND finished IS NULL AND state <> 'failed'" : ""
    let ofDevice = device == nil ? "" : "AND (device IS NULL OR device = ?)"
    return try connection.query(
      "SELECT * FROM transactions WHERE account = ? \(queue) \(ofDevice) AND id > ? ORDER BY id LIMIT ?",
      [.integer(account)] + (device.map { [.text($0.description)] } ?? []) + [
        .integer(after), .integer(limit),
      ]
    ).map(transaction)
  }

  /// Returns the transactions that were sold to an account, the oldest first. Where there are more than
  /// `limit`, these are the newest. Restored, shared and revoked ones are among them.
  package static func sold(
    in connection: borrowing Connection, account: Int64, limit: Int
  ) throws -> [StoredTransaction] {
    try connection.query(
      "SELECT * FROM transactions WHERE account = ? AND state = 'purchased' ORDER BY id DESC LIMIT ?",
      [.integer(account), .integer(limit)]
    ).reversed().map(transaction)
  }

  /// The first sale of a product to the account that still counts at `now`, which a later one continues. A
  /// refunded sale does not count, and neither does a seat of a license that has run out.
  static func original(
    in connection: borrowing Connection, account: Int64, product: ProductIdentifier, at now: Timestamp
  ) throws -> StoredTransaction? {
    try connection.first(
      """
      SELECT * FROM transactions
      WHERE account = ? AND product = ? AND state = 'purchased' AND reason <> 'restore' AND revoked IS NULL
        AND (license_ends IS NULL OR license_ends > ?)
      ORDER BY id LIMIT 1
      """, [.integer(account), .text(product.description), .timestamp(now)]
    ).map(transaction)
  }

  /// The last transaction that was paid for under an original one. Restored copies are none. A period that
  /// was refunded counts. Nil where nothing was sold.
  package static func last(
    in connection: borrowing Connection, account: Int64, originalID: Int64
  ) throws -> StoredTransaction? {
    try connection.first(
      """
      SELECT * FROM transactions
      WHERE account = ? AND original_id = ? AND state = 'purchased' AND reason <> 'restore'
      ORDER BY purchased DESC, id DESC LIMIT 1
      """, [.integer(account), .integer(originalID)]
    ).map(transaction)
  }

  /// The period of a subscription's last transaction ends when the subscription does. The copies that a
  /// family has of it end as well. Nothing changes where no transaction begins with the subscription's
  /// period.
  package static func endLastPeriod(
    of subscription: StoredSubscription, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      UPDATE transactions SET expires = ?
      WHERE account = ? AND original_id = ? AND purchased = ? AND state = 'purchased'
      """,
      [
        .timestamp(subscription.life.expires), .integer(subscription.account),
        .integer(subscription.originalID), .timestamp(subscription.life.start),
      ])
    try connection.execute(
      """
      UPDATE transactions SET expires = ?
      WHERE shared_from IN (
        SELECT id FROM transactions WHERE account = ? AND original_id = ? AND purchased = ? AND state = 'purchased')
      """,
      [
        .timestamp(subscription.life.expires), .integer(subscription.account),
        .integer(subscription.originalID), .timestamp(subscription.life.start),
      ])
  }

  /// Those that a purchase is about to decide, and not those that wait for a decision. The oldest first.
  package static func purchasing(
    in connection: borrowing Connection, limit: Int
  ) throws -> [StoredTransaction] {
    try connection.query(
      "SELECT * FROM transactions WHERE state = 'purchasing' AND waits_for IS NULL ORDER BY id LIMIT ?",
      [.integer(limit)]
    ).map(transaction)
  }

  /// Those that have waited for an approval for too long. They are in the order in which they were asked for.
  package static func unapproved(
    in connection: borrowing Connection, at now: Timestamp, limit: Int
  ) throws -> [StoredTransaction] {
    try connection.query(
      "SELECT * FROM transactions WHERE state = 'purchasing' AND waits_until <= ? ORDER BY id LIMIT ?",
      [.timestamp(now), .integer(limit)]
    ).map(transaction)
  }

  /// When the next of them has waited for too long. Nil where none waits for an approval.
  package static func nextUnapproved(in connection: borrowing Connection) throws -> Timestamp? {
    try connection.first("SELECT min(waits_until) AS until FROM transactions WHERE state = 'purchasing'")?
      .optionalTimestamp("until")
  }

  /// Transactions of all accounts that are neither finished nor failed: also those that are not sold yet.
  package static func countInQueues(in connection: borrowing Connection) throws -> Int64 {
    try connection.first(
      "SELECT count(*) AS count FROM transactions WHERE finished IS NULL AND state <> 'failed'")?
      .integer("count") ?? 0
  }

  /// All transactions of the account, in whatever state.
  package static func count(in connection: borrowing Connection, account: Int64) throws -> Int {
    let row = try connection.first(
      "SELECT count(*) AS count FROM transactions WHERE account = ?", [.integer(account)])
    return Int(try row?.integer("count") ?? 0)
  }

  /// Reads a row of all columns. Throws ``StateDirectoryError`` `damaged` for one without a product. A device
  /// or a price that this version cannot read is none.
  static func transaction(_ row: Row) throws -> StoredTransaction {
    guard let product = ProductIdentifier(try row.text("product")) else {
      throw StateDirectoryError(
        .damaged, path: "store.sqlite", message: "a transaction is of no product")
    }
    return StoredTransaction(
      id: try row.integer("id"), account: try row.integer("account"), product: product,
      quantity: Int(try row.integer("quantity")),
      device: try row.optionalText("device").flatMap(DeviceIdentifier.init),
      applicationUsername: try row.optionalText("application_username"),
      storefront: try row.optionalText("storefront"),
      environment: StoreEnvironment(rawValue: try row.text("environment")) ?? .sandbox,
      requested: try row.timestamp("requested"), optsIn: try row.boolean("opts_in"),
      shown: try row.optionalText("shown").flatMap { ShownPrice($0) },
      sharedFrom: try row.optionalInteger("shared_from"), license: try row.optionalInteger("license"),
      life: try LifeColumns.life(row))
  }
}
