package import CoreTypes
import Database
package import PullboxAPI

/// Downloads that are over: finished or cancelled. They lie in the database alone.
extension AgentDatabase {
  /// How many of them are kept, the latest ones, and for how long.
  static let keptDownloads = 1000
  static let downloadsKeptFor: Duration = .seconds(90 * 86_400)

  /// How many there are in each state, but for those that are live.
  package func endedDownloadCounts() throws -> [DownloadStatus.State: Int] {
    try database.readBlocking { connection in
      var counts: [DownloadStatus.State: Int] = [:]
      let sql = """
        SELECT state, count(*) AS number FROM downloads WHERE state IN ('finished', 'cancelled') GROUP BY state
        """
      try connection.forEach(sql) { row in
        let state = try Self.require(DownloadStatus.State(rawValue: try row.text("state")), "downloads.state")
        counts[state] = Int(try row.integer("number"))
      }
      return counts
    }
  }

  /// Gives up those that failed so long ago that one which had ended well would be forgotten, where their transactions are over: they
  /// are asked about no more.
  package func endOldFailures(now: Timestamp) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      _ = try connection.execute(
        """
        UPDATE downloads SET state = 'cancelled' WHERE state = 'failed' AND ended_at < ?
          AND transaction_id NOT IN (SELECT id FROM transactions WHERE step NOT IN ('finished', 'failed'))
        """, [.timestamp(now - Self.downloadsKeptFor)])
    }
  }

  /// Forgets those that are old, or more than are kept. One whose transaction is not over stays, since the
  /// transaction would begin it anew.
  package func pruneDownloads(now: Timestamp, keeping kept: Int = keptDownloads) throws {
    try removeEndedDownloads(
      """
      (ended_at < ? OR sequence IN (
        SELECT sequence FROM downloads WHERE state IN ('finished', 'cancelled')
        ORDER BY ended_at DESC, sequence DESC LIMIT -1 OFFSET ?))
      """, [.timestamp(now - Self.downloadsKeptFor), .integer(kept)])
  }

  /// Forgets all of them whose transactions are over; returns how many there were.
  package func clearDownloads() throws -> Int { try removeEndedDownloads("TRUE", []) }

  @discardableResult
  private func removeEndedDownloads(_ condition: String, _ values: [SQLValue]) throws -> Int {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        DELETE FROM downloads WHERE state IN ('finished', 'cancelled') AND \(condition)
          AND transaction_id NOT IN (SELECT id FROM transactions WHERE step NOT IN ('finished', 'failed'))
        """, values)
    }
  }
}
