package import ContentPackage
package import CoreTypes

/// How a package divides into blocks, the parts in which a cache fetches it and gives it up: all 8 MiB, only the last may be shorter.
/// Each has up to eight pieces.
package struct BlockLayout: Hashable, Sendable {
  /// 8 MiB.
  package static let blockLength = ByteCount.mebibytes(8)
  /// Pieces of every block but the last.
  package static let piecesPerBlock = Int(blockLength.rawValue / PieceLayout.pieceLength.rawValue)

  /// The pieces of the package.
  package let pieces: PieceLayout

  /// Divides a package of that many bytes, which may be zero.
  package init(packageLength: ByteCount) {
    pieces = PieceLayout(packageLength: packageLength)
  }

  /// Blocks of the package.
  package var count: Int { (pieces.count + Self.piecesPerBlock - 1) / Self.piecesPerBlock }

  /// The block that holds a piece.
  package func block(of piece: Int) -> Int { piece / Self.piecesPerBlock }

  /// The pieces of a block; none behind the last one.
  package func pieces(of block: Int) -> Range<Int> {
    (block * Self.piecesPerBlock..<(block + 1) * Self.piecesPerBlock).clamped(to: 0..<pieces.count)
  }

  /// The bytes of a block.
  package func range(of block: Int) -> Range<Int64> { pieces.range(of: pieces(of: block)) }
}

/// The pieces of one package as a cache knows them: which are there, and which are on their way. A value, in memory alone.
package struct BlockMap: Hashable, Sendable {
  /// The state of a piece.
  package enum PieceState: Hashable, Sendable {
    /// Nothing of it is there.
    case missing
    /// There, from before a crash: it has to be read and compared before it counts.
    case unchecked
    /// Being read and compared.
    case checking
    /// Bytes of it are on their way.
    case fetching
    /// There, and the right bytes.
    case verified
    /// Its room is being given back.
    case leaving
  }

  /// The blocks that the map is of.
  package let layout: BlockLayout
  /// The state of each piece, by its number.
  private var states: [PieceState]
  /// Pieces of which other bytes came, and not the right ones since.
  private var mismatched: Set<Int> = []

  /// With nothing there.
  package init(_ layout: BlockLayout) {
    self.layout = layout
    states = Array(repeating: .missing, count: layout.pieces.count)
  }

  /// The state of a piece. A verified one has brought no other bytes, whatever came before.
  package subscript(piece: Int) -> PieceState {
    get { states[piece] }
    set {
      states[piece] = newValue
      if newValue == .verified { mismatched.remove(piece) }
    }
  }

  /// Notes that other bytes came for the piece; false where that is the second time.
  mutating func noteMismatch(_ piece: Int) -> Bool { mismatched.insert(piece).inserted }

  /// Lets pieces bring other bytes once more: those of before were another object's.
  mutating func forgetMismatches() { mismatched = [] }

  /// Whether other bytes came for the piece, and not the right ones since.
  func isMismatched(_ piece: Int) -> Bool { mismatched.contains(piece) }

  /// The pieces from that one to the end of its block, as far as they are in the same state without a gap.
  package func run(from piece: Int) -> Range<Int> {
    let end = layout.pieces(of: layout.block(of: piece)).upperBound
    return piece..<((piece..<end).first { states[$0] != states[piece] } ?? end)
  }

  /// Whether nothing of the block takes room or is on its way.
  package func isEmpty(_ block: Int) -> Bool {
    layout.pieces(of: block).allSatisfy { states[$0] == .missing }
  }

  /// Whether nothing of the package takes room or is on its way.
  package var isEmpty: Bool { states.allSatisfy { $0 == .missing } }

  /// Whether the block takes room, and nothing of it is on its way.
  package func isEvictable(_ block: Int) -> Bool {
    var takesRoom = false
    for piece in layout.pieces(of: block) {
      switch states[piece] {
      case .missing: continue
      case .unchecked, .verified: takesRoom = true
      case .checking, .fetching, .leaving: return false
      }
    }
    return takesRoom
  }

  /// Takes back that pieces were verified: each has to be read and compared again.
  mutating func doubt() {
    for piece in states.indices where states[piece] == .verified { states[piece] = .unchecked }
  }
}
