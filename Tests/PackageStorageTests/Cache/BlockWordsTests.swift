import CoreTypes
import PullboxTesting
import Testing

@testable import PackageStorage

/// Loops look at them without a lock.
@Suite("Words of blocks", .timeLimit(.minutes(10)))
struct BlockWordsTests {
  private func words(pieces: Int, verified: [Int]) -> BlockWords {
    let layout = BlockLayout(packageLength: .mebibytes(Int64(pieces)))
    var map = BlockMap(layout)
    for piece in verified { map[piece] = .verified }
    return BlockWords(map, uses: (0..<layout.count).map { UInt32($0 + 1) })
  }

  @Test("what is held is the verified pieces from the first one on, without a gap, over blocks")
  func holds() {
    let words = words(pieces: 20, verified: [5, 6, 7, 8, 9, 11, 16])
    func held(_ pieces: Range<Int>) -> Int {
      let end = words.hold(pieces, use: 9) { _ in }
      words.release(pieces.lowerBound..<end)
      return end
    }
    #expect(held(5..<20) == 10)
    #expect(held(5..<7) == 7)
    #expect(held(7..<9) == 9)
    #expect(held(4..<9) == 4)
    #expect(held(11..<12) == 12)
    #expect(held(15..<17) == 15)
    #expect(words.areVerified(5..<10) && !words.areVerified(5..<11) && words.areVerified(3..<3))
    #expect((0..<3).allSatisfy { !words.isHeld($0) })
  }

  @Test("a block that a reader holds is not cleared, one that none holds loses its pieces and no other does")
  func clears() {
    let words = words(pieces: 20, verified: Array(0..<20))
    #expect(words.hold(6..<10, use: 7) { _ in } == 10)
    #expect(words.hold(7..<8, use: 8) { _ in } == 8)
    #expect(words.isHeld(0) && words.isHeld(1) && !words.isHeld(2))
    #expect(!words.clear(0) && !words.clear(1) && words.clear(2))
    words.release(6..<10)
    #expect(!words.clear(0) && words.clear(1))
    words.release(7..<8)
    #expect(words.areVerified(0..<8) && !words.areVerified(8..<9))
    #expect(words.clear(0))
    #expect(words.hold(0..<8, use: 8) { _ in } == 0)
    words.setVerified(0)
    #expect(words.hold(0..<8, use: 8) { _ in } == 1)
  }

  @Test(
    "a block's last use is that of the last hold, also where it could not be held for all that was wanted")
  func uses() {
    let words = words(pieces: 20, verified: [0, 8, 9])
    #expect(words.use(of: 0) == 1 && words.use(of: 1) == 2)
    _ = words.hold(0..<20, use: 4_000_000_000) { _ in }
    #expect(words.use(of: 0) == 4_000_000_000 && words.use(of: 1) == 2)
    words.noteUse(5, of: 1)
    #expect(words.use(of: 1) == 5 && words.areVerified(8..<10))
  }

  @Test("a marked block is told of once, with the first reader that comes to it")
  func marks() {
    let words = words(pieces: 20, verified: Array(0..<20))
    words.mark(1)
    var reached: [Int] = []
    _ = words.hold(0..<8, use: 1) { reached.append($0) }
    #expect(reached.isEmpty)
    for _ in 0..<2 { _ = words.hold(7..<9, use: 1) { reached.append($0) } }
    #expect(reached == [1])
    // A reader that finds nothing there has not come to it.
    words.mark(2)
    #expect(words.clear(2))
    words.setVerified(16)
    words.mark(2)
    _ = words.hold(17..<18, use: 1) { reached.append($0) }
    #expect(reached == [1])
    _ = words.hold(16..<17, use: 1) { reached.append($0) }
    #expect(reached == [1, 2])
  }

  @Test("however readers and the one who gives up meet, what a reader holds is there")
  func races() async {
    let words = words(pieces: 8, verified: Array(0..<8))
    let isThere = Locked(true)
    let wrong = Locked(0)
    let held = Locked(0)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          for _ in 0..<20_000 {
            let end = words.hold(2..<5, use: 1) { _ in }
            guard end > 2 else { continue }
            if !isThere.current { wrong.withLock { $0 += 1 } }
            held.withLock { $0 += 1 }
            words.release(2..<end)
          }
        }
      }
      group.addTask {
        for _ in 0..<20_000 where words.clear(0) {
          isThere.withLock { $0 = false }
          isThere.withLock { $0 = true }
          for piece in 0..<8 { words.setVerified(piece) }
        }
      }
    }
    #expect(wrong.current == 0)
    #expect(held.current > 0)
    #expect(!words.isHeld(0))
  }
}
