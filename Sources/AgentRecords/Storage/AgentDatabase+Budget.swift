package import CoreTypes
import Database
import Synchronization

/// The bytes that came over the network, and the periods of the budget.
extension AgentDatabase {
  /// The periods that the clock has shown.
  package func budgetPeriods() throws -> [NetworkBudget.Period] {
    try database.readBlocking { connection in
      try connection.query("SELECT * FROM budget_periods").map { row in
        NetworkBudget.Period(
          first: LocalCalendar.Day(number: try row.integer("first_day")), used: try row.byteCount("used"),
          mark: try row.byteCount("mark"), isCurrent: try row.integer("is_current") != 0,
          isBorrowed: try row.integer("is_borrowed") != 0, isAhead: try row.integer("is_ahead") != 0)
      }
    }
  }

  /// Takes the place of all that were there.
  package func setBudgetPeriods(_ periods: [NetworkBudget.Period]) throws {
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute("DELETE FROM budget_periods")
      for period in periods {
        try connection.execute(
          """
          INSERT INTO budget_periods (first_day, used, mark, is_current, is_borrowed, is_ahead)
          VALUES (?, ?, ?, ?, ?, ?)
          """,
          [
            .integer(period.first.number), .byteCount(period.used), .byteCount(period.mark),
            .integer(period.isCurrent ? 1 : 0),
            .integer(period.isBorrowed ? 1 : 0), .integer(period.isAhead ? 1 : 0),
          ])
      }
    }
  }

  static let budget = Migration(
    "the budget of a month, and who wants a download now",
    script: """
      CREATE TABLE budget_periods (
        first_day INTEGER PRIMARY KEY,
        used INTEGER NOT NULL,
        mark INTEGER NOT NULL,
        is_current INTEGER NOT NULL,
        is_borrowed INTEGER NOT NULL,
        is_ahead INTEGER NOT NULL
      ) STRICT;
      ALTER TABLE downloads ADD COLUMN wanted_by INTEGER;
      """)
}

/// The count of the bytes that ever came, on the device: it is saved ahead of them while transfers run, and to the byte at the end.
package final class NetworkCountRecord: Sendable {
  private let database: AgentDatabase
  private let isClosed = Mutex(false)

  package init(_ database: AgentDatabase) {
    self.database = database
  }

  /// Saves a count that is ahead; does nothing after ``close(at:)``. Blocks.
  package func save(_ count: ByteCount) throws {
    try isClosed.locked { isClosed in
      guard !isClosed else { return }
      try database.makingRoom { try database.setNetworkCount(count) }
    }
  }

  /// Saves the count to the byte. Blocks.
  package func close(at count: ByteCount) throws {
    try isClosed.locked { isClosed in
      isClosed = true
      try database.makingRoom { try database.setNetworkCount(count) }
    }
  }
}

extension LocalCalendar.Day {
  /// Such as 20261121.
  var number: Int64 { Int64(year * 10_000 + month * 100 + day) }

  init(number: Int64) {
    self.init(year: Int(number / 10_000), month: Int(number / 100 % 100), day: Int(number % 100))
  }
}
