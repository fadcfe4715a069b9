public import CoreTypes

/// Which pieces of a package are verified and written: one bit each. A value, in memory alone: the
/// staging area says what is there.
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
  /// The first run of missing pieces at or after `piece`, at most `maximumCount` long; nil when none is missing there.
  public func nextMissingRun(from piece: Int, maximumCount: Int = .max) -> Range<Int>? {
    var start = piece
    while start < layout.count, isVerified(start) { start += 1 }
    guard start < layout.count else { return nil }
    var end = start + 1
    while end < layout.count, end - start < maximumCount, !isVerified(end) { end += 1 }
    return start..<end
  }
}
