import CoreTypes
import Testing

@testable import ContentPackage

@Suite("Pieces and their map")
struct PieceMapTests {
  private static let mebibyte: Int64 = 1_048_576

  @Test(
    "a package has as many pieces as begun MiB",
    arguments: [
      (0, 0), (1, 1), (1_048_576, 1), (1_048_577, 2), (2_147_483_648, 2048), (4_294_967_297, 4097),
    ] as [(Int64, Int)])
  func count(_ length: Int64, _ count: Int) {
    #expect(PieceLayout(packageLength: ByteCount(length)).count == count)
  }

  @Test("the last piece is as long as what is left")
  func lastPiece() {
    let layout = PieceLayout(packageLength: ByteCount(Self.mebibyte * 2 + 5))
    #expect(layout.range(of: 1) == Self.mebibyte..<Self.mebibyte * 2)
    #expect(layout.range(of: 2) == Self.mebibyte * 2..<Self.mebibyte * 2 + 5)
    #expect(layout.length(of: 2) == 5)
    #expect(layout.range(of: 1..<3) == Self.mebibyte..<Self.mebibyte * 2 + 5)
    #expect(layout.range(of: 2..<2).isEmpty)
  }

  @Test("the pieces that hold a range are those that share a byte with it")
  func holding() {
    let layout = PieceLayout(packageLength: ByteCount(Self.mebibyte * 3))
    #expect(layout.pieces(holding: 0..<1) == 0..<1)
    #expect(layout.pieces(holding: Self.mebibyte - 1..<Self.mebibyte + 1) == 0..<2)
    #expect(layout.pieces(holding: Self.mebibyte..<Self.mebibyte * 2) == 1..<2)
    #expect(layout.pieces(holding: 7..<7).isEmpty)
  }

  @Test("marking counts each piece once and the last one with its own length")
  func marking() {
    var map = PieceMap(layout: PieceLayout(packageLength: ByteCount(Self.mebibyte * 70 + 5)))
    #expect(map.nextMissingRun(from: 0) == 0..<71)
    map.markVerified(3)
    map.markVerified(3)
    #expect(map.verifiedCount == 1)
    #expect(map.bytesVerified == .mebibytes(1))
    map.markVerified(70)
    #expect(map.bytesVerified == ByteCount(Self.mebibyte + 5))
    map.markMissing(3)
    map.markMissing(3)
    #expect(map.bytesVerified == ByteCount(5))
    for piece in 0..<71 { map.markVerified(piece) }
    #expect(map.isComplete)
    #expect(map.bytesVerified == ByteCount(Self.mebibyte * 70 + 5))
    #expect(map.nextMissingRun(from: 0) == nil)
  }

  @Test("neighbours are joined into runs")
  func runs() {
    var map = PieceMap(layout: PieceLayout(packageLength: ByteCount(Self.mebibyte * 7 + 1)))
    for piece in [1, 2, 5] { map.markVerified(piece) }
    #expect(map.nextMissingRun(from: 0) == 0..<1)
    #expect(map.nextMissingRun(from: 1) == 3..<5)
    #expect(map.nextMissingRun(from: 4) == 4..<5)
    #expect(map.nextMissingRun(from: 6, maximumCount: 1) == 6..<7)
    #expect(map.nextMissingRun(from: 8) == nil)
  }
}
