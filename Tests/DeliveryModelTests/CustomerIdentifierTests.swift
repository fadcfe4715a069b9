import CoreTypes
import Testing

@testable import DeliveryModel

@Suite("Names of customers")
struct CustomerIdentifierTests {
  @Test("a customer's name begins as a grant's does")
  func customers() {
    let now = Timestamp(millisecondsSinceEpoch: (0x1_0203 * 125 + 1) / 2)
    #expect(CustomerIdentifier.make(at: now).bytes.prefix(3) == [1, 2, 3])
  }
}
