package import Database

/// The table of families, within one database transaction: who shares whose purchases.
package enum FamilyTable {
  /// Besides the organizer.
  package static let maximumMembers = 5

  /// By their rows; none for an account that organizes no family.
  package static func members(of organizer: Int64, in connection: borrowing Connection) throws -> [Account] {
    try connection.query(
      "SELECT member FROM family_members WHERE organizer = ? ORDER BY member", [.integer(organizer)]
    ).compactMap { try AccountTable.find(in: connection, id: try $0.integer("member")) }
  }

  /// Nil for an account that is a member of no family.
  package static func organizer(of member: Int64, in connection: borrowing Connection) throws -> Int64? {
    try connection.first("SELECT organizer FROM family_members WHERE member = ?", [.integer(member)])?
      .integer("organizer")
  }

  /// An account is a member once at most: its row is the table's primary key.
  package static func add(
    _ member: Int64, to organizer: Int64, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "INSERT INTO family_members (member, organizer) VALUES (?, ?)", [.integer(member), .integer(organizer)])
  }

  package static func remove(_ member: Int64, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM family_members WHERE member = ?", [.integer(member)])
  }
}
