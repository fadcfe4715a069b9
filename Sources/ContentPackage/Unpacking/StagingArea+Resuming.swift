import CoreTypes
import Crypto
import SystemCalls

extension StagingArea {
  /// Compares the map with what is on disk and takes back what is not there; unpacks what is whole but was not unpacked.
  mutating func reconcile(_ resumption: Resumption) throws {
    guard pieces.verifiedCount > 0 else { return }
    for index in manifest.files.indices {
      let range = plan.pieces(of: index)
      guard range.contains(where: { pieces.isVerified($0) }) else { continue }
      switch manifest.files[index].method {
      case .stored: try reconcileStored(index, pieces: range, resumption: resumption)
      case .deflated: try reconcileDeflated(index, pieces: range, resumption: resumption)
      }
    }
    // Only now is it certain which files still have all their pieces.
    for index in manifest.files.indices where manifest.files[index].method == .deflated {
      if !isUnpacked[index], pieces.areAllVerified(plan.pieces(of: index)) { try unpackOrForget(index) }
    }
  }

  private mutating func reconcileStored(
    _ index: Int, pieces range: Range<Int>, resumption: Resumption
  ) throws {
    let file = manifest.files[index]
    let length = try tree.lengthOfFile(at: file.path) ?? -1
    guard length <= file.length.rawValue, keepWhatIsThere(range, of: index, length: length, resumption) else {
      return forget(range)
    }
    guard resumption == .afterRestart else { return }
    let descriptor = try tree.openFile(at: file.path)
    if pieces.areAllVerified(range),
      try FileDigest.of(descriptor, in: 0..<file.length.rawValue) == file.digest
    {
      return
    }
    try confirmPieces(range, of: index, in: descriptor)
  }

  private mutating func reconcileDeflated(
    _ index: Int, pieces range: Range<Int>, resumption: Resumption
  ) throws {
    let file = manifest.files[index]
    let name = String(index)
    if let length = try spool.lengthOfFile(named: name) {
      guard keepWhatIsThere(range, of: index, length: length, resumption) else { return forget(range) }
      if resumption == .afterRestart, !pieces.areAllVerified(range) {
        try confirmPieces(range, of: index, in: try spool.open(name, .readOnly))
      }
      return
    }
    // Without a spool the file was unpacked, maybe just before its last piece was noted down.
    guard try tree.lengthOfFile(at: file.path) == file.length.rawValue,
      try FileDigest.of(try tree.openFile(at: file.path), in: 0..<file.length.rawValue) == file.digest
    else { return forget(range) }
    isUnpacked[index] = true
  }

  /// Whether the file is as long as its pieces need. After a restart of the machine a file that is too short was cut where
  /// it was not synced: the pieces behind the cut count as missing, and those before it are still worth a look.
  private mutating func keepWhatIsThere(
    _ range: Range<Int>, of index: Int, length: Int64, _ resumption: Resumption
  ) -> Bool {
    if length >= neededLength(of: index, range) { return true }
    guard resumption == .afterRestart, length > 0 else { return false }
    let stored = manifest.files[index].storedRange
    for piece in range
    where stored.clamped(to: pieces.layout.range(of: piece)).upperBound - stored.lowerBound > length {
      pieces.markMissing(piece)
    }
    return true
  }

  /// Pieces that lie in this file alone are compared with their digests; those it shares cannot be, their other bytes
  /// (headers) are not on disk, and count as missing.
  private mutating func confirmPieces(
    _ range: Range<Int>, of index: Int, in descriptor: borrowing FileDescriptor
  ) throws {
    let stored = manifest.files[index].storedRange
    for piece in range where pieces.isVerified(piece) {
      let bytes = pieces.layout.range(of: piece)
      let inFile = (bytes.lowerBound - stored.lowerBound)..<(bytes.upperBound - stored.lowerBound)
      if stored.clamped(to: bytes) == bytes,
        try FileDigest.of(descriptor, in: inFile) == manifest.pieces[piece]
      {
        continue
      }
      pieces.markMissing(piece)
    }
  }

  private mutating func unpackOrForget(_ index: Int) throws {
    do {
      try unpackIfDeflated(index)
    } catch is PackageValidationError {
      // What lies in the spool is not what was verified; it is fetched again.
      try spool.removeFile(String(index))
      forget(plan.pieces(of: index))
    }
  }

  private mutating func forget(_ range: Range<Int>) {
    for piece in range { pieces.markMissing(piece) }
  }

  /// How long the file's stored bytes must be at least, given the pieces that are said to be written.
  private func neededLength(of index: Int, _ range: Range<Int>) -> Int64 {
    guard let last = range.last(where: { pieces.isVerified($0) }) else { return 0 }
    let stored = manifest.files[index].storedRange
    return min(pieces.layout.range(of: last).upperBound, stored.upperBound) - stored.lowerBound
  }
}
