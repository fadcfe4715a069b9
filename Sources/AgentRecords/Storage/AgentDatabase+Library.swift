package import Commerce
package import ContentPackage
package import CoreTypes
package import Crypto
package import Database
import PullboxAPI

extension AgentDatabase {
  /// Returns the records of the placed content, sorted by product and version.
  package func libraryRecords() throws -> [LibraryRecord] {
    try libraryRecords(where: "TRUE", [])
      .sorted { ($0.product.description, $0.version) < ($1.product.description, $1.version) }
  }

  private func libraryRecords(where condition: String, _ values: [SQLValue]) throws -> [LibraryRecord] {
    try records(
      "SELECT * FROM library WHERE \(condition)", values,
      dropping: { row in
        [
          (
            "DELETE FROM library WHERE product = ? AND version = ?",
            [.text(try row.text("product")), .text(try row.text("version"))]
          )
        ]
      }
    ) { row in try Self.record(row) }
  }

  /// The record of that version of the product, if the library holds it.
  package func libraryRecord(of product: ProductIdentifier, version: ContentVersion) throws -> LibraryRecord?
  {
    try libraryRecords(
      where: "product = ? AND version = ?", [.text(product.description), .text(version.description)]
    ).first
  }

  /// Everything that came in the package of that digest.
  package func libraryRecords(digest: SHA256Digest) throws -> [LibraryRecord] {
    try libraryRecords(where: "digest = ?", [.text(digest.hexadecimal)])
  }

