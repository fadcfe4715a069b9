import ContentPackage
import Synchronization

/// Which pieces of a package are verified, and which blocks are held by readers, for those who ask on every response: without a lock, on
/// any thread. A word for each block has
///
///     bits 0-7     the block's pieces that are verified
///     bit 8        whether a reader that comes to the block is to be told of
///     bits 12-31   how many hold the block
///     bits 32-63   when it was held last, as a number that counts up
///
/// What is held keeps its bits: ``clear(_:)`` takes those of blocks away that no reader holds, and a reader holds a block in the same step
/// in which it sees the bits.
final class BlockWords: Sendable {
  /// Blocks of the longest package.
  static let maximumCount = 256

  /// The bits of the pieces.
  private static let pieces: UInt64 = 0xFF
  /// The bit of the mark.
  private static let mark: UInt64 = 1 << 8
  /// One holder, as it is added.
  private static let holder: UInt64 = 1 << 12
  /// The bits of the number of holders.
  private static let holders: UInt64 = 0xF_FFFF << 12
  /// The place of the use.
  private static let useShift: UInt64 = 32

  /// The blocks that the words are for.
  private let layout: BlockLayout
  /// A word for each block that a package may have.
  private let words = InlineArray<256, Atomic<UInt64>> { _ in Atomic(0) }

  /// With the verified pieces of the map, and when each block was used last.
  init(_ map: BlockMap, uses: [UInt32]) {
    layout = map.layout
    for block in 0..<layout.count {
      var word = UInt64(uses[block]) << Self.useShift
      for piece in layout.pieces(of: block) where map[piece] == .verified {
        word |= Self.bit(piece)
      }
      words[block].store(word, ordering: .relaxed)
    }
  }

  /// The bit of a piece in its block's word.
  private static func bit(_ piece: Int) -> UInt64 {
    1 << UInt64(piece % BlockLayout.piecesPerBlock)
  }

  /// Whether all these pieces are verified; what is may be given up at any time.
  func areVerified(_ pieces: Range<Int>) -> Bool {
    pieces.allSatisfy { piece in
      words[layout.block(of: piece)].load(ordering: .acquiring) & Self.bit(piece) != 0
    }
  }

  /// Holds the blocks of the first of these pieces, as many as are verified without a gap, and returns the piece behind them; the first
  /// one where it is not verified. `use` is what counts as the time. `reach` is told of a marked block.
  func hold(_ pieces: Range<Int>, use: UInt32, reach: (_ block: Int) -> Void) -> Int {
    var next = pieces.lowerBound
    while next < pieces.upperBound {
      let block = layout.block(of: next)
      let end = min(pieces.upperBound, layout.pieces(of: block).upperBound)
      var word = words[block].load(ordering: .relaxed)
      var present = next
      while true {
        present = next
        while present < end, word & Self.bit(present) != 0 { present += 1 }
        guard present > next else { return next }
        let held =
          (word & ~Self.mark & (1 << Self.useShift - 1)) + Self.holder | UInt64(use) << Self.useShift
        let (isExchanged, found) = words[block].weakCompareExchange(
          expected: word, desired: held, ordering: .acquiringAndReleasing)
        if isExchanged { break }
        word = found
      }
      if word & Self.mark != 0 { reach(block) }
      next = present
      if present < end { break }
    }
    return next
  }

  /// Lets go of the blocks of these pieces, once for each time that they were held.
  func release(_ pieces: Range<Int>) {
    guard let first = pieces.first, let last = pieces.last else { return }
    for block in layout.block(of: first)...layout.block(of: last) {
      words[block].subtract(Self.holder, ordering: .releasing)
    }
  }

  /// Lets readers see the piece; what was written before is seen with it.
  func setVerified(_ piece: Int) {
    words[layout.block(of: piece)].bitwiseOr(Self.bit(piece), ordering: .releasing)
  }

  /// Has the next reader of the block tell that it came.
  func mark(_ block: Int) {
    words[block].bitwiseOr(Self.mark, ordering: .relaxed)
  }

  /// Whether a reader holds the block at this moment.
  func isHeld(_ block: Int) -> Bool {
    words[block].load(ordering: .relaxed) & Self.holders != 0
  }

  /// Takes the bits of the block's pieces away; false, and nothing is done, where a reader holds it.
  func clear(_ block: Int) -> Bool {
    var word = words[block].load(ordering: .relaxed)
    while word & Self.holders == 0 {
      let (isExchanged, found) = words[block].weakCompareExchange(
        expected: word, desired: word & ~(Self.pieces | Self.mark), ordering: .acquiringAndReleasing)
      if isExchanged { return true }
      word = found
    }
    return false
  }

  /// When the block was held last.
  func use(of block: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: words[block].load(ordering: .relaxed) >> Self.useShift)
  }

  /// Notes a use without holding the block.
  func noteUse(_ use: UInt32, of block: Int) {
    var word = words[block].load(ordering: .relaxed)
    while true {
      let noted = word & (1 << Self.useShift - 1) | UInt64(use) << Self.useShift
      let (isExchanged, found) = words[block].weakCompareExchange(
        expected: word, desired: noted, ordering: .relaxed)
      if isExchanged { return }
      word = found
    }
  }
}
