import Crypto
import PullboxAPI

/// Names a grant where its bytes flow: in tickets, meters and revocations. It is random and says nothing of the name
/// that the device knows the grant by, so that a leaked ticket names no grant; it opens nothing by itself.
///
/// Two words cost no allocation on the loops.
struct DeliveryHandle: Hashable, Sendable {
  var high: UInt64
  var low: UInt64

  /// 128 random bits.
  static func random() -> DeliveryHandle {
    let bytes = RandomBytes.make(16)
    return DeliveryHandle(high: word(bytes.prefix(8)), low: word(bytes.suffix(8)))
  }

  private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

extension DeliveryHandle {
  /// Nil unless `bytes` are 16.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    self.init(high: Self.word(bytes.prefix(8)), low: Self.word(bytes.suffix(8)))
  }

  /// The 16 octets, the upper word first.
  var bytes: [UInt8] {
    [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
  }

  /// What operators call the grant: the upper word.
  var shortName: GrantShortName { GrantShortName(high) }

  /// The first and the last of the handles that begin with `name`: there is one, but for a coincidence.
  static func bounds(of name: GrantShortName) -> (first: DeliveryHandle, last: DeliveryHandle) {
    (DeliveryHandle(high: name.value, low: 0), DeliveryHandle(high: name.value, low: .max))
  }
}
