package import CoreTypes
package import Database

/// The values that the services have told this device, and how long its steps take, kept for the next start.
extension AgentDatabase {
  private enum Key: String {
    /// Milliseconds that the delivery server's clock is ahead of the device's.
    case serverClockOffset = "server-clock-offset"
    /// When the store's queue may be asked again, in milliseconds since the epoch.
    case storeNotBefore = "store-not-before"
    /// The nanoseconds that placing a MiB takes.
    case placingPace = "placing-nanoseconds-per-mebibyte"
    /// The bytes that ever came over the network, while they were counted.
    case networkCount = "network-bytes"
    /// When the server was heard last about what is owned, by its clock, in milliseconds since the epoch.
    case ownershipHeard = "ownership-heard"
    /// The microseconds that a report takes.
    case reportTime = "report-microseconds"
    /// The answer about running in the background: 0 for no, 1 for yes, 3 for yes and with the session's start.
    case backgroundAnswer = "background-answer"
    /// The user who was asked, by number.
    case backgroundUser = "background-user"
    /// When that was, in milliseconds since the epoch.
    case backgroundTime = "background-time"
  }

  /// Returns the time by which the delivery server's clock is ahead of the device's; zero while it is unknown.
  package func serverClockOffset() throws -> Duration {
    .milliseconds(try integer(.serverClockOffset) ?? 0)
  }

  /// Kept in whole milliseconds.
  package func setServerClockOffset(_ offset: Duration) throws {
    try set(.serverClockOffset, offset.milliseconds)
  }

  /// The time before which the store does not want to be asked for its queue; nil where it has named none.
  package func storeNotBefore() throws -> Timestamp? {
    try integer(.storeNotBefore).map { Timestamp(millisecondsSinceEpoch: $0) }
  }

  /// Nil forgets it.
  package func setStoreNotBefore(_ time: Timestamp?) throws {
    try set(.storeNotBefore, time?.millisecondsSinceEpoch)
  }

  /// The times of the steps behind a transfer, as they were saved last.
  package func phaseTimes() throws -> PhaseTimes {
    PhaseTimes(
      placing: try integer(.placingPace).map { Double($0) / 1e9 / Self.mebibyte },
      reporting: try integer(.reportTime).map { Double($0) / 1e6 })
  }

  /// Saves them in whole nanoseconds a MiB, and whole microseconds.
  package func setPhaseTimes(_ times: PhaseTimes) throws {
    try set(.placingPace, times.placing.map { Int64(clamping: $0 * Self.mebibyte * 1e9) })
    try set(.reportTime, times.reporting.map { Int64(clamping: $0 * 1e6) })
  }

  /// The bytes that ever came; zero before any were counted.
  package func networkCount() throws -> ByteCount { ByteCount(try integer(.networkCount) ?? 0) }

  package func setNetworkCount(_ count: ByteCount) throws { try set(.networkCount, count.rawValue) }

  /// When the server was heard last about what is owned, by its clock; nil where it never was.
  package func ownershipHeard() throws -> Timestamp? {
    try integer(.ownershipHeard).map { Timestamp(millisecondsSinceEpoch: $0) }
  }

  package func setOwnershipHeard(_ time: Timestamp?) throws {
    try set(.ownershipHeard, time?.millisecondsSinceEpoch)
  }

  /// The answer to the question whether the agent may run in the background; nil where there is none.
  package func backgroundAnswer() throws -> BackgroundAnswer? {
    guard let answer = try integer(.backgroundAnswer), let user = try integer(.backgroundUser),
      let time = try integer(.backgroundTime)
    else { return nil }
    return BackgroundAnswer(
      isAllowed: answer & 1 != 0, startsWithSession: answer & 2 != 0, user: UInt32(clamping: user),
      at: Timestamp(millisecondsSinceEpoch: time))
  }

  /// Keeps the answer in the place of the one before.
  package func setBackgroundAnswer(_ answer: BackgroundAnswer) throws {
    // One that is cut off here is no answer, or the one before with another date.
    try set(.backgroundUser, Int64(answer.user))
    try set(.backgroundTime, answer.at.millisecondsSinceEpoch)
    try set(.backgroundAnswer, answer.isAllowed ? (answer.startsWithSession ? 3 : 1) : 0)
  }

  private static let mebibyte = Double(ByteCount.mebibytes(1).rawValue)

  private func integer(_ key: Key) throws -> Int64? {
    try database.readBlocking { connection in
      try connection.first("SELECT value FROM services WHERE name = ?", [.text(key.rawValue)])?.integer(
        "value")
    }
  }

  private func set(_ key: Key, _ value: Int64?) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      guard let value else {
        try connection.execute("DELETE FROM services WHERE name = ?", [.text(key.rawValue)])
        return
      }
      try connection.execute(
        "INSERT OR REPLACE INTO services (name, value) VALUES (?, ?)", [.text(key.rawValue), .integer(value)])
    }
  }

  package static let services = Migration(
    "what services said, and what was reused",
    script: """
      CREATE TABLE services (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      ALTER TABLE content_jobs ADD COLUMN bytes_reused INTEGER;
      ALTER TABLE downloads ADD COLUMN bytes_reused INTEGER;
      """)
}

/// The answer of a person to the question whether an agent in a sandbox may run without its application.
package struct BackgroundAnswer: Hashable, Sendable {
  /// Whether it may.
  package var isAllowed: Bool
  /// Whether it is started with the person's session.
  package var startsWithSession: Bool
  /// The person, by the number of the user whose session asked.
  package var user: UInt32
  /// When that was.
  package var at: Timestamp

  package init(isAllowed: Bool, startsWithSession: Bool, user: UInt32, at: Timestamp) {
    self.isAllowed = isAllowed
    self.startsWithSession = startsWithSession
    self.user = user
    self.at = at
  }
}
