import Database
import DeliveryTesting
import PullboxTesting
import Testing

@Suite("What the papers say of the server, and what it is")
struct ReferenceTests {
  @Test("docs/formats/schema.sql is what the migrations make")
  func schema() async throws {
    let file = try StateFile()
    let database = try file.open()
    let statements = try await database.read { try $0.query(SchemaText.query).map { try $0.text("sql") } }
    let made = SchemaText.format(statements)
    let written = try RepositoryFile("docs/formats/schema.sql").text
    #expect(RepositoryFile.isSame(written, made), "it should be:\n\(made)")
  }
}
