import Commerce
import Database

/// What a transaction owes a device. A transaction may be finished when nothing is left.
enum ObligationTable {
  static func add(
    _ products: [ProductIdentifier], store: StoreIdentifier, transaction: TransactionIdentifier,
    device: DeviceIdentifier, in connection: borrowing Connection
  ) throws {
    for product in products {
      try connection.execute(
        "INSERT OR IGNORE INTO obligations (store, transaction_id, device, product) VALUES (?, ?, ?, ?)",
        [.identifier(store), .identifier(transaction), .identifier(device), .identifier(product)])
    }
  }

  /// The products without a completed grant of that device, by name. A product whose versions were all
  /// withdrawn since is owed no longer.
  static func remaining(
    store: StoreIdentifier, transaction: TransactionIdentifier, device: DeviceIdentifier,
    in connection: borrowing Connection
  ) throws -> [ProductIdentifier] {
    try connection.query(
      """
      SELECT product FROM obligations AS owed
      WHERE store = ? AND transaction_id = ? AND device = ?
        AND NOT EXISTS (
          SELECT 1 FROM grants
          WHERE grants.store = owed.store AND grants.transaction_id = owed.transaction_id
            AND grants.device = owed.device AND grants.product = owed.product
            AND grants.state IN ('completed', 'finished'))
        AND EXISTS (
          SELECT 1 FROM versions WHERE versions.product = owed.product AND versions.state = 'released')
      ORDER BY product
      """, [.identifier(store), .identifier(transaction), .identifier(device)]
    ).map { try $0.identifier("product") }
  }
}
