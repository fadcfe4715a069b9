/// Eight bytes of input looked at together, the first in the lowest bits: most of a head is letters, digits
/// and other plain characters, and none of its grammar turns on those. What is not plain is for the caller to
/// judge, byte by byte.
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

  /// The first `count` bytes, one to eight, with letters in lower case; the last of them in the lowest bits.
  @inline(__always)
  func lowercased(_ count: Int) -> UInt64 {
    let folded = bits | (letters & ~bits & Self.highs) >> 2
    return folded.byteSwapped >> UInt64(64 - 8 * count)
  }

  /// Bytes from the first on that may stand in a field value; a tab, which may as well, ends them.
  @inline(__always)
  var valueBytes: Int {
    // Bytes below 0x20, and bytes that are 0x7F: exact up to the first of them, as borrows only run upwards
    // from there.
    let controls = (bits &- Self.ones &* 0x20) & ~bits
    let other = bits ^ Self.ones &* 0x7F
    let deletes = (other &- Self.ones) & ~other
    return Self.bytes(before: controls | deletes)
  }

  /// Letters and hyphens from the first byte on.
  @inline(__always)
  var nameBytes: Int {
    let hyphens = Self.atLeast(bits, bound: 0x2D) & ~Self.atLeast(bits, bound: 0x2E)
    return Self.bytes(before: ~((letters | hyphens) & ~bits))
  }

  /// Letters, digits, hyphens, dots and slashes from the first byte on.
  @inline(__always)
  var targetBytes: Int {
    let others = Self.atLeast(bits, bound: 0x2D) & ~Self.atLeast(bits, bound: 0x3A)
    return Self.bytes(before: ~((letters | others) & ~bits))
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

  @inline(__always)
  private static func bytes(before marks: UInt64) -> Int { (marks & highs).trailingZeroBitCount >> 3 }
}

extension Span<UInt8> {
  /// The first byte from `start` on, below `end`, that may not stand in a field value; `end` without one.
  @inline(__always)
  func endOfValue(from start: Int, to end: Int) -> Int {
    var position = start
    while position + 8 <= end {
      let plain = ByteWord(self, at: position).valueBytes
      position += plain
      if plain < 8 { break }
    }
    while position < end, ASCII.isFieldValue(self[position]) { position += 1 }
    return position
  }

  /// The first byte from `start` on, below `end`, that may not stand in a token; `end` without one.
  @inline(__always)
  func endOfToken(from start: Int, to end: Int) -> Int {
    var position = start
    while position + 8 <= end {
      let plain = ByteWord(self, at: position).nameBytes
      position += plain
      if plain < 8 { break }
    }
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
    var position = start
    while position + 8 <= end {
      let plain = ByteWord(self, at: position).targetBytes
      position += plain
      if plain < 8 { break }
    }
    return position
  }
}
