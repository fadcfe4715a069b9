package import Commerce
package import CoreTypes
package import Database
import PullboxAPI
package import ServiceAPI

/// The rows of publications that operators have described. Every write counts a change of the catalog. The
/// functions run in the caller's transaction and throw ``DatabaseError``.
package enum PublicationTable {
  /// The largest number of publications that a server holds: every change of the catalog reads all of them.
  package static let capacity = 2000

  /// Returns the publication; nil where it is not described.
  package static func find(
    _ id: ProductIdentifier, in connection: borrowing Connection
  ) throws -> OperatorPublication? {
    try connection.first("SELECT document FROM publications WHERE id = ?", [.identifier(id)]).map(publication)
  }

  /// Returns every publication that is described, by identifier.
  package static func all(in connection: borrowing Connection) throws -> [OperatorPublication] {
    try connection.query("SELECT document FROM publications ORDER BY id").map(publication)
  }

  /// At most `limit` behind `after`, by identifier.
  package static func page(
    after: String, limit: Int, in connection: borrowing Connection
  ) throws -> [OperatorPublication] {
    try connection.query(
      "SELECT document FROM publications WHERE id > ? ORDER BY id LIMIT ?", [.text(after), .integer(limit)]
    ).map(publication)
  }

  /// The identifiers that begin so, in order, at most `limit`.
  package static func names(
    beginningWith start: String, limit: Int, in connection: borrowing Connection
  ) throws -> [ProductIdentifier] {
    // No identifier has a character behind the tilde, or that.
    try connection.query(
      "SELECT id FROM publications WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
      [.text(start), .text(start + "~"), .integer(limit)]
    ).map { try $0.identifier("id") }
  }

  /// Returns the number of publications that are described.
  package static func count(in connection: borrowing Connection) throws -> Int {
    Int(try connection.first("SELECT count(*) AS count FROM publications")?.integer("count") ?? 0)
  }

  /// Creates or changes a publication, dated as the document says.
  package static func put(
    _ document: EncodedDocument<OperatorPublication>, in connection: borrowing Connection
  ) throws {
    let publication = document.value
    try connection.execute(
      """
      INSERT INTO publications (id, document) VALUES (?, ?)
      ON CONFLICT (id) DO UPDATE SET document = excluded.document
      """, [.identifier(publication.id), .text(document.text)])
    try CatalogRevision.increment(at: publication.changed, in: connection)
  }

  /// Forgets the description. The products of the publication stay.
  package static func remove(
    _ id: ProductIdentifier, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute("DELETE FROM publications WHERE id = ?", [.identifier(id)])
    try CatalogRevision.increment(at: now, in: connection)
  }

  private static func publication(_ row: Row) throws -> OperatorPublication {
    try APIJSON.decode(OperatorPublication.self, from: Array(try row.text("document").utf8))
  }
}
