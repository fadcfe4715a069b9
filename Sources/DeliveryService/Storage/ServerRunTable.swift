import CoreTypes
import Database

/// The runs of this server. A run without an end died, and what it counted in memory was lost.
enum ServerRunTable {
  /// Starts a run; answers its row and whether the one before it died.
  static func begin(
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> (id: Int64, previousDied: Bool) {
    let last = try connection.first("SELECT ended FROM runs ORDER BY id DESC LIMIT 1")
    let died = if let last { try last.optionalTimestamp("ended") == nil } else { false }
    try connection.execute("INSERT INTO runs (started) VALUES (?)", [.timestamp(now)])
    return (connection.lastInsertedRowID, died)
  }

  static func end(_ id: Int64, at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute("UPDATE runs SET ended = ? WHERE id = ?", [.timestamp(now), .integer(id)])
  }
}