  /// Inserts or replaces the record. A version of a product that is pinned is pinned. Without stamps every
  /// file is read at the next check.
  package func save(_ record: LibraryRecord, stamps: FileStamps?) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        INSERT INTO library (product, version, path, digest, length, placed_at, title, manifest_digest,
          size_on_disk, last_opened, pinned, damaged, stamps, rolled_back, sections,
          withdrawn)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
          max(?, coalesce((SELECT max(pinned) FROM library WHERE product = ?), 0)), ?, ?, ?, ?, ?)
        ON CONFLICT (product, version) DO UPDATE SET path = excluded.path, digest = excluded.digest,
          length = excluded.length, placed_at = excluded.placed_at, title = excluded.title,
          manifest_digest = excluded.manifest_digest, size_on_disk = excluded.size_on_disk,
          last_opened = excluded.last_opened, pinned = excluded.pinned, damaged = excluded.damaged,
          stamps = excluded.stamps, rolled_back = excluded.rolled_back, sections = excluded.sections,
          withdrawn = excluded.withdrawn, manifest = NULL
        """,
        [
          .text(record.product.description), .text(record.version.description), .text(record.relativePath),
          .text(record.digest.hexadecimal), .byteCount(record.length), .timestamp(record.placedAt),
          .optional(record.title), .optional(record.manifestDigest?.hexadecimal),
          .byteCount(record.sizeOnDisk), .optional(record.lastOpened), .integer(record.isPinned ? 1 : 0),
          .text(record.product.description), .integer(record.isDamaged ? 1 : 0), .optional(stamps?.encoded),
          .integer(try Self.isRolledBack(record, in: connection) ? 1 : 0),
          .optional(record.sections.map { Self.joinedTags($0) }), .boolean(record.isWithdrawn),
        ])
    }
  }

  /// Writes the result of a check of the content: its size on disk, the last opening, whether it is damaged, and the file
  /// stamps.
  package func note(_ record: LibraryRecord, stamps: FileStamps) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        UPDATE library SET size_on_disk = ?, last_opened = ?, damaged = ?, stamps = ?
        WHERE product = ? AND version = ?
        """,
        [
          .byteCount(record.sizeOnDisk), .optional(record.lastOpened), .integer(record.isDamaged ? 1 : 0),
          .blob(stamps.encoded), .text(record.product.description), .text(record.version.description),
        ])
    }
  }

  /// The stamps of the last check, as they were saved.
  package func stamps(of record: LibraryRecord) throws -> [UInt8]? {
    try database.readBlocking { connection in
      try connection.first(
        "SELECT stamps FROM library WHERE product = ? AND version = ?",
        [.text(record.product.description), .text(record.version.description)])?.optionalBlob("stamps")
    }
  }

  /// False when there is none of the product. Every version of it counts as opened.
  package func noteOpened(_ product: ProductIdentifier, at now: Timestamp) throws -> Bool {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        "UPDATE library SET last_opened = ? WHERE product = ?",
        [.timestamp(now), .text(product.description)]) > 0
    }
  }

  /// Pins every version of the product, or none. False when the library holds none.
  package func setPinned(_ isPinned: Bool, of product: ProductIdentifier) throws -> Bool {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        "UPDATE library SET pinned = ? WHERE product = ?",
        [.integer(isPinned ? 1 : 0), .text(product.description)]) > 0
    }
  }

  /// The server offers these versions of the products now: those after them, which it offered before, were taken back, also where they
  /// are placed later. Answers the products of which the library stands otherwise by that.
  package func noteOffered(_ offered: [ProductIdentifier: ContentVersion]) throws -> Set<ProductIdentifier> {
    let known = try offeredVersions()
    let news = offered.filter { known[$0.key] != $0.value }
    let changed = try libraryRecords().filter { record in
      offered[record.product].map { record.isRolledBack != (record.version > $0) } ?? false
    }
    guard !news.isEmpty || !changed.isEmpty else { return [] }
    try database.writeBlocking(locking: [.everything]) { connection in
      for (product, version) in news {
        try connection.execute(
          """
          INSERT INTO offered (product, version) VALUES (?, ?)
          ON CONFLICT (product) DO UPDATE SET version = excluded.version
          """, [.text(product.description), .text(version.description)])
      }
      for record in changed {
        try connection.execute(
          "UPDATE library SET rolled_back = ? WHERE product = ? AND version = ?",
          [
            .integer(record.isRolledBack ? 0 : 1), .text(record.product.description),
            .text(record.version.description),
          ])
      }
    }
    return Set(changed.map(\.product))
  }

  private func offeredVersions() throws -> [ProductIdentifier: ContentVersion] {
    try database.readBlocking { connection in
      var versions: [ProductIdentifier: ContentVersion] = [:]
      for row in try connection.query("SELECT * FROM offered") {
        guard let product = ProductIdentifier(try row.text("product")) else { continue }
        versions[product] = ContentVersion(try row.text("version"))
      }
      return versions
    }
  }

  /// Whether the server has taken the version back, as far as it was said.
  private static func isRolledBack(
    _ record: LibraryRecord, in connection: borrowing Connection
  ) throws -> Bool {
    let offered = try connection.first(
      "SELECT version FROM offered WHERE product = ?", [.text(record.product.description)])
    guard let offered = try offered.flatMap({ ContentVersion(try $0.text("version")) }) else {
      return record.isRolledBack
    }
    return record.version > offered
  }

  /// From now on that version is read: those after it are left, those before it are not.
  package func goBack(_ product: ProductIdentifier, to version: ContentVersion) throws {
    let records = try libraryRecords().filter { $0.product == product }
    try database.writeBlocking(locking: [.everything]) { connection in
      for record in records {
        try connection.execute(
          "UPDATE library SET gone_back = ? WHERE product = ? AND version = ?",
          [
            .boolean(record.version > version), .text(product.description), .text(record.version.description),
          ])
      }
    }
  }

  /// From now on the content belongs out of the tree that readers see, or in it. It may use the reserve: what was taken back goes also
  /// where the disk is full.
  package func setWithdrawn(_ isWithdrawn: Bool, of record: LibraryRecord) throws {
    try makingRoom {
      try database.writeBlocking(locking: [.everything]) { connection in
        _ = try connection.execute(
          "UPDATE library SET withdrawn = ? WHERE product = ? AND version = ?",
          [
            .boolean(isWithdrawn), .text(record.product.description), .text(record.version.description),
          ])
      }
    }
  }

  static let goneBack = Migration(
    "versions that readers have gone back from",
    script: "ALTER TABLE library ADD COLUMN gone_back INTEGER NOT NULL DEFAULT 0;")

  static let rollbacks = Migration(
    "versions that were taken back",
    script: "ALTER TABLE library ADD COLUMN rolled_back INTEGER NOT NULL DEFAULT 0;")

  package static let offers = Migration(
    "what is offered of each product",
    script: """
      CREATE TABLE offered (
        product TEXT PRIMARY KEY,
        version TEXT NOT NULL
      ) STRICT, WITHOUT ROWID;
      """)

  /// It may use the reserve, since it makes room.
  package func remove(_ record: LibraryRecord) throws {
    try makingRoom {
      try database.writeBlocking(locking: [.everything]) { connection in
        _ = try connection.execute(
          "DELETE FROM library WHERE product = ? AND version = ?",
          [.text(record.product.description), .text(record.version.description)])
      }
    }
  }

  /// The manifests that an earlier version of the agent kept here, by the records they belong to. Once they lie beside the
  /// content, ``save(_:stamps:)`` takes them out.
  package func manifestsInRecords() throws -> [(record: LibraryRecord, manifest: [UInt8])] {
    try database.readBlocking { connection in
      try connection.query("SELECT * FROM library WHERE manifest IS NOT NULL").map { row in
        (record: try Self.record(row), manifest: try row.blob("manifest"))
      }
    }
  }

  private static func record(_ row: Row) throws -> LibraryRecord {
    let product = try require(ProductIdentifier(try row.text("product")), "library.product")
    let version = try require(ContentVersion(try row.text("version")), "library.version")
    return LibraryRecord(
      product: product, version: version,
      name: LibraryRecord.name(in: try row.text("path"), product: product, version: version),
      digest: try require(SHA256Digest(hexadecimal: try row.text("digest")), "library.digest"),
      manifestDigest: try row.optionalText("manifest_digest").map {
        try require(SHA256Digest(hexadecimal: $0), "library.manifest_digest")
      },
      length: try row.byteCount("length"), sizeOnDisk: try row.byteCount("size_on_disk"),
      placedAt: try row.timestamp("placed_at"), title: try row.optionalText("title"),
      lastOpened: try row.optionalTimestamp("last_opened"), isPinned: try row.boolean("pinned"),
      isDamaged: try row.boolean("damaged"), isRolledBack: try row.boolean("rolled_back"),
      isGoneBack: try row.boolean("gone_back"), isWithdrawn: try row.boolean("withdrawn"),
      sections: try row.optionalText("sections").map { try sectionTags($0, "library.sections") })
  }
}

extension AgentDatabase {
  /// Which library these records are of.
  package enum ExpectedVolume: Hashable, Sendable {
    /// None was seen yet.
    case none
    /// There was one, and the records that knew its identifier are lost.
    case unknown
    case identified(String)
  }

  /// ``ExpectedVolume/none`` before the first ``expect(_:)``.
  package func expectedVolume() throws -> ExpectedVolume {
    try database.readBlocking { connection in
      guard let row = try connection.first("SELECT id FROM library_volume") else { return .none }
      return try row.optionalText("id").map { .identified($0) } ?? .unknown
    }
  }

  /// Takes the place of what was expected.
  package func expect(_ volume: ExpectedVolume) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute("DELETE FROM library_volume")
      switch volume {
      case .none: break
      case .unknown: try connection.execute("INSERT INTO library_volume (id) VALUES (NULL)")
      case .identified(let id):
        try connection.execute("INSERT INTO library_volume (id) VALUES (?)", [.text(id)])
      }
    }
  }
}
