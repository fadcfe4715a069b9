import CoreTypes
import Testing

@testable import DeliveryService

@Suite("Names of grants")
struct DeliveryHandleTests {
  private static let hour: Int64 = 3_600_000

  @Test("names of one hour lie beside each other, those of the next behind them, and no two are alike")
  func places() {
    let begin = Timestamp(millisecondsSinceEpoch: 0)
    let names = (0..<200).map { GrantNames.make(at: begin + .milliseconds(Int64($0) * Self.hour / 200)) }
    let next = (0..<200).map { _ in GrantNames.make(at: begin + .milliseconds(Self.hour)) }
    #expect(Set(names.map(\.first)) == [0] && Set(next.map(\.first)) == [1])
    #expect(Set(names + next).count == 400)
    #expect((names + next).allSatisfy { $0.count == 16 })
    // Nothing but the hour is common to them.
    for position in 1..<16 { #expect(Set(names.map { $0[position] }).count > 50) }
  }

  @Test("the hours go round", arguments: [(255, 255), (256, 0), (-1, 255), (500_000, 32)])
  func round(hours: Int64, octet: UInt8) {
    let handle = DeliveryHandle.make(at: Timestamp(millisecondsSinceEpoch: hours * Self.hour))
    #expect(handle.bytes.first == octet)
  }
}
