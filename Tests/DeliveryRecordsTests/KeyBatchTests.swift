import Commerce
import Database
import Testing

@testable import DeliveryRecords

@Suite("Many keys in one statement")
struct KeyBatchTests {
  @Test("every key is asked for, in few sizes of statements, and none that is not among them")
  func batches() throws {
    for count in [0, 1, 2, 8, 9, 64, 65, 200] {
      let ids = try (0..<count).map { try #require(TransactionIdentifier("\(2_000_000_000_000_000 + $0)")) }
      let batches = KeyBatch.all(of: ids)
      let asked = batches.flatMap(\.values)
      #expect(Set(asked.map { "\($0)" }) == Set(ids.map { "\(SQLValue.identifier($0))" }))
      for batch in batches {
        #expect([1, 8, 64].contains(batch.values.count))
        #expect(batch.placeholders.split(separator: ",").count == batch.values.count)
      }
      #expect(batches.count == (count + 63) / 64)
    }
  }
}
