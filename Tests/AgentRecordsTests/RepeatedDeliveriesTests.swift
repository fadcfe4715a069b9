import Commerce
import CoreTypes
import Testing

@testable import AgentRecords

@Suite struct RepeatedDeliveriesTests {
  private func instant(_ seconds: Int) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 1_000_000_000) + .seconds(seconds)
  }

  @Test("each product is delivered once more within an hour") func hour() throws {
    var repeated = RepeatedDeliveries()
    let products = try [1, 2].map { try #require(ProductIdentifier("com.example.issue\($0)")) }
    let first = products.map { repeated.take($0, at: instant(0)) }
    let early = repeated.take(products[0], at: instant(3599))
    let late = repeated.take(products[0], at: instant(3600))
    #expect(first == [true, true] && !early && late)
  }

  @Test("no more than so many are remembered, and the others wait") func bound() throws {
    var repeated = RepeatedDeliveries()
    let taken = try (0...RepeatedDeliveries.bound).map {
      repeated.take(try #require(ProductIdentifier("com.example.issue\($0)")), at: instant(0))
    }
    #expect(taken.count { $0 } == RepeatedDeliveries.bound && taken.last == false)
    let next = repeated.take(try #require(ProductIdentifier("com.example.next")), at: instant(3600))
    #expect(next)
  }
}
