import Commerce
import Testing

@testable import DeliveryService

@Suite("What products have in common")
struct CommonValuesTests {
  private func product(_ amount: Int, publication: String? = nil) throws -> Product {
    Product(
      id: try #require(ProductIdentifier("com.example.a")), type: .nonConsumable,
      prices: ["FRA": try #require(Price(amount: "\(amount)", currency: "EUR"))],
      publication: publication.flatMap { ProductIdentifier($0) })
  }

  /// Where the dictionary's members are in memory.
  private func place(_ prices: [String: Price]) -> UInt { unsafe unsafeBitCast(prices, to: UInt.self) }

  @Test("equal prices are in memory once, and others stay apart")
  func once() throws {
    var common = CommonValues()
    var (one, same, other) = (try product(1), try product(1), try product(2))
    #expect(place(one.prices) != place(same.prices))
    common.share(with: &one)
    common.share(with: &same)
    common.share(with: &other)
    #expect(place(one.prices) == place(same.prices))
    #expect(try one == product(1) && same == product(1) && other == product(2))
  }

  @Test("a product is what it was, also where more values have been seen than are remembered")
  func many() throws {
    var common = CommonValues()
    for number in 0..<5000 {
      let before = try product(number, publication: "com.example.series\(number)")
      var after = before
      common.share(with: &after)
      #expect(after == before)
    }
    var (one, same) = (try product(4999), try product(4999))
    common.share(with: &one)
    common.share(with: &same)
    #expect(place(one.prices) != place(same.prices))
  }
}
