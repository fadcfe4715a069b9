import Database
import PullboxAPI
import ServiceAPI

extension Migrations {
  /// Tickets that are out name their grants by the grants' names: these are the handles of the grants of that time.
  static let credentials = Migration("handles of grants, digests of what renews them") { connection in
    try connection.execute("ALTER TABLE grants ADD COLUMN handle BLOB NOT NULL DEFAULT x''")
    try connection.execute("ALTER TABLE grants ADD COLUMN renewal_digest BLOB")
    var last = ""
    while true {
      let rows = try connection.query(
        "SELECT id FROM grants WHERE id > ? ORDER BY id LIMIT 1000", [.text(last)])
      for row in rows {
        let id: GrantIdentifier = try row.identifier("id")
        try connection.execute(
          "UPDATE grants SET handle = ? WHERE id = ?", [.blob(id.bytes), .text(id.description)])
        last = id.description
      }
      if rows.isEmpty { break }
    }
    try connection.execute("CREATE UNIQUE INDEX grants_by_handle ON grants (handle)")
  }

  /// The secret that was handed out before the last one renews as well.
  static let previousSecrets = Migration(
    "digests of the secrets before the last ones",
    script: "ALTER TABLE grants ADD COLUMN previous_renewal_digest BLOB;")
}
