public import CoreTypes

/// Which pieces of a package are verified and written: one bit each. A value, in memory alone: the
/// staging area says what is there.
public struct PieceMap: Hashable, Sendable {
  /// The pieces that the map is of.
  public let layout: PieceLayout
  /// How many pieces are verified.
  public private(set) var verifiedCount = 0
  /// How many of the pieces that are needed are not verified.
  public private(set) var missingCount: Int
  private var words: [UInt64]
  /// The pieces that are needed; nil for all.
  private let needed: [UInt64]?

  /// With nothing verified, and every piece needed.
  public init(layout: PieceLayout) {
    self.init(layout: layout, needed: nil)
  }

  /// With nothing verified. Of a manifest that speaks of some sections, the pieces with bytes of their files are needed, else all.
  public init(_ manifest: Manifest) {
    let layout = manifest.layout
    guard manifest.selection != nil else {
      self.init(layout: layout)
      return
    }
    var needed = [UInt64](repeating: 0, count: (layout.count + 63) / 64)
    for file in manifest.files {
      for piece in layout.pieces(holding: file.storedRange) {
        needed[piece / 64] |= 1 << UInt64(piece % 64)
      }
    }
    self.init(layout: layout, needed: needed)
  }

  private init(layout: PieceLayout, needed: [UInt64]?) {
    self.layout = layout
    self.needed = needed
    words = Array(repeating: 0, count: (layout.count + 63) / 64)
    missingCount = needed.map { $0.reduce(0) { $0 + $1.nonzeroBitCount } } ?? layout.count
  }

  /// Whether the content needs that piece. Traps unless the layout has it.
  public func isNeeded(_ piece: Int) -> Bool {
    precondition((0..<layout.count).contains(piece), "no such piece")
    return needed.map { $0[piece / 64] >> UInt64(piece % 64) & 1 == 1 } ?? true
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
    if isNeeded(piece) { missingCount -= 1 }
  }

  /// Takes back that the piece is verified, for one that was found damaged.
  public mutating func markMissing(_ piece: Int) {
    guard isVerified(piece) else { return }
    words[piece / 64] &= ~(1 << UInt64(piece % 64))
    verifiedCount -= 1
    if isNeeded(piece) { missingCount += 1 }
  }

  /// Whether every piece that is needed is verified.
  public var isComplete: Bool { missingCount == 0 }

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
  /// Whether the piece is needed and not verified.
  public func isMissing(_ piece: Int) -> Bool { isNeeded(piece) && !isVerified(piece) }

  /// The first run of missing pieces at or after `piece`, at most `maximumCount` long; nil when none is missing there.
  public func nextMissingRun(from piece: Int, maximumCount: Int = .max) -> Range<Int>? {
    var start = piece
    while start < layout.count, !isMissing(start) { start += 1 }
    guard start < layout.count else { return nil }
    var end = start + 1
    while end < layout.count, end - start < maximumCount, isMissing(end) { end += 1 }
    return start..<end
  }

  /// Bytes of the package in the pieces that are needed.
  public var bytesNeeded: ByteCount {
    guard let needed else { return layout.packageLength }
    let count = needed.reduce(0) { $0 + $1.nonzeroBitCount }
    guard layout.count > 0, isNeeded(layout.count - 1) else {
      return ByteCount(Int64(count) * PieceLayout.pieceLength.rawValue)
    }
    let full = Int64(count - 1) * PieceLayout.pieceLength.rawValue
    return ByteCount(full + Int64(layout.length(of: layout.count - 1)))
  }
}
