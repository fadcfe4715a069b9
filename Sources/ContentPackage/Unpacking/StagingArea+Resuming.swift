import CoreTypes
import Crypto
import Files
import SystemCalls

/// Resuming: the files and pieces of an earlier process are found by reading them. Nothing else is believed,
/// so that it does not matter whether the machine, the medium or only the process has started anew.
extension StagingArea {
  mutating func recover() throws {
    try spool.recover()
    let lengths = try lengthsOfFiles()
    try recoverSpooled()
    var readers = OpenFiles()
    for piece in pieces.layout.indices where !pieces.isVerified(piece) {
      if try isThere(piece, lengths, &readers) { pieces.markVerified(piece) }
    }
    try recoverDeflated(lengths)
    try recoverVouched(lengths)
    for index in manifest.files.indices where manifest.files[index].method == .deflated {
      if plan.pieces(of: index).contains(where: { pieces.isVerified($0) }) { try inflate(index) }
    }
    try dropVouched()
    publish()
  }

  /// Returns the lengths of the files in the tree, -1 for none. Removes a file that is longer than the
  /// manifest's: it is another one.
  private mutating func lengthsOfFiles() throws -> [Int64] {
    var lengths: [Int64] = []
    for (index, file) in manifest.files.enumerated() {
      try Task.checkCancellation()
      let status = try tree.statusOfFile(at: file.path)
      // One that has no other name by now is read after the last write by it.
      if let status, status.linkCount > 1 { shared.insert(index) }
      lengths.append(try lengthOfKnownFile(file, found: status?.length.rawValue ?? -1))
    }
    return lengths
  }

  private func lengthOfKnownFile(_ file: ManifestFile, found length: Int64) throws(SystemError) -> Int64 {
    guard length > file.length.rawValue else { return length }
    try tree.withParent(of: file.path.segments[...], creating: false) {
      directory, name throws(SystemError) in
      try directory.removeFile(name)
    }
    return -1
  }

  /// Pieces that lie in the spool; their bytes of stored files are written again, since those may be damaged alone.
  private mutating func recoverSpooled() throws {
    for index in spool.pieces.sorted() {
      try Task.checkCancellation()
      guard index < pieces.layout.count,
        let bytes = try spool.bytes(of: index, count: pieces.layout.length(of: index))
      else {
        try spool.drop(index)
        continue
      }
      var received = ReceivedPiece(index: index, layout: manifest.layout)
      _ = received.append(bytes.span)
      guard let piece = try? VerifiedPiece(received, of: manifest) else {
        try spool.drop(index)
        continue
      }
      try putStored(piece)
      pieces.markVerified(index)
    }
  }

  /// Puts the piece together from stored files and gaps, and compares its digest.
  private mutating func isThere(
    _ piece: Int, _ lengths: [Int64], _ readers: inout OpenFiles
  ) throws -> Bool {
    let slices = plan.slices(of: piece)
    let isReadable = slices.allSatisfy { slice in
      guard case .file(let write) = slice else { return true }
      return manifest.files[write.file].method == .stored
        && lengths[write.file] >= write.offset + Int64(write.slice.count)
    }
    guard isReadable else { return false }
    try Task.checkCancellation()
    var hasher = SHA256Hasher()
    var buffer: [UInt8] = []
    for slice in slices {
      buffer.removeAll(keepingCapacity: true)
      switch slice {
      case .gap(let gap):
        guard try spool.readGap(gap.slice.count, at: gap.offset, into: &buffer) else { return false }
      case .file(let write):
        let path = manifest.files[write.file].path
        let file = try readers.file(write.file) { () throws(SystemError) in try tree.openFile(at: path) }
        let isReadable = try operations.readIfReadable(
          upTo: write.slice.count, of: file.descriptor, at: ByteCount(write.offset), into: &buffer)
        guard isReadable, buffer.count == write.slice.count else { return false }
      }
      hasher.update(buffer.span)
    }
    return hasher.finalize() == manifest.pieces[piece]
  }

  /// Deflated files that are whole, and those whose inflation can be taken up again.
  private mutating func recoverDeflated(_ lengths: [Int64]) throws {
    for index in manifest.files.indices {
      let file = manifest.files[index]
      guard file.method == .deflated, lengths[index] >= 0, file.storedLength > .zero else { continue }
      if try isWhole(index, lengths) {
        isUnpacked[index] = true
        continue
      }
      let checkpoint = try spool.checkpoint(of: index) { length in
        guard length <= lengths[index] else { return nil }
        return try tree.hasher(of: file.path, length: length)
      }
      guard let checkpoint, checkpoint.position <= file.storedLength.rawValue else { continue }
      inflating[index] = try InflatingFile(
        file, into: try tree.openForWriting(at: file.path), resumingAt: checkpoint, operations: operations,
        noting: marker(of: index))
      checkpoints[index] = checkpoint.position
    }
  }

  /// Pieces of which every file with a byte in them vouches.
  private mutating func recoverVouched(_ lengths: [Int64]) throws {
    var known: [Int: Bool] = [:]
    for piece in pieces.layout.indices where !pieces.isVerified(piece) {
      let isVouched = try isVouched(piece) { file in
        if let answer = known[file] { return answer }
        let answer = try isWhole(file, lengths)
        known[file] = answer
        return answer
      }
      if isVouched { pieces.markVerified(piece) }
    }
  }

  private func isWhole(_ index: Int, _ lengths: [Int64]) throws -> Bool {
    let file = manifest.files[index]
    guard lengths[index] == file.length.rawValue else { return false }
    return try tree.hasher(of: file.path, length: file.length.rawValue)?.finalize() == file.digest
  }
}

extension PieceLayout {
  /// The indices of all pieces, in order.
  fileprivate var indices: Range<Int> { 0..<count }
}
