import Database
import Testing

@testable import PostgreSQLEngine

/// SQLSTATEs of PostgreSQL 15, appendix A of its documentation.
@Suite("Failures of PostgreSQL")
struct ServerFailureTests {
  @Test(
    "what lay in others runs again, what lay in the connection on another one",
    arguments: [
      ("40001", .runAgain), ("40P01", .runAgain), ("0A000", .prepareAgain), ("26000", .prepareAgain),
      ("25006", .connectAgain), ("57P01", .connectAgain), ("57P03", .connectAgain), ("08006", .connectAgain),
      ("23505", .answer), ("42601", .answer), ("53100", .answer), ("57014", .answer),
    ] as [(String, ServerFailure.Remedy)])
  func remedies(state: String, remedy: ServerFailure.Remedy) {
    #expect(ServerFailure.remedy(for: state) == remedy)
  }

  @Test(
    "a state has the code that SQLite's error of the same kind has",
    arguments: [
      ("23505", .constraint), ("23503", .constraint), ("23514", .constraint), ("53100", .outOfSpace),
      ("58030", .inputOutput), ("XX001", .corrupt), ("25006", .readOnly), ("42P01", .misuse),
      ("22P02", .misuse),
      ("57P03", .unavailable), ("08001", .unavailable), ("53300", .overloaded), ("28P01", .cannotOpen),
      ("3D000", .cannotOpen), ("P0001", .other),
    ] as [(String, DatabaseError.Code)])
  func codes(state: String, code: DatabaseError.Code) {
    #expect(ServerFailure.error(state: state, message: "", sql: "").code == code)
  }

  /// The words of libpq 15 while it connects.
  @Test(
    "a server that is away is told from one that refuses, by the sentence and not by the hint behind it",
    arguments: [
      (
        #"connection to server on socket "/tmp/a/.s.PGSQL.5432" failed: Connection refused"#,
        "\tIs the server running locally and accepting connections on that socket?", .unavailable
      ),
      (
        #"connection to server at "10.0.0.1", port 5432 failed: FATAL:  the database system is not yet accepting connections"#,
        "DETAIL:  Consistent recovery state has not been yet reached.", .unavailable
      ),
      (
        #"could not translate host name "db1" to address: Temporary failure in name resolution"#, "",
        .unavailable
      ),
      (#"could not translate host name "db1" to address: Name or service not known"#, "", .cannotOpen),
      (
        #"connection to server at "10.0.0.1", port 5432 failed: FATAL:  password authentication failed for user "pullbox""#,
        "", .cannotOpen
      ),
    ] as [(String, String, DatabaseError.Code)])
  func connecting(sentence: String, hint: String, code: DatabaseError.Code) {
    let error = ServerHandle.refusal(sentence + "\n" + hint + "\n", needsPassword: false)
    #expect(error.code == code)
    #expect(error.message == sentence)
  }

  @Test("a unique key and a foreign key are told apart")
  func constraints() {
    #expect(ServerFailure.error(state: "23505", message: "", sql: "").isUniqueViolation)
    #expect(ServerFailure.error(state: "23503", message: "", sql: "").isForeignKeyViolation)
    #expect(!ServerFailure.error(state: "23514", message: "", sql: "").isUniqueViolation)
  }
}

@Suite("Addresses of PostgreSQL")
struct PostgreSQLAddressTests {
  @Test("a URL's settings are kept, and its description has neither user nor password")
  func described() throws {
    let address = try PostgreSQLAddress("postgresql://reader:s3cret@one:5433,two/books?sslmode=require")
    #expect(address.description == "books at one,two port 5433,")
    let settings = Dictionary(
      uniqueKeysWithValues: address.settings(named: "pullbox-server").map { ($0.keyword, $0.value) })
    #expect(settings["password"] == "s3cret")
    #expect(settings["sslmode"] == "require")
    #expect(settings["target_session_attrs"] == "read-write")
    #expect(settings["application_name"] == "pullbox-server")
  }

  @Test(
    "what is no address is refused without being repeated",
    arguments: [
      "", "server.db", "postgresql://x:s3cret@h:port/%zz", "postgresql://h/?nonsense=s3cret",
      "mysql://s3cret",
    ])
  func refused(url: String) {
    let error = #expect(throws: DatabaseError.self) { try PostgreSQLAddress(url) }
    #expect(error?.code == .cannotOpen)
    #expect(error?.description.contains("s3cret") == false)
  }
}
