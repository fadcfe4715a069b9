import Commerce
import CoreTypes
import Testing

@testable import AgentRecords

@Suite struct RepeatedDeliveriesTests {
  private let transactions: [TransactionIdentifier]

  init() throws {
    transactions = try ["1", "2"].map { try #require(TransactionIdentifier($0)) }
  }

  private func product(_ number: Int) throws -> ProductIdentifier {
    try #require(ProductIdentifier("com.example.issue\(number)"))
  }

  private func instant(_ seconds: Int) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 1_000_000_000) + .seconds(seconds)
  }

  @Test(
    "each product of each transaction is delivered once more within an hour, which begins with its delivery")
  func hour() throws {
    var repeated = RepeatedDeliveries()
    let product = try product(1)
    let first = (0..<2).map { _ in repeated.isDue(product, of: transactions[0], at: instant(0)) }
    repeated.note(product, of: transactions[0], at: instant(0))
    let early = repeated.isDue(product, of: transactions[0], at: instant(3599))
    let other = repeated.isDue(product, of: transactions[1], at: instant(3599))
    let late = repeated.isDue(product, of: transactions[0], at: instant(3600))
    #expect(first == [true, true] && !early && other && late)
  }

  @Test("no more than so many are remembered, and the others wait") func bound() throws {
    var repeated = RepeatedDeliveries()
    for number in 0..<RepeatedDeliveries.bound {
      repeated.note(try product(number), of: transactions[0], at: instant(0))
    }
    let next = try product(RepeatedDeliveries.bound)
    let (now, later) = (
      repeated.isDue(next, of: transactions[0], at: instant(0)),
      repeated.isDue(next, of: transactions[0], at: instant(3600))
    )
    #expect(!now && later)
  }
}
