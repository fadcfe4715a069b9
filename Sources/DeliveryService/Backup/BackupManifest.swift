import CoreTypes
import Crypto
import PullboxAPI

/// The list of the files and packages in a generation of a backup: `backup.json`. It is written last: a generation without
/// it was not completed.
struct BackupManifest: Codable, Hashable, Sendable {
  /// A file beside the packages.
  struct File: Codable, Hashable, Sendable {
    var name: String
    var length: ByteCount
    var sha256: SHA256Digest
  }

  struct Package: Codable, Hashable, Sendable {
    var digest: SHA256Digest
    var length: ByteCount
  }

  /// A package that a version has and that could not be had.
  struct Absence: Codable, Hashable, Sendable {
    var digest: SHA256Digest
    var fault: PackageFault
  }

  static let fileName = "backup.json"
  /// The files beside the packages, which every generation has, in alphabetical order.
  static let fileNames = ["server.db", "ticket-keys.json"]
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
  var packages: [Package]
  /// Empty unless packages were missing or damaged in the state, and in the generation before.
  var absent: [Absence]
}
