import CoreTypes
import Crypto
import Database
import DeliveryRecords

/// The need for a package, as the records of a database state it.
struct PackageNeed: Hashable, Sendable {
  /// Nil for an upload that is no version yet and whose length is not known.
  var length: ByteCount?
  /// Without it something is lost: a version that was not withdrawn has it. Others may have been collected.
  var isRequired: Bool

  /// The packages of all versions, and those of uploads on their way to one. Runs in a read of the database
  /// that is backed up. Throws ``DatabaseError`` and ``ColumnTypeMismatch``.
  static func all(in connection: borrowing Connection) throws -> [SHA256Digest: PackageNeed] {
    var needs: [SHA256Digest: PackageNeed] = [:]
    for row in try connection.query("SELECT DISTINCT digest, length FROM uploads WHERE digest IS NOT NULL") {
      needs[try row.digest("digest")] = PackageNeed(
        length: try row.optionalByteCount("length"), isRequired: false)
    }
    let versions = try connection.query(
      """
      SELECT digest, max(length) AS length, max(CASE WHEN state <> 'withdrawn' THEN 1 ELSE 0 END) AS needed
      FROM versions GROUP BY digest
      """)
    for row in versions {
      needs[try row.digest("digest")] = PackageNeed(
        length: try row.byteCount("length"), isRequired: try row.boolean("needed"))
    }
    return needs
  }
}

/// From where each package of a new generation comes. Pure.
struct BackupPlan: Hashable, Sendable {
  /// The place that a package comes from.
  enum Source: Hashable, Sendable {
    /// The generation before has it: it gets a second name there. Where that cannot be, it is copied: from the state if it is
    /// there, else from that generation.
    case previous(orState: Bool)
    /// The state directory has it, and it is copied from there.
    case state
  }

  /// One package of the new generation.
  struct Step: Hashable, Sendable {
    var digest: SHA256Digest
    var source: Source
  }

  /// By digest.
  var steps: [Step] = []
  /// Required, and in neither place.
  var missing: [SHA256Digest] = []

  /// Plans a generation.
  ///
  /// - Parameters:
  ///   - needs: the packages that the copied database refers to.
  ///   - stored: the packages in the state directory, with the lengths of their files.
  ///   - previous: the packages of the generation before whose files are as long as its manifest says.
  init(
    _ needs: [SHA256Digest: PackageNeed], stored: [SHA256Digest: ByteCount],
    previous: [SHA256Digest: ByteCount]
  ) {
    for (digest, need) in needs.sorted(by: { $0.key.hexadecimal < $1.key.hexadecimal }) {
      if let length = previous[digest], length == need.length ?? length {
        steps.append(Step(digest: digest, source: .previous(orState: stored[digest] == length)))
      } else if stored[digest] != nil {
        steps.append(Step(digest: digest, source: .state))
      } else if need.isRequired {
        missing.append(digest)
      }
    }
  }

  /// The generations beyond the first `count`, which are to go; they come as ``BackupDirectory/generations()`` orders them.
  /// `new` stays, whatever a wrong clock has called it. At least one generation stays.
  static func superfluous(
    _ generations: [String], keeping count: Int, besides new: String? = nil
  ) -> [String] {
    generations.dropFirst(max(1, count)).filter { $0 != new }
  }
}
