package import Commerce
import CoreTypes
package import Database
package import DeliveryModel

/// The verified transactions, each with what its store last said of it and the customer whose it is. What
/// ``TransactionTable`` reads is a part of the same rows; a row that has no more than that part is from before there was a
/// ledger, or of a statement that named the transaction alone. Its functions run in the caller's transaction
/// and throw ``DatabaseError`` and ``ColumnTypeMismatch``.
package enum LedgerTable {
  /// The columns that ``transaction(_:)`` reads, with the customer.
  private static let columns = """
    store, environment, transaction_id, as_of, revoked, original_id, product, purchased, expires, grace_ends, charging_ends,
    license_ends, license_as_of, quantity, price, currency, account, application, territory, customer, acknowledgement,
    acknowledgement_reference, acknowledgement_due, origin
    """
  // Texts that are put together once. A row without a date of purchase has no more than the store's word: it comes last.
  private static let selection =
    "SELECT \(columns) FROM transactions WHERE store = ? AND environment = ? AND transaction_id = ?"
  private static let selectionByCustomer = """
    SELECT \(columns) FROM transactions \(SQLDialect.index("transactions_by_customer")) WHERE customer = ?
    ORDER BY purchased DESC NULLS LAST LIMIT ?
    """
  private static let selectionByPurchase = """
    SELECT \(columns) FROM transactions WHERE store = ? AND environment = ? AND transaction_id = ?
    UNION ALL
    SELECT \(columns) FROM (SELECT \(columns) FROM transactions \(SQLDialect.index("transactions_by_original"))
      WHERE store = ? AND environment = ? AND original_id = ? AND original_id <> transaction_id LIMIT ?) AS later
    """

  /// Transactions of one customer that are read, at most, unless more are asked for: the latest.
  package static let maximumCount = 2000

  /// The ledger's knowledge of a transaction before a statement about it is taken in.
  package struct Known: Sendable {
    /// Nil for one that was never heard of.
    package var word: TransactionStanding.StoreWord?
    /// Nil where no more is known than the word.
    package var transaction: VerifiedTransaction?
    /// The customer of the row; nil for a row without one.
    package var customer: CustomerIdentifier?
    /// Customers of other transactions of the same purchase, and of the same application account.
    var relatives: [CustomerIdentifier] = []

    /// Its own first.
    package var customers: [CustomerIdentifier] { [customer].compactMap { $0 } + relatives }
  }

  /// Statements of their own: most transactions need two of them. With `joinsAccounts`, purchases that name the same
  /// application account are relatives.
  package static func known(
    of transaction: VerifiedTransaction, joiningAccounts joinsAccounts: Bool,
    in connection: borrowing Connection
  ) throws -> Known {
    let (key, original) = (transaction.key, transaction.originalKey)
    var known = Known()
    if let row = try row(key, in: connection) {
      known.word = TransactionStanding.StoreWord(
        asOf: try row.timestamp("as_of"), revoked: try row.optionalTimestamp("revoked"))
      known.transaction = try self.transaction(row)
      known.customer = try row.optionalCustomer("customer")
    }
    var relatives: [Row?] = []
    if key != original { relatives.append(try row(original, in: connection)) }
    relatives.append(
      try connection.first(
        """
        SELECT customer FROM transactions \(SQLDialect.index("transactions_by_original"))
        WHERE store = ? AND environment = ? AND original_id = ? AND original_id <> transaction_id LIMIT 1
        """, original.values))
    if joinsAccounts, let account = transaction.account {
      relatives.append(
        try connection.first(
          """
          SELECT customer FROM transactions \(SQLDialect.index("transactions_by_account"))
          WHERE store = ? AND environment = ? AND account = ? LIMIT 1
          """, key.values.dropLast() + [.identifier(account)]))
    }
    known.relatives = try relatives.compactMap { try $0?.optionalCustomer("customer") }
      .filter { $0 != known.customer }
    return known
  }

  /// Writes the transaction in whole, in place of what the row had. The caller has merged both before, in a write with
  /// the locks of ``DatabaseLock/statements(on:joiningAccounts:)`` and that of the customer.
  package static func write(
    _ transaction: VerifiedTransaction, of customer: CustomerIdentifier, in connection: borrowing Connection
  ) throws {
    try connection.enqueue(
      """
      INSERT \(SQLDialect.failing) INTO transactions (store, environment, transaction_id, as_of, revoked, original_id, product, purchased,
        expires, grace_ends, charging_ends, license_ends, license_as_of, quantity, price, currency, account, application,
        territory,
        customer, acknowledgement, acknowledgement_reference, acknowledgement_due, origin)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (store, environment, transaction_id) DO UPDATE SET as_of = excluded.as_of,
        revoked = excluded.revoked, original_id = excluded.original_id, product = excluded.product,
        purchased = excluded.purchased, expires = excluded.expires, grace_ends = excluded.grace_ends,
        charging_ends = excluded.charging_ends,
        license_ends = excluded.license_ends, license_as_of = excluded.license_as_of, quantity = excluded.quantity, price = excluded.price, currency = excluded.currency,
        account = excluded.account, application = excluded.application, territory = excluded.territory,
        customer = excluded.customer, acknowledgement = excluded.acknowledgement,
        acknowledgement_reference = excluded.acknowledgement_reference, acknowledgement_due = excluded.acknowledgement_due,
        origin = excluded.origin
      """,
      transaction.key.values + [
        .timestamp(transaction.asOf), .optional(transaction.revokedDate), .identifier(transaction.originalID),
        .identifier(transaction.product), .timestamp(transaction.purchaseDate),
        .optional(transaction.expiresDate), .optional(transaction.graceExpiresDate),
        .optional(transaction.billingRetryEndDate),
        .optional(transaction.licenseEndDate), .optional(transaction.licenseAsOf),
        .integer(transaction.quantity), .optional(transaction.price?.amount),
        .optional(transaction.price?.currency), .optional(transaction.account, SQLValue.identifier),
        .optional(transaction.application, SQLValue.identifier),
        .optional(transaction.territory?.code), .customer(customer),
        .optional(transaction.acknowledgement?.kind.rawValue),
        .optional(transaction.acknowledgement?.reference), .optional(transaction.acknowledgement?.deadline),
        .optional(transaction.origin.map { $0.version?.description ?? "" }),
      ])
  }

  /// Its store has repeated what the row has, as of these dates. Nothing changes where the row was written since. Runs in a write
  /// that locks the transaction: one that merges a statement with the row would take the dates back.
  package static func setDates(_ dates: LaterDates.Dated, in connection: borrowing Connection) throws {
    let heard = dates.heard
    if let license = heard.licenseAsOf {
      try connection.execute(
        """
        UPDATE transactions SET license_as_of = ?
        WHERE store = ? AND environment = ? AND transaction_id = ? AND as_of = ?
        """, [.timestamp(license)] + dates.key.values + [.timestamp(heard.written)])
    }
    try connection.execute(
      """
      UPDATE transactions SET as_of = ?
      WHERE store = ? AND environment = ? AND transaction_id = ? AND as_of = ?
      """, [.timestamp(heard.asOf)] + dates.key.values + [.timestamp(heard.written)])
  }

  /// Returns a transaction and its customer; nil where no more is known than its store's word.
  package static func find(
    _ key: TransactionKey, in connection: borrowing Connection
  ) throws -> (transaction: VerifiedTransaction, customer: CustomerIdentifier)? {
    guard let row = try row(key, in: connection), let transaction = try transaction(row),
      let customer = try row.optionalCustomer("customer")
    else { return nil }
    return (transaction, customer)
  }

  /// The customer's transactions, the latest purchase first, `limit` at most. `customer` may be a name from before it
  /// was found to be another's.
  package static func transactions(
    of customer: CustomerIdentifier, limit: Int = maximumCount, in connection: borrowing Connection
  ) throws -> [VerifiedTransaction] {
    let customer = try CustomerTable.current(customer, in: connection)
    return try connection.query(
      selectionByCustomer, [.customer(customer), .integer(limit)]
    ).compactMap(transaction)
  }

  private static func row(_ key: TransactionKey, in connection: borrowing Connection) throws -> Row? {
    try connection.first(selection, key.values)
  }

  /// How the store is told that the transaction's content was delivered.
  package enum Ending: Sendable {
    /// The store is told that the transaction is finished, or gets the acknowledgement that it wants in place of that.
    case told(Acknowledgement?)
    /// It hears nothing: the transaction is the purchase of an application.
    case silent
  }

  /// Returns the way that the row names; a transaction without a row is told as finished.
  package static func ending(of key: TransactionKey, in connection: borrowing Connection) throws -> Ending {
    let row = try connection.first(
      """
      SELECT acknowledgement, acknowledgement_reference, acknowledgement_due, origin FROM transactions
      WHERE store = ? AND environment = ? AND transaction_id = ?
      """, key.values)
    guard let row else { return .told(nil) }
    return try row.optionalText("origin") == nil ? .told(try acknowledgement(row)) : .silent
  }

  /// How the store is told that the transaction's content was delivered; nil where the transaction is finished.
  package static func acknowledgement(
    of key: TransactionKey, in connection: borrowing Connection
  ) throws -> Acknowledgement? {
    guard case .told(let acknowledgement) = try ending(of: key, in: connection) else { return nil }
    return acknowledgement
  }

  /// The acknowledgement that the row's store wants; nil for a store that is told that the transaction is
  /// finished.
  private static func acknowledgement(_ row: Row) throws -> Acknowledgement? {
    guard let kind: Acknowledgement.Kind = try row.optionalChoice("acknowledgement") else { return nil }
    return Acknowledgement(
      kind, reference: try row.text("acknowledgement_reference"),
      deadline: try row.optionalTimestamp("acknowledgement_due"))
  }

  /// The transactions that continue a first one, that one among them, ``maximumCount`` at most.
  package static func transactions(
    ofPurchase original: TransactionKey, in connection: borrowing Connection
  ) throws -> [VerifiedTransaction] {
    try rows(ofPurchase: original, in: connection).compactMap(transaction)
  }

  /// The same by their names, also those of which no more is known than a word of their store.
  package static func keys(
    ofPurchase original: TransactionKey, in connection: borrowing Connection
  ) throws -> [TransactionKey] {
    try rows(ofPurchase: original, in: connection).map(TransactionKey.init(row:))
  }

  private static func rows(
    ofPurchase original: TransactionKey, in connection: borrowing Connection
  ) throws -> [Row] {
    try connection.query(
      selectionByPurchase, original.values + original.values + [.integer(maximumCount)])
  }

  /// Returns the transaction of a row; nil for a row that has no more than the store's word.
  private static func transaction(_ row: Row) throws -> VerifiedTransaction? {
    guard try row.optionalText("product") != nil else { return nil }
    let price = try row.optionalText("price")
    return VerifiedTransaction(
      vouchedForBy: try row.identifier("store"), in: try row.choice("environment"),
      id: try row.identifier("transaction_id"), originalID: try row.identifier("original_id"),
      product: try row.identifier("product"), purchaseDate: try row.timestamp("purchased"),
      expiresDate: try row.optionalTimestamp("expires"),
      graceExpiresDate: try row.optionalTimestamp("grace_ends"),
      billingRetryEndDate: try row.optionalTimestamp("charging_ends"),
      revokedDate: try row.optionalTimestamp("revoked"),
      licenseEndDate: try row.optionalTimestamp("license_ends"),
      licenseAsOf: try row.optionalTimestamp("license_as_of"), quantity: Int(try row.integer("quantity")),
      price: try price.flatMap { Price(amount: $0, currency: try row.text("currency")) },
      account: try row.optionalText("account").flatMap { ApplicationAccount($0) },
      application: try row.optionalText("application").flatMap { ApplicationIdentifier($0) },
      territory: try row.optionalText("territory").flatMap { Territory($0) },
      acknowledgement: try acknowledgement(row),
      origin: try row.optionalText("origin").map { ApplicationOrigin(version: ApplicationVersion($0)) },
      asOf: try row.timestamp("as_of"))
  }
}
