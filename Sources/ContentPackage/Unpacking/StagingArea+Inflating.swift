import CoreTypes
import Crypto
import SystemCalls

/// Deflated files are inflated as their bytes come. The bytes of a piece stay in the spool for as long as no digest of a
/// file, and no checkpoint of an inflation, can vouch for the piece.
extension StagingArea {
  /// A checkpoint is written for the sake of so many pieces that it lets go.
  private static let checkpointInterval = 4

  /// Inflates what is there of a deflated file, in order; `piece` need not be in the spool. Where bytes that were read back
  /// turn out to be wrong, the file's pieces count as missing again.
  mutating func inflate(_ index: Int, having piece: VerifiedPiece? = nil) throws {
    guard !isUnpacked[index], let inflation = try inflation(of: index) else { return }
    let entry = manifest.files[index]
    do {
      while inflation.position < entry.storedLength.rawValue {
        let next = Int((entry.offset.rawValue + inflation.position) / PieceLayout.pieceLength.rawValue)
        guard pieces.isVerified(next) else { break }
        let slice = slice(of: entry, in: next, from: inflation.position)
        if let piece, piece.index == next {
          try inflation.append(piece.bytes.span.extracting(slice))
        } else {
          try Task.checkCancellation()
          inflation.noteReadingBack()
          guard let bytes = try spool.bytes(of: next, count: pieces.layout.length(of: next)) else {
            return try forget(index)
          }
          try inflation.append(bytes.span.extracting(slice))
        }
      }
      guard inflation.position == entry.storedLength.rawValue else {
        return try keepCheckpoint(of: index, inflation)
      }
      try inflation.finish()
    } catch let refusal as PackageValidationError {
      let isReadBack = inflation.isReadBack
      try forget(index)
      if isReadBack { return }
      throw refusal
    }
    inflating[index] = nil
    isUnpacked[index] = true
    if checkpoints.removeValue(forKey: index) != nil { try spool.removeCheckpoint(of: index) }
  }

  /// Nil while the file's first piece is missing.
  private mutating func inflation(of index: Int) throws -> InflatingFile? {
    if let known = inflating[index] { return known }
    guard pieces.isVerified(plan.pieces(of: index).lowerBound) else { return nil }
    let entry = manifest.files[index]
    let inflation = try InflatingFile(
      entry, into: try tree.replaceFile(at: entry.path), operations: operations, noting: marker(of: index))
    inflating[index] = inflation
    return inflation
  }

  /// The bytes of a piece that are those of the file from `position` of its stored bytes on.
  private func slice(of entry: ManifestFile, in piece: Int, from position: Int64) -> Range<Int> {
    let bytes = pieces.layout.range(of: piece)
    let end = min(bytes.upperBound, entry.storedRange.upperBound)
    return Int(entry.offset.rawValue + position - bytes.lowerBound)..<Int(end - bytes.lowerBound)
  }

  private mutating func keepCheckpoint(of index: Int, _ inflation: InflatingFile) throws(SystemError) {
    guard let checkpoint = inflation.checkpoint else { return }
    let kept = plan.pieces(of: index).prefix { end(of: index, in: $0) <= checkpoint.position }
      .count { spool.pieces.contains($0) }
    guard kept >= Self.checkpointInterval else { return }
    try spool.keep(checkpoint, of: index)
    checkpoints[index] = checkpoint.position
  }

  /// How many of the file's stored bytes there are up to the end of the piece.
  private func end(of file: Int, in piece: Int) -> Int64 {
    let stored = manifest.files[file].storedRange
    return min(pieces.layout.range(of: piece).upperBound, stored.upperBound) - stored.lowerBound
  }

  /// Whether the bytes in the tree are enough to tell later that the piece was there.
  func isVouched(_ piece: Int, storedFiles isWhole: (Int) throws -> Bool) rethrows -> Bool {
    let files = plan.files(in: piece..<piece + 1)
    return try !files.isEmpty
      && files.allSatisfy { file in
        if isUnpacked[file] { return true }
        switch manifest.files[file].method {
        case .stored: return try isWhole(file)
        case .deflated: return end(of: file, in: piece) <= checkpoints[file] ?? 0
        }
      }
  }

  /// Removes the pieces from the spool that are not needed there any more.
  mutating func dropVouched() throws(SystemError) {
    guard !spool.pieces.isEmpty else { return }
    for piece in spool.pieces.sorted()
    where isVouched(piece, storedFiles: { pieces.areAllVerified(plan.pieces(of: $0)) }) {
      try spool.drop(piece)
    }
    guard spool.pieces.count > Spool.pieceLimit else { return }
    // One block of a stream is longer than the spool. What is inflated goes; should the process end now, it is fetched again.
    for piece in spool.pieces.sorted() where isInflated(piece) && spool.pieces.count > Spool.pieceLimit {
      try spool.drop(piece)
    }
  }

  private func isInflated(_ piece: Int) -> Bool {
    plan.files(in: piece..<piece + 1).allSatisfy { file in
      isUnpacked[file] || manifest.files[file].method == .stored
        || end(of: file, in: piece) <= inflating[file]?.position ?? 0
    }
  }

  /// Lets all pieces of the file count as missing: of the bytes that were inflated, or kept for it, some are wrong.
  mutating func forget(_ index: Int) throws(SystemError) {
    inflating[index] = nil
    if checkpoints.removeValue(forKey: index) != nil { try spool.removeCheckpoint(of: index) }
    for piece in plan.pieces(of: index) {
      pieces.markMissing(piece)
      try spool.drop(piece)
    }
  }
}
