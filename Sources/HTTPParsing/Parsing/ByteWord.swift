internal import CLinux

/// Eight bytes of input looked at together, the first in the lowest bits.
struct ByteWord {
  private let bits: UInt64

  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highs: UInt64 = 0x8080_8080_8080_8080

  /// The eight bytes of `input` from `offset` on, which must be there.
  @inline(__always)
  init(_ input: Span<UInt8>, at offset: Int) {
    let eight = input.extracting(offset..<offset + 8)
    // The last byte first: where it is there, so are the others, and all of this is one instruction.
    let high =
      UInt64(eight[7]) << 56 | UInt64(eight[6]) << 48 | UInt64(eight[5]) << 40 | UInt64(eight[4]) << 32
    let low =
      UInt64(eight[3]) << 24 | UInt64(eight[2]) << 16 | UInt64(eight[1]) << 8 | UInt64(eight[0])
    bits = high | low
  }

  /// Whether the first `count` bytes, one to eight, are those of `word`, the first in the lowest bits.
  @inline(__always)
  func starts(withWord word: UInt64, count: Int) -> Bool { (bits ^ word) << UInt64(64 - 8 * count) == 0 }

  /// The first `count` bytes, one to eight, with letters in lower case; the last of them in the lowest bits.
  @inline(__always)
  func lowercased(_ count: Int) -> UInt64 {
    let folded = bits | (letters & ~bits & Self.highs) >> 2
    return folded.byteSwapped >> UInt64(64 - 8 * count)
  }

  /// Returns the same as ``lowercased(_:)`` for bytes of a token, which are to be compared with a name of
  /// letters and hyphens. Other characters may change as well, but never into a letter or a hyphen.
  @inline(__always)
  func foldedToken(_ count: Int) -> UInt64 {
    (bits | Self.ones &* 0x20).byteSwapped >> UInt64(64 - 8 * count)
  }

  /// In the high bit of each byte whether it is a letter once its own high bit is taken away.
  @inline(__always)
  private var letters: UInt64 {
    let folded = bits | Self.ones &* 0x20
    return Self.atLeast(folded, bound: 0x61) & ~Self.atLeast(folded, bound: 0x7B)
  }

  /// In the high bit of each byte whether its other seven are at least `bound`, which is below 0x80.
  @inline(__always)
  private static func atLeast(_ bits: UInt64, bound: UInt64) -> UInt64 {
    (bits & ~highs) &+ ones &* (0x80 - bound)
  }
}

/// Where elements of a head end: most of it is letters, digits and other plain characters, of which CLinux looks at sixteen
/// together, and none of its grammar turns on those. What is not plain is judged byte by byte.
extension Span<UInt8> {
  /// Behind the bytes from `start` on, below `end`, that are of that class.
  @inline(__always)
  fileprivate func endOfRun(_ kind: Int, from start: Int, to end: Int) -> Int {
    precondition(start >= 0 && start <= end && end <= count)
    return unsafe withUnsafeBufferPointer { bytes in
      guard let base = bytes.baseAddress else { return start }
      return unsafe start + clinux_plain_run(base + start, end - start, Int32(kind))
    }
  }

  /// The first byte from `start` on, below `end`, that may not stand in a field value, or is a tab.
  @inline(__always)
  func endOfPlainValue(from start: Int, to end: Int) -> Int {
    endOfRun(clinux_value_bytes, from: start, to: end)
  }

  /// Letters and hyphens from `start` on, below `end`.
  @inline(__always)
  func endOfPlainName(from start: Int, to end: Int) -> Int {
    endOfRun(clinux_name_bytes, from: start, to: end)
  }

  /// The first byte from `start` on, below `end`, that may not stand in a field value; `end` without one.
  @inline(__always)
  func endOfValue(from start: Int, to end: Int) -> Int {
    var position = endOfPlainValue(from: start, to: end)
    while position < end, ASCII.isFieldValue(self[position]) { position += 1 }
    return position
  }

  /// The first byte from `start` on, below `end`, that may not stand in a token; `end` without one.
  @inline(__always)
  func endOfToken(from start: Int, to end: Int) -> Int {
    var position = endOfPlainName(from: start, to: end)
    while position < end, ASCII.isToken(self[position]) { position += 1 }
    return position
  }

  /// The first byte from `start` on, below `end`, that may not stand in a request target; `end` without one.
  @inline(__always)
  func endOfTarget(from start: Int, to end: Int) -> Int {
    var position = start
    while true {
      position = endOfPlainTarget(from: position, to: end)
      guard position < end, ASCII.isTarget(self[position]) else { return position }
      position += 1
    }
  }

  /// At least `start`, at most `end`: no byte between is a question mark or a percent sign.
  @inline(__always)
  func endOfPlainTarget(from start: Int, to end: Int) -> Int {
    endOfRun(clinux_target_bytes, from: start, to: end)
  }

  /// Letters, digits, hyphens and dots from `start` on, below `end`.
  @inline(__always)
  func endOfPlainHost(from start: Int, to end: Int) -> Int {
    endOfRun(clinux_host_bytes, from: start, to: end)
  }
}
