import ContentPackage
import CoreTypes
import PackageTesting
import PullboxTesting
import Testing

@testable import ContentLibrary

/// Which pieces are asked for next, without a network.
@Suite struct PieceOrderTests {
  private func map(_ count: Int, verified: some Sequence<Int> = []) -> PieceMap {
    var map = PieceMap(layout: PieceLayout(packageLength: .mebibytes(Int64(count))))
    for piece in verified { map.markVerified(piece) }
    return map
  }

  @Test("where nobody reads, pieces come in the server's order") func unread() {
    let order = PieceOrder()
    #expect(order.isEmpty)
    #expect(order.nextRun(in: map(10), from: 0) == 0..<10)
    #expect(order.nextRun(in: map(10, verified: 4..<6), from: 6) == 6..<10)
    #expect(order.nextRun(in: map(10, verified: 4..<10), from: 10) == 0..<4)
    #expect(order.nextRun(in: map(3, verified: 0..<3), from: 0) == nil)
    #expect(!order.cuts(0..<10, at: 3, in: map(10)))
  }

  @Test("a piece that the chosen sections do not need is asked for by no reader either") func sections()
    throws
  {
    let manifest = try FixturePackage.inSections().manifest
    let required = PieceMap(manifest.selecting([]))
    let needed = (0..<manifest.layout.count).filter(required.isNeeded)
    #expect(needed == [0, 1, 2] && manifest.layout.count > 3)
    #expect(PieceOrder(wanted: [2..<5], ahead: [3, 4]).nextRun(in: required, from: 0) == 2..<3)
    #expect(PieceOrder(wanted: [4..<5]).nextRun(in: required, from: 0) == 0..<3)
    #expect(!PieceOrder(wanted: [4..<5]).cuts(0..<3, at: 0, in: required))
  }

  @Test("what is waited for goes first, then what is read behind it, then the rest") func classes() {
    let order = PieceOrder(wanted: [50..<52], ahead: [50, 51, 20, 21])
    #expect(order.nextRun(in: map(100), from: 0) == 50..<52)
    #expect(order.nextRun(in: map(100, verified: 50..<52), from: 52) == 20..<50)
    #expect(order.nextRun(in: map(100, verified: [20, 21, 50, 51]), from: 52) == 52..<100)
  }

  @Test("one request brings all that lies behind each other, to the end of what is missing") func joined() {
    let order = PieceOrder(wanted: [50..<52], ahead: Array(50..<66))
    #expect(order.nextRun(in: map(100, verified: 0..<10), from: 10) == 50..<100)
    #expect(order.nextRun(in: map(100, verified: 70..<80), from: 10) == 50..<70)
  }

  @Test("of two that wait, the one that asked first goes first") func turns() {
    let order = PieceOrder(wanted: [90..<91, 10..<12])
    #expect(order.nextRun(in: map(100), from: 0) == 90..<91)
    #expect(order.nextRun(in: map(100, verified: [90]), from: 91) == 10..<90)
  }

  @Test("a run is cut short where it does not bring soon what is waited for") func cuts() {
    let wanted = PieceOrder(wanted: [50..<52])
    #expect(wanted.cuts(0..<100, at: 10, in: map(100, verified: 0..<10)))
    #expect(!wanted.cuts(0..<100, at: 48, in: map(100)), "it comes in a moment")
    #expect(wanted.cuts(0..<49, at: 48, in: map(100)), "the run ends before")
    #expect(!wanted.cuts(50..<100, at: 51, in: map(100)), "it is coming")
    #expect(!wanted.cuts(50..<100, at: 52, in: map(100)), "it has come and is being written")
    #expect(!wanted.cuts(0..<100, at: 10, in: map(100, verified: 50..<52)), "it is there")
    #expect(wanted.cuts(0..<100, at: 60, in: map(100, verified: 50..<51), lost: [51]), "it was damaged")
  }

