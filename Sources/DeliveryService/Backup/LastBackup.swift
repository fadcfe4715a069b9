import CoreTypes
import Files
import Monitoring
import PullboxAPI
import SystemCalls

/// The note that a backup leaves in its state directory, for the server's metrics: `last-backup.json`.
struct LastBackup: Codable, Hashable, Sendable {
  /// The name of the file in the state directory.
  static let fileName = "last-backup.json"

  /// The moment at which the backup's database was copied.
  var made: Timestamp
  /// Its name in the directory of backups.
  var generation: String
  /// The length of all files in the generation, with those that it shares with the generation before.
  var length: ByteCount

  /// Makes the note of a generation that is complete.
  init(_ manifest: BackupManifest, of generation: String) {
    made = manifest.made
    self.generation = generation
    length = (manifest.files.map(\.length) + manifest.packages.map(\.length)).reduce(.zero, +)
  }

  /// Nil for a state that was never backed up. Blocks; throws the errors of files and of JSON.
  static func read(in state: String) throws -> LastBackup? {
    do {
      let bytes = try FileSystem.read("\(state)/\(fileName)", upTo: .kibibytes(4))
      return try APIJSON.decode(LastBackup.self, from: bytes)
    } catch let error as SystemError where error.isFileMissing {
      return nil
    }
  }

  /// In place of that of the backup before. The server's user reads it, also where root has written it: the directory around
  /// it lets no other in. Blocks. Throws ``SystemError`` and `EncodingError`.
  func write(in state: String) throws {
    let bytes = try APIJSON.encode(self)
    try DurableFile.write(bytes.span, to: "\(state)/\(Self.fileName)", permissions: 0o644)
  }
}

/// Age and size of the last backup, read from the file when the page of metrics is asked for.
struct BackupMetrics: MetricSource {
  let state: String

  func register(in metrics: inout MetricRegistry) {
    let state = state
    let values: [Metric<LastBackup?>] = [
      .gauge(
        "pullbox_backup_last_success_timestamp_seconds",
        help: "Of which moment the last complete backup is, in seconds since the epoch.", labels: []
      ) { $0.map { [.init($0.made)] } ?? [] },
      .gauge(
        "pullbox_backup_last_size_bytes", help: "Bytes of the last complete backup, linked ones among them.",
        labels: []
      ) { $0.map { [.init($0.length.rawValue)] } ?? [] },
    ]
    metrics.register(values) { try await BlockingPool.shared.run { try LastBackup.read(in: state) } }
  }
}
