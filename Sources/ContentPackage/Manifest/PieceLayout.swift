public import CoreTypes

/// How a package of a given length divides into pieces: all 1 MiB long, only the last may be shorter.
public struct PieceLayout: Hashable, Sendable {
  /// 1 MiB.
  public static let pieceLength = ByteCount.mebibytes(1)

  /// Bytes of the package.
  public let packageLength: ByteCount

  /// Divides a package of that many bytes, which may be zero.
  public init(packageLength: ByteCount) {
    precondition(packageLength >= .zero, "a length is never negative")
    self.packageLength = packageLength
  }

  /// Pieces of the package: its length divided by ``pieceLength``, rounded up.
  public var count: Int {
    Int(packageLength.rawValue / Self.pieceLength.rawValue)
      + (packageLength.rawValue % Self.pieceLength.rawValue == 0 ? 0 : 1)
  }

  /// The bytes of the package that piece `index` covers.
  public func range(of index: Int) -> Range<Int64> {
    precondition((0..<count).contains(index), "no such piece")
    let start = Int64(index) * Self.pieceLength.rawValue
    return start..<min(start + Self.pieceLength.rawValue, packageLength.rawValue)
  }

  /// The bytes of the package that a run of pieces covers; empty for an empty run.
  public func range(of pieces: Range<Int>) -> Range<Int64> {
    guard let first = pieces.first, let last = pieces.last else {
      let start = min(Int64(pieces.lowerBound) * Self.pieceLength.rawValue, packageLength.rawValue)
      return start..<start
    }
    return range(of: first).lowerBound..<range(of: last).upperBound
  }

  /// Bytes of one piece: ``pieceLength``, or what is left for the last.
  public func length(of index: Int) -> Int {
    range(of: index).count
  }

  /// The pieces that hold at least one of `bytes`; none for an empty range.
  public func pieces(holding bytes: Range<Int64>) -> Range<Int> {
    guard !bytes.isEmpty else { return 0..<0 }
    return Int(
      bytes.lowerBound / Self.pieceLength.rawValue)..<(Int((bytes.upperBound - 1) / Self.pieceLength.rawValue)
      + 1)
  }
}