  @Test("a run that brings what one waits for is not cut for another who asked later") func fair() {
    let order = PieceOrder(wanted: [10..<14, 80..<81])
    #expect(!order.cuts(10..<14, at: 12, in: map(100)))
    #expect(order.cuts(10..<100, at: 14, in: map(100, verified: 10..<14)))
  }

  @Test("what is read next cuts a run for its first pieces alone") func window() {
    let order = PieceOrder(ahead: Array(50..<66))
    #expect(order.cuts(0..<40, at: 10, in: map(100)))
    #expect(!order.cuts(0..<40, at: 10, in: map(100, verified: 50..<54)))
    #expect(!order.cuts(50..<100, at: 51, in: map(100)))
  }

  /// A transfer that brings a piece at a time, while readers ask and give up at random. Whatever they do, all pieces come, none twice
  /// but the one that a cut leaves behind, and what is waited for comes after no more others than those asked for before.
  @Test("a transfer with readers ends, and brings what is waited for first", arguments: UInt64(1)...60)
  func model(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let count = Int.random(in: 1...120, using: &random)
    var pieces = map(count)
    var order = PieceOrder()
    var (position, runs, cutCount, asked) = (0, 0, 0, 0)
    /// Others that came since a piece was first wanted.
    var waited: [Int: Int] = [:]
    while let run = order.nextRun(in: pieces, from: position) {
      runs += 1
      try #require(runs <= 2 * count + 4 * asked + 4, "seed \(seed)")
      position = run.upperBound
      var piece = run.lowerBound
      while piece < run.upperBound {
        if asked < 200, Int.random(in: 0..<4, using: &random) == 0 {
          asked += 1
          let start = Int.random(in: 0..<count, using: &random)
          let end = min(count, start + Int.random(in: 1...3, using: &random))
          order.wanted.append(start..<end)
          order.ahead = Array(start..<min(count, start + PieceOrder.windowLength))
        }
        if !order.wanted.isEmpty, Int.random(in: 0..<12, using: &random) == 0 {
          order.wanted.remove(at: Int.random(in: 0..<order.wanted.count, using: &random))
        }
        let missing = Set(order.wanted.joined().filter { !pieces.isVerified($0) })
        waited = waited.filter { missing.contains($0.key) }
        for wanted in missing { waited[wanted, default: 0] += 0 }
        if order.cuts(run, at: piece, in: pieces) {
          cutCount += 1
          break
        }
        if !pieces.isVerified(piece) {
          pieces.markVerified(piece)
          if !missing.contains(piece) { for wanted in missing { waited[wanted, default: 0] += 1 } }
        }
        piece += 1
        // What nobody waited for came at most while a wanted piece was about to come.
        let longest = waited.filter { !pieces.isVerified($0.key) }.values.max() ?? 0
        #expect(longest <= (PieceOrder.soonLength + 1) * (missing.count + 1), "seed \(seed)")
      }
      order.wanted.removeAll { pieces.areAllVerified($0) }
    }
    #expect(pieces.isComplete, "seed \(seed)")
    #expect(cutCount <= 4 * asked, "seed \(seed)")
  }

  @Test("pages are read in the manifest's order, and without one by path") func sequence() throws {
    let files = Dictionary(
      uniqueKeysWithValues: (1...4).map { ("page\($0).png", FixturePackage.noise(1 << 20, seed: UInt64($0))) }
    )
    let package = try FixturePackage.folder(of: files)
    let manifest = package.manifest
    let (plan, sequence) = (UnpackPlan(manifest), ReadingSequence(manifest))
    let order = manifest.files.indices.flatMap { Array(plan.pieces(of: $0)) }
    var seen: Set<Int> = []
    #expect(
      sequence.pieces(from: 0, of: 0, in: plan, count: 100) == order.filter { seen.insert($0).inserted })
    #expect(sequence.pieces(from: 0, of: 2, in: plan, count: 2) == Array(plan.pieces(of: 2).prefix(2)))
    let second = sequence.pieces(from: 1 << 20 - 1, of: 1, in: plan, count: 100)
    #expect(second.first == plan.pieces(of: 1).last)
  }
}
