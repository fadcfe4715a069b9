import Testing

@testable import SandboxRecords

@Suite("The names of orders")
struct OrderNameTests {
  @Test("orders are named by their transactions, and read again")
  func orders() {
    #expect(OrderName.text(first: 2_000_000_000_000_017, renewal: nil) == "GPA.2000-0000-0000-0017")
    #expect(OrderName.text(first: 20_000_000_000_000_001, renewal: 3) == "GPA.2000-0000-0000-0000-1..3")
    for (first, renewal) in [(Int64(2_000_000_000_000_017), Int?.none), (2_000_000_000_000_017, 12)] {
      let parsed = OrderName.parse(OrderName.text(first: first, renewal: renewal))
      #expect(parsed?.first == first && parsed?.renewal == renewal)
    }
    for text in ["", "GPA.", "GPA.x", "GPA.1.2", "MT1", "GPA.1...2"] { #expect(OrderName.parse(text) == nil) }
  }
}
