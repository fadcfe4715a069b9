package import Commerce
import CoreTypes
package import Database

/// How products of the account stood when the server told of them last: known over a restart, without asking.
extension AgentDatabase {
  /// Products that the server never told of are not in it.
  package func ownership() throws -> [ProductIdentifier: KnownOwnership] {
    try database.readBlocking { connection in
      var known: [ProductIdentifier: KnownOwnership] = [:]
      for row in try connection.query("SELECT * FROM ownership") {
        guard let product = ProductIdentifier(try row.text("product")) else { continue }
        known[product] = KnownOwnership(
          isOwned: try row.boolean("is_owned"), because: try row.optionalText("because"),
          until: try row.optionalTimestamp("until"), asOf: try row.timestamp("as_of"),
          isKept: try row.boolean("is_kept"), isOffered: try row.boolean("is_offered"),
          isConsumable: try row.optionalInteger("is_consumable").map { $0 != 0 })
      }
      return known
    }
  }

  /// One write; other products stay as they are.
  package func save(_ news: [ProductIdentifier: KnownOwnership]) throws {
    try database.writeBlocking(locking: [.everything]) { try Self.put(news, in: $0) }
  }

  static func put(
    _ news: [ProductIdentifier: KnownOwnership], in connection: borrowing Connection
  ) throws {
    for (product, known) in news {
      try connection.execute(
        """
        INSERT INTO ownership (product, is_owned, because, until, as_of, is_kept, is_offered, is_consumable)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (product) DO UPDATE SET is_owned = excluded.is_owned, because = excluded.because,
          until = excluded.until, as_of = excluded.as_of, is_kept = excluded.is_kept,
          is_offered = excluded.is_offered, is_consumable = excluded.is_consumable
        """,
        [
          .text(product.description), .boolean(known.isOwned), .optional(known.because),
          .optional(known.until), .timestamp(known.asOf), .boolean(known.isKept),
          .boolean(known.isOffered), .optional(known.isConsumable) { .boolean($0) },
        ])
    }
  }

  package static let ownership = Migration(
    "whether products of the account are owned",
    script: """
      -- As the server told it last; because is a rule of docs/entitlements.md, until the end of what ends, as_of since when
      -- it is known so.
      CREATE TABLE ownership (
        product TEXT PRIMARY KEY,
        is_owned INTEGER NOT NULL,
        because TEXT,
        until INTEGER,
        as_of INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      """)
}
