package import Database
import PullboxAPI
package import ServiceAPI

/// The table of one row that says what the store does wrong; none where it does nothing wrong.
package enum FaultTable {
  /// Nil until faults were set once.
  package static func current(in connection: borrowing Connection) throws -> StoreFaults? {
    try connection.first("SELECT document FROM faults")
      .map { try APIJSON.decode(StoreFaults.self, from: Array(try $0.text("document").utf8)) }
  }

  package static func put(_ faults: StoreFaults, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      INSERT INTO faults (id, document) VALUES (1, ?)
      ON CONFLICT (id) DO UPDATE SET document = excluded.document
      """, [.text(String(decoding: try APIJSON.encode(faults), as: UTF8.self))])
  }
}
