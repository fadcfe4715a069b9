import Commerce
import Database
import PullboxAPI

extension GrantTable {
  /// Every revoked grant, for ``RevocationList``. A partial index holds exactly these.
  static func revoked(in connection: borrowing Connection) throws -> [GrantIdentifier] {
    try connection.query("SELECT id FROM grants WHERE revoked_by IS NOT NULL").map { try $0.identifier("id") }
  }

  static func revocationSource(
    of id: GrantIdentifier, in connection: borrowing Connection
  ) throws -> RevocationSource? {
    let row = try connection.first("SELECT revoked_by FROM grants WHERE id = ?", [.text(id.text)])
    return try row?.optionalText("revoked_by").flatMap(RevocationSource.init(rawValue:))
  }

  static func setRevocationSource(
    _ source: RevocationSource?, of id: GrantIdentifier, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE grants SET revoked_by = ? WHERE id = ?", [.optional(source?.rawValue), .text(id.text)])
  }

  /// The grants of a transaction whose revocation is to change because a check found the transaction cancelled, or good.
  static func outdated(
    store: StoreIdentifier, transaction: TransactionIdentifier, isCancelled: Bool,
    in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    let condition = isCancelled ? "revoked_by IS NULL" : "revoked_by = 'store'"
    return try connection.query(
      "SELECT * FROM grants WHERE store = ? AND transaction_id = ? AND \(condition)",
      [.text(store.text), .text(transaction.text)]
    ).map(record)
  }
}
