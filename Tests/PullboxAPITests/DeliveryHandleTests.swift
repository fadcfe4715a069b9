import CoreTypes
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@Suite("Names of grants where bytes flow, and for operators")
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

  @Test(
    "a moment before 1970 and the last that there is make names as well",
    arguments: [Int64.min, -1, 0, .max])
  func anyMoment(milliseconds: Int64) {
    #expect(TimedNames.make(at: Timestamp(millisecondsSinceEpoch: milliseconds)).count == 16)
  }

  @Test("a handle is 16 octets, the upper word first, and nothing else is one")
  func octets() throws {
    let bytes = (0..<16).map { UInt8($0 * 17) }
    let handle = try #require(DeliveryHandle(bytes))
    #expect(handle.high == 0x0011_2233_4455_6677 && handle.low == 0x8899_AABB_CCDD_EEFF)
    #expect(handle.bytes == bytes)
    #expect(handle == DeliveryHandle(high: handle.high, low: handle.low))
    for count in [0, 1, 8, 15, 17, 32] {
      #expect(DeliveryHandle([UInt8](repeating: 0, count: count)) == nil)
    }
  }

  @Test("a grant's short name is 16 digits, those of the first eight octets of its handle")
  func shortNames() {
    let handle = DeliveryHandle(high: 0xAB, low: .max)
    #expect(handle.shortName.description == "00000000000000ab")
    #expect(GrantShortName("00000000000000ab") == handle.shortName)
    #expect(GrantShortName(0).description == "0000000000000000")
    #expect(GrantShortName(.max).description == "ffffffffffffffff")
    #expect(GrantShortName("ffffffffffffffff")?.value == .max)
  }

  @Test(
    "what is not 16 lower-case hexadecimal digits is no short name",
    arguments: [
      "", "ab", "00000000000000AB", "000000000000000g", "+00000000000000a", "-00000000000000a",
      "0x000000000000ab", " 00000000000000a", "00000000000000ab ", "00000000000000abc", "0000000000000００",
      "000000000000000é", "0123456789abcdef0123456789abcdef",
    ])
  func noShortNames(text: String) {
    #expect(GrantShortName(text) == nil)
  }

  @Test("the handles of a short name lie between its bounds, and those of its neighbors do not")
  func bounds() {
    var random = SplitMix(seed: 5)
    func number(_ handle: DeliveryHandle) -> [UInt64] { [handle.high, handle.low] }
    for _ in 0..<500 {
      let handle = DeliveryHandle(high: random.next() >> 1 | 1, low: random.next())
      let (first, last) = DeliveryHandle.bounds(of: handle.shortName)
      #expect(first.shortName == handle.shortName && last.shortName == handle.shortName)
      #expect(!number(handle).lexicographicallyPrecedes(number(first)))
      #expect(!number(last).lexicographicallyPrecedes(number(handle)))
      let before = DeliveryHandle(high: handle.high - 1, low: .max)
      let behind = DeliveryHandle(high: handle.high + 1, low: 0)
      #expect(number(before).lexicographicallyPrecedes(number(first)))
      #expect(number(last).lexicographicallyPrecedes(number(behind)))
    }
  }
}
