/// What SQLite and PostgreSQL do not share in the statements of the tables: it stands here and in the migrations, and
/// nowhere else (`scripts/lib/check-sql`). Everything else is SQL that both run: `ON CONFLICT`, `RETURNING`, values bound
/// to `?`.
enum SQLDialect {
  /// Behind a table's name: the index that the statement is to use. SQLite chooses by statistics of a sample, which say
  /// nothing of the one product that most of the grants are of. PostgreSQL would have nothing here.
  static func index(_ name: String) -> String { "INDEXED BY \(name)" }
}
