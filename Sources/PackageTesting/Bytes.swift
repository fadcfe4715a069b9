import CoreTypes
import Files
import SystemCalls

/// Bytes that no compressor shortens; the same for the same seed.
package func noise(_ count: Int, seed: UInt64) -> [UInt8] {
  words(count, seed: seed) { $0 }
}

/// The bytes of as many words of xorshift64 as are needed, each as `change` makes it. By words, since what is done for each byte is slow
/// in a build for debugging, and some tests want many of them. The words are in the byte order of the machine. Two calls
/// with one seed agree in their common beginning.
private func words(_ count: Int, seed: UInt64, _ change: (UInt64) -> UInt64) -> [UInt8] {
  var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  var words = [UInt64](repeating: 0, count: (count + 7) / 8)
  for index in 0..<words.count {
    state ^= state &<< 13
    state ^= state &>> 7
    state ^= state &<< 17
    words[index] = change(state)
  }
  var bytes = unsafe words.withUnsafeBytes { unsafe [UInt8]($0) }
  bytes.removeLast(bytes.count - count)
  return bytes
}

/// Returns bytes that begin like a JPEG; different ones for each number.
package func jpeg(_ number: Int, length: Int = 64) -> [UInt8] {
  [0xFF, 0xD8, 0xFF, 0xE0] + noise(max(0, length - 4), seed: UInt64(number) + 1)
}

/// Text that deflates to about three quarters.
package func prose(_ count: Int, seed: UInt64) -> [UInt8] {
  // In each byte six bits of eight, from the space on.
  words(count, seed: seed) { 0x2020_2020_2020_2020 &+ $0 & 0x3F3F_3F3F_3F3F_3F3F }
}

/// The bytes of a file of at most 64 MiB. Throws `SystemError` where it cannot be read, or is longer.
package func contents(of path: String) throws -> [UInt8] {
  try FileSystem.read(path, upTo: .mebibytes(64))
}

/// The writing of integers in the byte order of ZIP, 7z and the like.
extension [UInt8] {
  /// Adds an integer, its lowest byte first.
  mutating func put(_ value: some FixedWidthInteger) {
    for shift in stride(from: 0, to: value.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }
}
