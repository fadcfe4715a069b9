import Database
import DeliverySchema

/// A table of the records, in the form that is the same in both databases: for what works on whole tables, whatever they hold.
package struct RecordTable: Hashable, Sendable {
  /// A column that is written.
  package struct Column: Hashable, Sendable {
    /// The name, the same in both databases.
    package let name: String
    /// Whether it holds texts.
    package let isText: Bool

    package init(name: String, isText: Bool) {
      self.name = name
      self.isText = isText
    }
  }

  package let name: String
  /// All columns in their order, without those that the database makes of others.
  package let columns: [Column]
  /// The columns in whose order the rows are read, no two of which are the same.
  package let key: [String]
  /// The tables to whose rows those of this one refer.
  package let references: Set<String>

  package init(name: String, columns: [Column], key: [String], references: Set<String> = []) {
    self.name = name
    self.columns = columns
    self.key = key
    self.references = references
  }

  /// Whether a row is a count, of which PostgreSQL has several rows whose sum it is. A count of nothing may have no row.
  package var isOfCounts: Bool { Self.tablesOfCounts.contains(name) }
  private static let tablesOfCounts: Set<String> = ["counters", "outbox_counts"]

  /// Returns the tables that this program's migrations make, each behind those that it refers to.
  package static func all() throws -> [RecordTable] {
    inOrder(try Database.inMemory(migrations: Migrations.all) { try SQLDialect.tables(in: $0) })
  }

  /// Returns the tables so that each stands behind those that it refers to; otherwise in the order of their names. Those that refer to
  /// one another in a circle come last.
  package static func inOrder(_ tables: [RecordTable]) -> [RecordTable] {
    let names = Set(tables.map(\.name))
    var left = tables.sorted { $0.name < $1.name }
    var ordered: [RecordTable] = []
    var done: Set<String> = []
    while let next = left.firstIndex(where: { table in
      table.references.intersection(names).subtracting([table.name]).isSubset(of: done)
    }) {
      done.insert(left[next].name)
      ordered.append(left.remove(at: next))
    }
    return ordered + left
  }

  static func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
}
