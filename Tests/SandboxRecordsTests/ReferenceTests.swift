import Database
import PullboxTesting
import Testing

@testable import SandboxRecords

@Suite("What the papers say of the sandbox store, and what it is")
struct ReferenceTests {
  @Test("docs/formats/store-schema.sql is what the migrations make")
  func schema() throws {
    let directory = try TemporaryDirectory()
    let database = try Database.open(
      path: directory.path("store.sqlite"), migrations: StoreSchema.migrations)
    let statements = try database.readBlocking { try $0.query(SchemaText.query).map { try $0.text("sql") } }
    let made = SchemaText.format(statements)
    let written = try RepositoryFile("docs/formats/store-schema.sql").text
    #expect(RepositoryFile.isSame(written, made), "it should be:\n\(made)")
  }
}
