import CoreTypes
import PullboxAPI
import Testing

@testable import DeliveryRecords

@Suite("Names of grants and customers")
struct DeliveryHandleTests {
  /// Sixteenths of a second.
  private static func moment(_ units: Int64) -> Timestamp {
    Timestamp(millisecondsSinceEpoch: (units * 125 + 1) / 2)
  }

  @Test("names of one moment lie beside each other, those of the next behind them, and no two are alike")
  func places() {
    let names = (0..<200).map { _ in TimedNames.make(at: Self.moment(0x1_0203)) }
    let next = (0..<200).map { _ in TimedNames.make(at: Self.moment(0x1_0204)) }
    #expect(Set(names.map { Array($0.prefix(3)) }) == [[1, 2, 3]])
    #expect(Set(next.map { Array($0.prefix(3)) }) == [[1, 2, 4]])
    #expect(Set(names + next).count == 400)
    #expect((names + next).allSatisfy { $0.count == 16 })
    // Nothing but the moment is common to them.
    for position in 3..<16 { #expect(Set(names.map { $0[position] }).count > 50) }
  }

  @Test("a sixteenth of a second is a moment, and the moments go round after twelve days")
  func round() {
    let day: Int64 = 86_400_000
    let begin = Timestamp(millisecondsSinceEpoch: 0)
    #expect(DeliveryHandle.make(at: begin + .milliseconds(62)).bytes.prefix(3) == [0, 0, 0])
    #expect(DeliveryHandle.make(at: begin + .milliseconds(63)).bytes.prefix(3) == [0, 0, 1])
    #expect(DeliveryHandle.make(at: begin + .milliseconds(1000)).bytes.prefix(3) == [0, 0, 16])
    #expect(DeliveryHandle.make(at: begin + .milliseconds(12 * day)).bytes[0] > 250)
    #expect(DeliveryHandle.make(at: begin + .milliseconds(13 * day)).bytes[0] < 20)
  }

  @Test("a customer's name begins as a grant's does")
  func customers() {
    #expect(CustomerIdentifier.make(at: Self.moment(0x1_0203)).bytes.prefix(3) == [1, 2, 3])
  }
}
