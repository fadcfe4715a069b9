import CZlib

/// A running CRC-32 as archives use it (ISO 3309, zlib's crc32).
package struct CRC32: Hashable, Sendable {
  /// The checksum of the bytes so far; 0 for none.
  package private(set) var value: UInt32 = 0

  /// The checksum of no bytes.
  package init() {}

  /// Adds the next bytes.
  package mutating func update(_ bytes: Span<UInt8>) {
    // For a null pointer zlib answers its initial value, which would forget what came before.
    guard !bytes.isEmpty else { return }
    let sum = unsafe bytes.withUnsafeBufferPointer { unsafe crc32_z(UInt(value), $0.baseAddress, $0.count) }
    value = UInt32(truncatingIfNeeded: sum)
  }

  /// The checksum of all the bytes.
  package static func of(_ bytes: [UInt8]) -> UInt32 {
    var check = CRC32()
    check.update(bytes.span)
    return check.value
  }
}
