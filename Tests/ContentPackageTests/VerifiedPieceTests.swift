import PackageTesting
import Testing

@testable import ContentPackage

@Suite("Verified pieces")
struct VerifiedPieceTests {
  @Test("the bytes that the manifest lists become a verified piece")
  func verified() throws {
    let sample = try Sample.shared.get()
    for index in 0..<sample.manifest.pieces.count {
      #expect(try sample.verifiedPiece(index).bytes.count == sample.manifest.layout.length(of: index))
    }
  }

  @Test("one changed bit, anywhere, and it never becomes one", arguments: [0, 1, 524_288, 1_048_575])
  func corrupted(_ position: Int) throws {
    let sample = try Sample.shared.get()
    var bytes = Array(sample.package[..<1_048_576])
    bytes[position] ^= 0x10
    var piece = ReceivedPiece(index: 0, layout: sample.manifest.layout)
    _ = piece.append(bytes.span)
    #expect(throws: PieceMismatch(index: 0, reason: .otherBytes)) {
      try VerifiedPiece(piece, of: sample.manifest)
    }
  }

  @Test("another piece's bytes are refused")
  func otherPiece() throws {
    let sample = try Sample.shared.get()
    var piece = ReceivedPiece(index: 1, layout: sample.manifest.layout)
    let bytes = Array(sample.package[..<1_048_576])
    _ = piece.append(bytes.span)
    #expect(throws: PieceMismatch(index: 1, reason: .otherBytes)) {
      try VerifiedPiece(piece, of: sample.manifest)
    }
  }

  @Test("a piece takes what it misses and no more, and counts only when whole")
  func filling() throws {
    let sample = try Sample.shared.get()
    var piece = ReceivedPiece(index: 0, layout: sample.manifest.layout, reusing: [1, 2, 3])
    let first = Array(sample.package[..<1_000_000])
    let rest = Array(sample.package[1_000_000...])
    #expect(piece.append(first.span) == 1_000_000)
    #expect(piece.missingCount == 48_576)
    #expect(throws: PieceMismatch(index: 0, reason: .notWhole)) {
      try VerifiedPiece(piece, of: sample.manifest)
    }
    #expect(piece.append(rest.span) == 48_576)
    #expect(piece.append(rest.span) == 0)
    #expect(piece.isWhole)
    #expect(try VerifiedPiece(piece, of: sample.manifest).bytes == Array(sample.package[..<1_048_576]))
  }
}
