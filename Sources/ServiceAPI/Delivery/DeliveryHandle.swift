package import CoreTypes
import Crypto

/// New names of grants and customers: three octets of the time, and 104 random bits. In an index those of one moment lie
/// beside each other, so that new ones change few pages of it, however many there are.
package enum TimedNames {
  /// 16 octets.
  package static func make(at now: Timestamp) -> [UInt8] {
    let units = UInt64(bitPattern: now.millisecondsSinceEpoch) &* 2 / 125
    return [16, 8, 0].map { UInt8(truncatingIfNeeded: units >> $0) } + RandomBytes.make(13)
  }
}

/// Names a grant where its bytes flow: in tickets, meters and revocations. Beyond the moment of its making it is random and
/// says nothing of the name that the device knows the grant by, so that a leaked ticket names no grant; it opens nothing by itself.
///
/// Two words cost no allocation on the loops.
package struct DeliveryHandle: Hashable, Sendable {
  package var high: UInt64
  package var low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// One of a grant that is made now.
  package static func make(at now: Timestamp) -> DeliveryHandle {
    let bytes = TimedNames.make(at: now)
    return DeliveryHandle(high: word(bytes.prefix(8)), low: word(bytes.suffix(8)))
  }

  private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

extension DeliveryHandle {
  /// Nil unless `bytes` are 16.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    self.init(high: Self.word(bytes.prefix(8)), low: Self.word(bytes.suffix(8)))
  }

  /// The 16 octets, the upper word first.
  package var bytes: [UInt8] {
    [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
  }

  /// The grant's name for operators: the upper word.
  package var shortName: GrantShortName { GrantShortName(high) }

  /// The first and the last of the handles that begin with `name`: there is one, but for a coincidence.
  package static func bounds(of name: GrantShortName) -> (first: DeliveryHandle, last: DeliveryHandle) {
    (DeliveryHandle(high: name.value, low: 0), DeliveryHandle(high: name.value, low: .max))
  }
}
