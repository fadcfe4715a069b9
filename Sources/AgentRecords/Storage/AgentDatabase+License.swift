package import Commerce
import CoreTypes
package import Crypto
import Database

/// The license of this device, the keys by which licenses count, and the time that it is measured by.
extension AgentDatabase {
  /// The license of that service as it was signed; nil for none.
  package func licenseText(of service: String) throws -> String? {
    try database.readBlocking { connection in
      try connection.first("SELECT text FROM licenses WHERE service = ?", [.text(service)])?.text("text")
    }
  }

  /// The keys of that service by which licenses count, as they were kept, beside those that the configuration names; none before the service
  /// was seen.
  package func licenseTrust(
    in service: String, configured: [VerificationKey] = []
  ) throws -> LicenseTrust {
    try database.readBlocking { connection in
      var keys: [Bool: [VerificationKey]] = [:]
      let rows = try connection.query(
        "SELECT key, is_retired FROM license_keys WHERE service = ? ORDER BY place", [.text(service)])
      for row in rows {
        guard let key = VerificationKey(text: try row.text("key")) else { continue }
        keys[try row.boolean("is_retired"), default: []].append(key)
      }
      return LicenseTrust(kept: keys[false] ?? [], retired: keys[true] ?? [], configured: configured)
    }
  }

  /// Writes down a license with the keys, the time and the ownership that follow from it, in one write.
  package func save(
    license text: String, of service: String, trust: LicenseTrust, time: HighestTime,
    _ news: [ProductIdentifier: KnownOwnership]
  ) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        INSERT INTO licenses (service, text) VALUES (?, ?)
        ON CONFLICT (service) DO UPDATE SET text = excluded.text
        """, [.text(service), .text(text)])
      try connection.execute("DELETE FROM license_keys WHERE service = ?", [.text(service)])
      let keys = trust.retired.map { ($0, true) } + trust.keys.map { ($0, false) }
      for (place, (key, isRetired)) in keys.enumerated() {
        try connection.execute(
          "INSERT INTO license_keys (service, key, place, is_retired) VALUES (?, ?, ?, ?)",
          [.text(service), .text(key.text), .integer(Int64(place)), .boolean(isRetired)])
      }
      try Self.put(time, in: connection)
      try Self.put(news, in: connection)
    }
  }

  /// The time as it was saved last; that of a device that knows none where there is none.
  package func highestTime() throws -> HighestTime {
    try database.readBlocking { connection in
      guard let row = try connection.first("SELECT * FROM highest_time") else { return HighestTime() }
      return HighestTime(
        highest: try row.optionalTimestamp("highest"), confirmed: try row.optionalTimestamp("confirmed"),
        boot: try row.optionalText("boot"), uptime: .milliseconds(try row.integer("uptime")),
        isServers: try row.boolean("is_servers"), offset: .milliseconds(try row.integer("server_offset")))
    }
  }

  /// In place of the one before.
  package func save(_ time: HighestTime) throws {
    try makingRoom {
      try database.writeBlocking(locking: [.everything]) { try Self.put(time, in: $0) }
    }
  }

  private static func put(_ time: HighestTime, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM highest_time")
    try connection.execute(
      """
      INSERT INTO highest_time (highest, confirmed, boot, uptime, is_servers, server_offset)
      VALUES (?, ?, ?, ?, ?, ?)
      """,
      [
        .optional(time.highest), .optional(time.confirmed), .optional(time.boot),
        .integer(time.uptime.milliseconds), .boolean(time.isServers), .integer(time.offset.milliseconds),
      ])
  }

  static let retiredLicenseKeys = Migration(
    "license keys that were replaced",
    script: """
      -- is_retired: it was replaced, and no license counts by it any more.
      ALTER TABLE license_keys ADD COLUMN is_retired INTEGER NOT NULL DEFAULT 0;
      """)

  static let licenses = Migration(
    "licenses, and content that was taken back",
    script: """
      -- As the service signed it, for this device.
      CREATE TABLE licenses (
        service TEXT PRIMARY KEY,
        text TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
      -- The public keys of a service by which its licenses count.
      CREATE TABLE license_keys (
        service TEXT NOT NULL,
        key TEXT NOT NULL,
        place INTEGER NOT NULL,
        PRIMARY KEY (service, key)
      ) STRICT, WITHOUT ROWID;
      -- The time as it is at least: one row at most. confirmed: by the server's word alone; boot and uptime: where the machine was;
      -- server_offset: the server's time less the device's.
      CREATE TABLE highest_time (
        highest INTEGER,
        confirmed INTEGER,
        boot TEXT,
        uptime INTEGER NOT NULL,
        is_servers INTEGER NOT NULL,
        server_offset INTEGER NOT NULL
      ) STRICT;
      -- is_kept: the publisher leaves the content to those who had it; is_offered: whether the server has content of it;
      -- is_consumable: no license lists it, null where that was not told.
      ALTER TABLE ownership ADD COLUMN is_kept INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE ownership ADD COLUMN is_offered INTEGER NOT NULL DEFAULT 1;
      ALTER TABLE ownership ADD COLUMN is_consumable INTEGER;
      -- When it was heard that the purchase was taken back.
      ALTER TABLE transactions ADD COLUMN revoked_at INTEGER;
      -- The content belongs out of the tree that readers see.
      ALTER TABLE library ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0;
      """)
}
