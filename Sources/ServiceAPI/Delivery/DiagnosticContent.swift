import Glibc

/// The bytes that `GET /v1/diagnostics/body` sends: known at each offset without storage, so that a client can tell whether
/// what came through a proxy is what was asked for.
///
/// The content is made of blocks of 64 KiB. A block begins with its number, eight bytes in network order; the rest is noise
/// that is the same in all blocks and does not compress.
///
/// ```swift
/// let bytes = DiagnosticContent.bytes(in: 65_530..<65_544)
/// DiagnosticContent.matches(bytes.span, at: 65_530)  // true
/// DiagnosticContent.matches(bytes.span, at: 65_531)  // false
/// ```
public enum DiagnosticContent {
  /// Where a ``DiagnosticReport`` is found.
  public static let reportPath = "/v1/diagnostics"
  /// Where the body is found.
  public static let path = "/v1/diagnostics/body"
  /// Where the file is found that is sent as packages are, by a proxy if the server hands off.
  public static let filePath = "/v1/diagnostics/file"
  /// Bytes of that file.
  public static let fileLength: Int64 = 262_144
  /// The longest body, in bytes: 8 GiB.
  public static let maximumLength: Int64 = 8 << 30
  /// The longest pause within a body, in seconds.
  public static let maximumPause = 180

  static let blockLength = 65_536
  private static let numberLength = 8

  /// The first block, whose number is 0.
  private static let block: [UInt8] = {
    var bytes = [UInt8](repeating: 0, count: numberLength)
    bytes.reserveCapacity(blockLength)
    var state: UInt64 = 0
    while bytes.count < blockLength {
      // SplitMix64 (Steele, Lea and Flood, 2014).
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      mixed ^= mixed >> 31
      for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: mixed >> UInt64(shift)))
      }
    }
    return bytes
  }()

  /// The strong entity tag of the content with that length, with its quotes.
  public static func entityTag(length: Int64) -> String { "\"diagnostics-\(length)\"" }

  /// The bytes at these offsets, from 0. They are all in memory: ask for a few blocks at a time.
  public static func bytes(in range: Range<Int64>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    var offset = range.lowerBound
    while offset < range.upperBound {
      let within = Int(offset % Int64(blockLength))
      let count = min(blockLength - within, Int(clamping: range.upperBound - offset))
      let start = bytes.count
      bytes.append(contentsOf: block[within..<within + count])
      for place in within..<max(within, min(within + count, numberLength)) {
        bytes[start + place - within] = number(at: offset, place)
      }
      offset += Int64(count)
    }
    return bytes
  }

  /// Whether these are the bytes that the content has from `offset` on.
  public static func matches(_ bytes: Span<UInt8>, at offset: Int64) -> Bool {
    guard !offset.addingReportingOverflow(Int64(bytes.count)).overflow else { return false }
    var position = 0
    while position < bytes.count {
      let place = offset + Int64(position)
      let within = Int(place % Int64(blockLength))
      let count: Int
      if within < numberLength {
        count = 1
        guard bytes[position] == number(at: place, within) else { return false }
      } else {
        count = min(blockLength - within, bytes.count - position)
        guard isSame(bytes.extracting(position..<position + count), from: within) else { return false }
      }
      position += count
    }
    return true
  }

  /// The byte at `place` of the number of the block that `offset` lies in.
  private static func number(at offset: Int64, _ place: Int) -> UInt8 {
    let number = UInt64(offset / Int64(blockLength))
    return UInt8(truncatingIfNeeded: number >> UInt64(8 * (numberLength - 1 - place)))
  }

  /// memcmp(3), since gibibytes are compared: whether the first block has these bytes from `start` on.
  private static func isSame(_ bytes: Span<UInt8>, from start: Int) -> Bool {
    let expected = block.span.extracting(start..<start + bytes.count)
    // Both are as long as `bytes`.
    return unsafe bytes.withUnsafeBufferPointer { left in
      unsafe expected.withUnsafeBufferPointer { right in
        guard let left = left.baseAddress, let right = right.baseAddress else { return true }
        return unsafe memcmp(left, right, bytes.count) == 0
      }
    }
  }
}
