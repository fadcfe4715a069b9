import Database
import DeliveryRecords
import DeliverySchema
import DeliveryTesting
import PullboxTesting
import Testing

@Suite("What the papers say of the server, and what it is")
struct ReferenceTests {
  @Test("docs/formats/schema.sql is what the migrations make", .enabled(if: !TestDatabase.isOnServer))
  func schema() async throws {
    let file = try StateFile()
    let database = try file.open()
    let statements = try await database.read { try $0.query(SchemaText.query).map { try $0.text("sql") } }
    let made = SchemaText.format(statements)
    let written = try RepositoryFile("docs/formats/schema.sql").text
    #expect(RepositoryFile.isSame(written, made), "it should be:\n\(made)")
  }

  @Test("docs/formats/postgresql-schema.sql is the schema that the server makes in PostgreSQL")
  func postgreSQLSchema() throws {
    let written = try RepositoryFile("docs/formats/postgresql-schema.sql").text
    #expect(
      RepositoryFile.isSame(written, PostgreSQLSchema.script), "it should be:\n\(PostgreSQLSchema.script)")
  }

  @Test("the schema of PostgreSQL stands for every migration of SQLite")
  func postgreSQLVersion() {
    // Whether its tables are the same is asked of PostgreSQL by scripts/lib/check-postgresql-sql.
    #expect(PostgreSQLSchema.version == Migrations.all.count)
  }
}
