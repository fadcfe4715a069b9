import Database
import PullboxTesting
import Testing

@testable import SandboxStore

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

  @Test("the store's part of docs/configuration.md is what its options say")
  func configuration() throws {
    let made = ConfigurationReference.markdown(SandboxCommand.description, canReload: false)
    let written = try RepositoryFile("docs/configuration.md").part("pullbox-sandbox")
    #expect(RepositoryFile.isSame(written, made), "it should be:\n\(made)")
  }
}
