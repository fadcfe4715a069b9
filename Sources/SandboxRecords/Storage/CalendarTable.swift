package import Database

/// The table of one row that says how long a month lasts; none for the standard.
package enum CalendarTable {
  /// The standard also for a row that this version cannot read.
  package static func current(in connection: borrowing Connection) throws -> StoreCalendar {
    guard let row = try connection.first("SELECT month, renewals FROM calendar"),
      let calendar = StoreCalendar(month: try row.text("month"), renewals: Int(try row.integer("renewals")))
    else { return .standard }
    return calendar
  }

  package static func put(_ calendar: StoreCalendar, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      INSERT INTO calendar (id, month, renewals) VALUES (1, ?, ?)
      ON CONFLICT (id) DO UPDATE SET month = excluded.month, renewals = excluded.renewals
      """, [.text(calendar.month), .integer(calendar.renewals)])
  }
}
