import Commerce
import Testing

@testable import ContentCatalog

@Suite("What products have in common")
struct CommonValuesTests {
  private func product(_ amount: Int, publication: String? = nil) throws -> Product {
    Product(
      id: try #require(ProductIdentifier("com.example.a")), type: .nonConsumable,
      prices: ["FRA": try #require(Price(amount: "\(amount)", currency: "EUR"))],
      publication: publication.flatMap { ProductIdentifier($0) })
  }

  /// Where a name's text is in memory: the second word of a string that is longer than fifteen bytes.
  private func place(_ name: ProductIdentifier?) -> UInt? {
    name.map { unsafe unsafeBitCast($0, to: (UInt, UInt).self).1 }
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

  @Test("a product is what it was, and the latest values are shared, however many have been seen")
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
    #expect(place(one.prices) == place(same.prices))
  }

  @Test("the name of a publication is in memory once")
  func publications() throws {
    var common = CommonValues()
    // A literal would be one text already.
    let parts = ["com", "example", "magazine"]
    var one = try product(1, publication: parts.joined(separator: "."))
    var same = try product(2, publication: parts.joined(separator: "."))
    #expect(place(one.publication) != place(same.publication))
    common.share(with: &one)
    common.share(with: &same)
    #expect(place(one.publication) == place(same.publication))
  }
}
