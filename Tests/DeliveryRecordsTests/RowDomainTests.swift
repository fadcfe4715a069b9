import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import ServiceAPI
import Testing

@testable import DeliveryRecords

@Suite("Columns as the domain's types")
struct RowDomainTests {
  private func row(_ value: SQLValue) async throws -> Row {
    let file = try StateFile()
    let database = try file.open()
    return try #require(try await database.read { try $0.first("SELECT ? AS value", [value]) })
  }

  @Test("each type is read as it was written", .enabled(if: !TestDatabase.isOnServer))
  func roundTrips() async throws {
    let product = try #require(ProductIdentifier("com.example.issue1"))
    #expect(try await row(.identifier(product)).identifier("value") == product)
    #expect(try await row(.choice(VersionState.released)).choice("value") == VersionState.released)
    let digest = SHA256Digest.of(Array("a".utf8))
    #expect(try await row(.digest(digest)).digest("value") == digest)
    #expect(try await row(.digest(digest)).optionalDigest("value") == digest)
    let key = SigningKey().verificationKey
    #expect(try await row(.publicKey(key)).publicKey("value") == key)
    #expect(try await row(.publicKey(key)).optionalPublicKey("value") == key)
    for state in [GrantMachine.State.granted, .completed, .revoked(was: .finished)] {
      #expect(try await row(.grantState(state)).grantState("value") == state)
    }
  }

  @Test("NULL is nil where it may be, and an error where it may not")
  func null() async throws {
    let row = try await row(.null)
    #expect(try row.optionalDigest("value") == nil)
    #expect(try row.optionalPublicKey("value") == nil)
    #expect(try row.optionalByteCount("value") == nil)
    #expect(throws: DatabaseError.self) { try row.digest("value") }
  }

  @Test(
    "a damaged value is an error, never nil: a grant whose key cannot be read is not one without a key",
    .enabled(if: !TestDatabase.isOnServer))
  func damaged() async throws {
    let row = try await row(.blob([1, 2, 3]))
    let key = #expect(throws: ColumnTypeMismatch.self) { try row.optionalPublicKey("value") }
    #expect(key?.description == "column value does not hold an Ed25519 key")
    #expect(throws: ColumnTypeMismatch.self) { try row.optionalDigest("value") }
    let text = try await self.row(.text("elsewhere"))
    #expect(throws: ColumnTypeMismatch.self) { try text.grantState("value") }
    #expect(throws: ColumnTypeMismatch.self) { try text.choice("value") as RevocationSource }
  }

  @Test("every state of a grant is read back as it was written", arguments: GrantMachine.State.all)
  func grantState(state: GrantMachine.State) {
    #expect(GrantMachine.State(stored: state.stored) == state)
  }

  @Test(
    "a state of a grant that was never written is not read",
    arguments: ["", "GRANTED", "revoked", "revoked/revoked/granted"])
  func foreignGrantState(text: String) {
    #expect(GrantMachine.State(stored: text) == nil)
  }
}
