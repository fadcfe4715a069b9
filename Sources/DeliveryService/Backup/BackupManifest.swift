import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI

/// The list of the files and packages in a generation of a backup: `backup.json`. It is written last: a generation without
/// it was not completed. See docs/decisions/0027.
struct BackupManifest: Codable, Hashable, Sendable {
  /// A file beside the packages.
  struct File: Codable, Hashable, Sendable {
    /// The name in the generation's directory.
    var name: String
    var length: ByteCount
    /// The SHA-256 of the file as it was written.
    var sha256: SHA256Digest
  }

  /// A package, in a file named by its digest.
  struct Package: Codable, Hashable, Sendable {
    var digest: SHA256Digest
    /// The length of the file when it was linked or copied.
    var length: ByteCount
  }

  /// A package that a version has and that could not be had.
  struct Absence: Codable, Hashable, Sendable {
    var digest: SHA256Digest
    /// Whether the state lacked it, or had other bytes.
    var fault: PackageFault
  }

  static let fileName = "backup.json"
  /// The files beside the packages, which every generation has, in alphabetical order.
  static let fileNames = ["server.db", "ticket-keys.json"]
  /// The format that this program writes, and the only one that it reads.
  static let currentFormat = 1
  /// A manifest of a hundred thousand packages has about 10 MiB.
  static let maximumLength = ByteCount.mebibytes(256)

  /// ``currentFormat``, for as long as programs that know it can read it.
  var format = currentFormat
  /// The version of the program that wrote it.
  var program: String
  /// The moment at which the database was copied.
  var made: Timestamp
  /// Each of ``fileNames`` once.
  var files: [File]
  /// By digest.
  var packages: [Package]
  /// The object store that has the packages, as `packages` names it, where the generation has none of them. A program that does not know
  /// this refuses the generation, since it lacks packages.
  var packagesIn: String?
  /// Empty unless packages were missing or damaged in the state, and in the generation before.
  var absent: [Absence]
}
