import Testing

@testable import PostgreSQLEngine

@Suite("Statements as PostgreSQL reads them")
struct StatementTranslationTests {
  @Test(
    "a place is numbered, unless it stands in a text, a quoted name or a comment",
    arguments: [
      ("SELECT 1", "SELECT 1", 0),
      ("SELECT a FROM t WHERE b = ? AND c IN (?, ?)", "SELECT a FROM t WHERE b = $1 AND c IN ($2, $3)", 3),
      ("SELECT '?' || ?", "SELECT '?' || $1", 1), ("SELECT 'it''s ?', ?", "SELECT 'it''s ?', $1", 1),
      ("SELECT \"a?\" FROM t WHERE b=?", "SELECT \"a?\" FROM t WHERE b=$1", 1),
      ("SELECT ? -- really?\n, ?", "SELECT $1 -- really?\n, $2", 2),
      ("SELECT ? -- why?", "SELECT $1 -- why?", 1),
      ("SELECT 'open ?", "SELECT 'open ?", 0), ("SELECT 'ä?', ?", "SELECT 'ä?', $1", 1),
    ])
  func places(text: String, translated: String, count: Int) {
    let translation = StatementTranslation(text)
    #expect(translation.sql == translated)
    #expect(translation.parameterCount == count)
  }

  @Test(
    "what a statement may change is told by its first words, and anything by words that are not known",
    arguments: [
      ("SELECT a FROM t", StatementTranslation.Effect.none), ("\n SELECT a FROM t", .none),
      ("INSERT INTO t (a) VALUES (?)", .change(table: "t")),
      ("INSERT OR FAIL INTO t\n(a) VALUES (?)", .change(table: "t")),
      ("INSERT INTO t(a) VALUES (?)", .change(table: "t")),
      ("UPDATE t SET a = ?", .change(table: "t")), ("DELETE FROM t", .any),
      ("WITH d AS (DELETE FROM t) SELECT 1", .any), ("INSERT", .any), ("", .any),
    ])
  func effects(text: String, effect: StatementTranslation.Effect) {
    #expect(StatementTranslation(text).effect == effect)
  }

  @Test("rows are others after a change of a table that is named anywhere, and after what may change any")
  func changes() {
    let statement = StatementTranslation("SELECT a FROM books JOIN pages ON pages.book = books.id")
    #expect(statement.reads(whatChangesBy: .change(table: "books")))
    #expect(statement.reads(whatChangesBy: .change(table: "pages")))
    #expect(!statement.reads(whatChangesBy: .change(table: "readers")))
    #expect(!statement.reads(whatChangesBy: .change(table: "book_prices")))
    #expect(statement.reads(whatChangesBy: .any))
    #expect(!statement.reads(whatChangesBy: .none))
  }

  @Test(
    "the hints and the kinds of failure of SQLite are left out",
    arguments: [
      ("SELECT a FROM t INDEXED BY t_by_a WHERE a = ?", "SELECT a FROM t  WHERE a = $1"),
      ("INSERT OR FAIL INTO t VALUES (?)", "INSERT  INTO t VALUES ($1)"),
      ("UPDATE OR FAIL t SET a = ?", "UPDATE  t SET a = $1"),
      ("SELECT a OR b FROM t", "SELECT a OR b FROM t"), ("SELECT FAIL FROM t", "SELECT FAIL FROM t"),
      ("SELECT 'INDEXED BY x'", "SELECT 'INDEXED BY x'"), ("SELECT INDEXED FROM t", "SELECT INDEXED FROM t"),
    ])
  func hints(text: String, translated: String) {
    #expect(StatementTranslation(text).sql == translated)
  }
}
