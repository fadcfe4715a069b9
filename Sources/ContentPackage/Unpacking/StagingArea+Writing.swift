import CoreTypes
import SystemCalls

/// A piece whose bytes are being written.
struct PieceInProgress: Sendable {
  let piece: VerifiedPiece
  let parts: [PendingWrite]
}

/// Pieces on their way into the files. Each write waits for the device, so that the next piece begins while the last one is
/// being written; ``StagingArea/pieces`` has a piece once all of it is.
extension StagingArea {
  /// Pieces that are written at once.
  static let maximumInProgress = 2
  /// Parts that are given to the lanes at once: each keeps a file open.
  private static let maximumParts = 16

  /// Writes a piece to where its bytes belong and inflates what follows from it; then ``pieces`` has it. Writing one again
  /// changes nothing.
  public mutating func write(_ piece: VerifiedPiece) throws {
    _ = try begin(piece)
    _ = try finishWrites()
  }

  /// Begins to write a piece, as ``write(_:)`` does. Returns those, of this and the ones that were begun before, that are
  /// written, in their order: ``pieces`` has them. After an error nothing is being written any more, and what was is in doubt.
  public mutating func begin(_ piece: VerifiedPiece) throws -> [VerifiedPiece] {
    precondition(piece.index < pieces.layout.count, "the piece is another package's")
    var finished: [VerifiedPiece] = []
    if inProgress.contains(where: { $0.piece.index == piece.index }) { finished = try finishWrites() }
    guard !pieces.isVerified(piece.index) else { return finished + [piece] }
    let writes = plan.writes(for: piece.index).filter { !isUnpacked[$0.file] }
    guard writes.allSatisfy({ manifest.files[$0.file].method == .stored }) else {
      finished += try finishWrites()
      try writeInflating(piece, writes)
      return finished + [piece]
    }
    while inProgress.count >= Self.maximumInProgress { finished.append(try finishFirst()) }
    do {
      for gap in plan.gaps(in: piece.index) {
        try spool.keepGap(piece.bytes.span.extracting(gap.slice), at: gap.offset)
      }
      inProgress.append(PieceInProgress(piece: piece, parts: try start(writes, of: piece)))
    } catch {
      waitForAll()
      throw error
    }
    return finished
  }

  /// Waits until all is written that was begun; returns those pieces in their order. Throws as ``begin(_:)`` does.
  public mutating func finishWrites() throws -> [VerifiedPiece] {
    var finished: [VerifiedPiece] = []
    while !inProgress.isEmpty { finished.append(try finishFirst()) }
    return finished
  }

  private mutating func finishFirst() throws -> VerifiedPiece {
    let first = inProgress.removeFirst()
    do {
      try Self.wait(for: first.parts)
      try note(first.piece.index)
    } catch {
      waitForAll()
      throw error
    }
    return first.piece
  }

  /// The piece is written.
  private mutating func note(_ piece: Int) throws(SystemError) {
    let completed = plan.filesCompleted(by: piece, in: pieces)
    pieces.markVerified(piece)
    for file in completed { openFiles.close(file) }
    try dropVouched()
    publish()
  }

  /// Writes a piece that has bytes of deflated files. The spool holds it until those bytes can be inflated.
  private mutating func writeInflating(_ piece: VerifiedPiece, _ writes: [UnpackPlan.Write]) throws {
    let completed = Set(plan.filesCompleted(by: piece.index, in: pieces))
    try putStored(piece)
    if !writes.allSatisfy({ completed.contains($0.file) }) {
      try spool.keep(piece.bytes.span, of: piece.index)
    }
    pieces.markVerified(piece.index)
    for write in writes where manifest.files[write.file].method == .deflated {
      do {
        try inflate(write.file, having: piece)
      } catch {
        pieces.markMissing(piece.index)
        throw error
      }
    }
    for file in completed { openFiles.close(file) }
    try dropVouched()
    publish()
  }

  /// Writes the piece's bytes of stored files.
  mutating func putStored(_ piece: VerifiedPiece) throws(SystemError) {
    let writes = plan.writes(for: piece.index).filter {
      !isUnpacked[$0.file] && manifest.files[$0.file].method == .stored
    }
    try Self.wait(for: try start(writes, of: piece))
  }

  /// Gives the parts to the lanes. Where it throws, none of them is being written any more.
  private mutating func start(
    _ writes: [UnpackPlan.Write], of piece: VerifiedPiece
  ) throws(SystemError) -> [PendingWrite] {
    let lanes = self.lanes ?? WriteLanes()
    self.lanes = lanes
    var pending: [PendingWrite] = []
    do throws(SystemError) {
      for first in stride(from: 0, to: writes.count, by: Self.maximumParts) {
        try Self.wait(for: pending)
        pending = []
        var parts: [StoredPart] = []
        for write in writes[first..<min(first + Self.maximumParts, writes.count)] {
          let entry = manifest.files[write.file]
          let file = try openFiles.file(write.file) { () throws(SystemError) in
            try tree.openForWriting(at: entry.path)
          }
          parts.append(
            StoredPart(
              write, of: piece, length: entry.length.rawValue, file: file, operations: operations))
        }
        pending = lanes.start(parts)
      }
    } catch {
      try? Self.wait(for: pending)
      throw error
    }
    return pending
  }

  /// Returns once all of them are over; the first error is the one that explains.
  private static func wait(for parts: [PendingWrite]) throws(SystemError) {
    var failure: SystemError?
    for part in parts {
      do throws(SystemError) { try part.get() } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  private mutating func waitForAll() {
    for entry in inProgress { try? Self.wait(for: entry.parts) }
    inProgress = []
  }

  /// Closes the files that are open for writing; writing opens them again.
  public mutating func closeFiles() {
    waitForAll()
    openFiles.closeAll()
    lanes = nil
  }
}
