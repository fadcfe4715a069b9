public import CoreTypes

/// Which pieces of a package are verified and written: one bit each. It is a value; its owner persists
/// ``encoded`` before relying on it after a restart.
public struct PieceMap: Hashable, Sendable {
  /// The pieces that the map is of.
  public let layout: PieceLayout
  /// How many pieces are verified.
  public private(set) var verifiedCount = 0
  private var words: [UInt64]

  /// With nothing verified.
  public init(layout: PieceLayout) {
    self.layout = layout
    words = Array(repeating: 0, count: (layout.count + 63) / 64)
  }

  /// With nothing verified.
  public init(_ manifest: Manifest) {
    self.init(layout: manifest.layout)
  }

  /// From ``encoded``. Nil when `bytes` are not the map of a package of this layout: another length, or a bit beyond the
  /// last piece.
  public init?(encoded bytes: some Collection<UInt8>, layout: PieceLayout) {
    guard bytes.count == (layout.count + 7) / 8 else { return nil }
    self.init(layout: layout)
    for (index, byte) in bytes.enumerated() {
      words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8)
    }
    if layout.count % 64 != 0, let last = words.last, last >> UInt64(layout.count % 64) != 0 { return nil }
    verifiedCount = words.reduce(0) { $0 + $1.nonzeroBitCount }
  }

  /// ⌈pieces ÷ 8⌉ bytes; piece `i` is bit `i mod 8`, the lowest first, of byte `i ÷ 8`. Unused bits are zero.
  public var encoded: [UInt8] {
    (0..<(layout.count + 7) / 8).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> UInt64($0 % 8 * 8)) }
  }

  /// Whether that piece is verified. Traps unless the layout has it.
  public func isVerified(_ piece: Int) -> Bool {
    precondition((0..<layout.count).contains(piece), "no such piece")
    return words[piece / 64] >> UInt64(piece % 64) & 1 == 1
  }

  /// Whether every one of these pieces is verified; true for none.
  public func areAllVerified(_ pieces: Range<Int>) -> Bool {
    pieces.allSatisfy { isVerified($0) }
  }

  /// Records that the piece is verified and written; nothing changes when it is already.
  public mutating func markVerified(_ piece: Int) {
    guard !isVerified(piece) else { return }
    words[piece / 64] |= 1 << UInt64(piece % 64)
    verifiedCount += 1
  }

  /// Takes back that the piece is verified, for one that was found damaged.
  public mutating func markMissing(_ piece: Int) {
    guard isVerified(piece) else { return }
    words[piece / 64] &= ~(1 << UInt64(piece % 64))
    verifiedCount -= 1
  }

  /// Whether every piece of the package is verified.
  public var isComplete: Bool { verifiedCount == layout.count }

  /// Bytes of the package in verified pieces.
  public var bytesVerified: ByteCount {
    guard layout.count > 0, isVerified(layout.count - 1) else {
      return ByteCount(Int64(verifiedCount) * PieceLayout.pieceLength.rawValue)
    }
    let full = Int64(verifiedCount - 1) * PieceLayout.pieceLength.rawValue
    return ByteCount(full + Int64(layout.length(of: layout.count - 1)))
  }
}

extension PieceMap {
  /// Runs of pieces that are still to be fetched, in order, neighbors joined.
  public var missingRuns: [Range<Int>] { runs(verified: false) }

  /// Runs of pieces that are verified, in order, neighbors joined.
  public var verifiedRuns: [Range<Int>] { runs(verified: true) }

  /// The bytes of the package still to be fetched, as the ranges of requests.
  public var missingByteRanges: [Range<Int64>] { missingRuns.map { layout.range(of: $0) } }

  /// The first run of missing pieces at or after `piece`, at most `maximumCount` long; nil when none is missing there.
  public func nextMissingRun(from piece: Int, maximumCount: Int = .max) -> Range<Int>? {
    var start = piece
    while start < layout.count, isVerified(start) { start += 1 }
    guard start < layout.count else { return nil }
    var end = start + 1
    while end < layout.count, end - start < maximumCount, !isVerified(end) { end += 1 }
    return start..<end
  }

  private func runs(verified: Bool) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var start: Int?
    for piece in 0..<layout.count {
      if isVerified(piece) == verified {
        start = start ?? piece
      } else if let first = start {
        runs.append(first..<piece)
        start = nil
      }
    }
    if let first = start { runs.append(first..<layout.count) }
    return runs
  }
}
