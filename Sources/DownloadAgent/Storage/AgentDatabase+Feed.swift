import Database

/// Where the agent is in the feed of its store's account.
extension AgentDatabase {
  /// Nil before the feed was read for the first time.
  func feedCursor() throws -> String? {
    try database.readBlocking { connection in
      try connection.first("SELECT cursor FROM feed")?.text("cursor")
    }
  }

  func setFeedCursor(_ cursor: String) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute("DELETE FROM feed")
      try connection.execute("INSERT INTO feed (cursor) VALUES (?)", [.text(cursor)])
    }
  }

  static let feed = Migration(
    "where the device is in its feed", script: "CREATE TABLE feed (cursor TEXT NOT NULL) STRICT;")
}
