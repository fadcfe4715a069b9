import CoreTypes
import Crypto
package import Files
import Synchronization
package import SystemCalls

/// A file of a package on its way, opened for reading beside the staging area's owner. Its bytes count once they were read here and are
/// the manifest's: by the digest of their piece, by that of the whole file, or, while the file is being inflated, by a hasher that went over
/// them as they were written. The file stays readable when the content is moved to its place. Calls that read block.
package final class StagedFile: Sendable {
  /// How a look at bytes has ended.
  package enum Finding: Hashable, Sendable {
    /// The byte may be sent, and what follows it up to ``StagedFile/checkedEnd(from:)``.
    case checked
    /// It is not there, or nothing can tell yet whether it is right.
    case missing
    /// Other bytes lie there. The owner has been told.
    case damaged
  }

  private struct State {
    /// Ascending, with a gap between any two.
    var checked: [Range<Int64>] = []
    /// The place up to which a file that is being inflated is checked.
    var mark = StagedExtents.Mark(length: 0, hasher: SHA256Hasher())
  }

  /// The file's number in the manifest.
  package let index: Int
  package let extents: StagedExtents
  private let path: String
  private let operations: any FileOperations
  private let tree: Directory
  private let descriptor: FileDescriptor
  private let state = Mutex(State())

  /// Opens the file of that number in the staging area at `path`. Throws an error that `isFileMissing` before its first byte is there.
  package init(
    opening index: Int, of extents: StagedExtents, in path: String,
    operations: any FileOperations = SystemFileOperations()
  ) throws(SystemError) {
    let tree = try Directory(opening: "\(path)/\(StagingArea.treeName)", operations: operations)
    descriptor = try tree.openFile(at: extents.manifest.files[index].path)
    self.tree = tree
    self.index = index
    self.extents = extents
    self.path = path
    self.operations = operations
  }

  private var file: ManifestFile { extents.manifest.files[index] }

  /// A descriptor of the open file for sending.
  package func duplicateDescriptor() throws(SystemError) -> FileDescriptor { try descriptor.duplicate() }

  /// Where the checked bytes end that begin at `offset`; `offset` itself where its byte is not checked.
  package func checkedEnd(from offset: Int64) -> Int64 {
    state.locked { state in
      state.checked.first { $0.contains(offset) }?.upperBound ?? offset
    }
  }

  /// Reads and compares what holds the byte at `offset`. Blocks. Throws what reading throws.
  package func check(at offset: Int64) throws(SystemError) -> Finding {
    if checkedEnd(from: offset) > offset { return .checked }
    guard extents.end(of: index, from: offset) > offset else { return .missing }
    switch extents.state(of: index) {
    case .whole: return try checkWhole()
    case .inflated(let marks): return try checkInflated(marks, at: offset)
    case .pieces:
      let isShort = file.length.rawValue <= StagedExtents.wholeLength
      if isShort, extents.hasEveryPiece(of: index) { return try checkWhole() }
      return try checkPiece(at: offset)
    }
  }

  private func checkWhole() throws(SystemError) -> Finding {
    var hasher = SHA256Hasher()
    guard try read(0..<file.length.rawValue, { hasher.update($0) }), hasher.finalize() == file.digest else {
      extents.noteDamaged(.file(index))
      return .damaged
    }
    note(0..<file.length.rawValue)
    return .checked
  }

  /// Goes on from the last mark that was reached, to the first behind `offset`.
  private func checkInflated(_ marks: [StagedExtents.Mark], at offset: Int64) throws(SystemError) -> Finding {
    var mark = state.locked { $0.mark }
    while mark.length <= offset {
      let position = mark.length
      guard let next = marks.first(where: { $0.length > position }) else { return .missing }
      guard try read(position..<next.length, { mark.hasher.update($0) }),
        mark.hasher.finalize() == next.hasher.finalize()
      else {
        extents.noteDamaged(.file(index))
        return .damaged
      }
      mark.length = next.length
    }
    let reached = mark
    state.locked { state in
      if state.mark.length < reached.length { state.mark = reached }
    }
    note(0..<mark.length)
    return .checked
  }

  private func checkPiece(at offset: Int64) throws(SystemError) -> Finding {
    let piece = Int((file.offset.rawValue + offset) / PieceLayout.pieceLength.rawValue)
    let slices = extents.plan.slices(of: piece)
    let own = slices.lazy.compactMap { [index] slice -> UnpackPlan.Write? in
      guard case .file(let write) = slice, write.file == index else { return nil }
      return write
    }.first
    guard let own else { return .missing }
    let isPacked = slices.contains { slice in
      guard case .file(let write) = slice else { return false }
      return extents.manifest.files[write.file].method == .deflated
    }
    guard try isPacked ? isRightInSpool(piece, own) : isRight(piece, slices) else {
      // Without the bytes between the files only the whole can tell.
      if extents.hasEveryPiece(of: index) { return try checkWhole() }
      guard !isPacked else { return .missing }
      extents.noteDamaged(.piece(piece))
      return .damaged
    }
    note(own.offset..<own.offset + Int64(own.slice.count))
    return .checked
  }

  /// Puts the piece together from the files that have bytes in it, and from what lies between them.
  private func isRight(_ piece: Int, _ slices: [UnpackPlan.Slice]) throws(SystemError) -> Bool {
    var hasher = SHA256Hasher()
    var buffer: [UInt8] = []
    guard let directory = try openSpool() else { return false }
    var spool = Spool(directory, isReadOnly: true)
    for slice in slices {
      switch slice {
      case .gap(let gap):
        buffer.removeAll(keepingCapacity: true)
        guard try spool.readGap(gap.slice.count, at: gap.offset, into: &buffer) else { return false }
        hasher.update(buffer.span)
      case .file(let write):
        let range = write.offset..<write.offset + Int64(write.slice.count)
        let isThere: Bool
        if write.file == index {
          isThere = try read(range) { hasher.update($0) }
        } else {
          let other = try openIfThere(extents.manifest.files[write.file].path)
          guard let other else { return false }
          isThere = try read(range, of: other.descriptor) { hasher.update($0) }
        }
        guard isThere else { return false }
      }
    }
    return hasher.finalize() == extents.manifest.pieces[piece]
  }

  /// A piece with bytes of a deflated file lies in the spool while one of its files is not whole.
  private func isRightInSpool(_ piece: Int, _ own: UnpackPlan.Write) throws(SystemError) -> Bool {
    var packed: [UInt8] = []
    let length = extents.manifest.layout.length(of: piece)
    guard let spool = try openSpool() else { return false }
    do throws(SystemError) {
      let kept = try spool.open(Spool.name(ofPiece: piece), .readOnly)
      guard try operations.readIfReadable(upTo: length, of: kept, at: .zero, into: &packed) else {
        return false
      }
    } catch {
      guard error.isFileMissing else { throw error }
      return false
    }
    guard packed.count == length, SHA256Digest.of(packed) == extents.manifest.pieces[piece] else {
      return false
    }
    var hasher = SHA256Hasher()
    hasher.update(packed.span.extracting(own.slice))
    var found = SHA256Hasher()
    return try read(own.offset..<own.offset + Int64(own.slice.count)) { found.update($0) }
      && found.finalize() == hasher.finalize()
  }

  /// Nil once the content is at its place.
  private func openSpool() throws(SystemError) -> Directory? {
    do throws(SystemError) {
      return try Directory(opening: "\(path)/\(StagingArea.spoolName)", operations: operations)
    } catch {
      guard error.isFileMissing else { throw error }
      return nil
    }
  }

  private func openIfThere(_ path: PackagePath) throws(SystemError) -> OpenFiles.File? {
    do throws(SystemError) {
      return OpenFiles.File(try tree.openFile(at: path))
    } catch {
      guard error.isFileMissing else { throw error }
      return nil
    }
  }

  private func read(
    _ range: Range<Int64>, _ body: (Span<UInt8>) -> Void
  ) throws(SystemError) -> Bool {
    try read(range, of: descriptor, body)
  }

  /// False where the file ends before, or the device does not give the bytes back.
  private func read(
    _ range: Range<Int64>, of file: borrowing FileDescriptor, _ body: (Span<UInt8>) -> Void
  ) throws(SystemError) -> Bool {
    var buffer: [UInt8] = []
    var position = range.lowerBound
    while position < range.upperBound {
      let count = Int(min(Int64(FileDigest.bufferLength), range.upperBound - position))
      buffer.removeAll(keepingCapacity: true)
      let isReadable = try operations.readIfReadable(
        upTo: count, of: file, at: ByteCount(position), into: &buffer)
      guard isReadable, buffer.count == count else { return false }
      body(buffer.span)
      position += Int64(count)
    }
    return true
  }

  private func note(_ range: Range<Int64>) {
    guard !range.isEmpty else { return }
    state.locked { state in
      var merged = range
      state.checked.removeAll { known in
        guard known.lowerBound <= merged.upperBound, merged.lowerBound <= known.upperBound else {
          return false
        }
        merged = min(known.lowerBound, merged.lowerBound)..<max(known.upperBound, merged.upperBound)
        return true
      }
      let place = state.checked.firstIndex { $0.lowerBound > merged.lowerBound } ?? state.checked.endIndex
      state.checked.insert(merged, at: place)
    }
  }
}
