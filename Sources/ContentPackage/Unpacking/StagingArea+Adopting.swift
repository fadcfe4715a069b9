public import CoreTypes
import Crypto
import Files
import SystemCalls

extension StagingArea {
  /// Takes over from content that is placed at `path` as `older` says. Files with the digest of one of this package come as
  /// copies that share their bytes on the device, as second names of the same file, or as copies, whichever the file
  /// system has first; they count once their bytes were read and are right. Pieces that hold no byte of another file need
  /// not be fetched any more. In a single file, pieces are copied instead. Copies take `room` at most. Returns the bytes of
  /// the package in what was taken over; what cannot be is left to be fetched.
  ///
  /// `byPiece`: of stored files that are damaged there, the pieces that are right are copied. Once every source was asked for
  /// whole files.
  public mutating func adopt(
    from older: Manifest, at path: String, byPiece: Bool = false, room: ByteCount = ByteCount(Int64.max)
  ) throws -> ByteCount {
    let before = pieces.bytesVerified
    let source: Directory
    do throws(SystemError) {
      source = try Directory(opening: path, operations: operations)
    } catch {
      // The older content is gone: everything is fetched.
      guard error.isFileMissing || error.isUnreadable else { throw error }
      return .zero
    }
    if manifest.kind == .file, older.kind == .file {
      try copyPieces(of: older, in: source, room: room)
    } else if byPiece {
      try copyPiecesOfFiles(of: older, in: source, room: room)
    } else {
      try takeFiles(of: older, in: source, room: room)
    }
    publish()
    return pieces.bytesVerified - before
  }

  private mutating func takeFiles(
    of older: Manifest, in source: borrowing Directory, room: ByteCount
  ) throws {
    let known = Dictionary(older.files.map { ($0.digest, $0) }, uniquingKeysWith: { first, _ in first })
    var room = room
    for (index, file) in manifest.files.enumerated() where !isUnpacked[index] && file.storedLength > .zero {
      try Task.checkCancellation()
      guard let old = known[file.digest], old.length == file.length else { continue }
      // What was fetched of a file is not given up for one that may turn out to be damaged.
      if plan.pieces(of: index).contains(where: { pieces.isVerified($0) }) { continue }
      isUnpacked[index] = try take(old, as: index, in: source, room: &room)
    }
    for piece in 0..<pieces.layout.count
    where !pieces.isVerified(piece) && isVouched(piece, storedFiles: { _ in false }) {
      pieces.markVerified(piece)
    }
  }

  /// False when what lies there is not the file that the older manifest says, or nothing does, or it cannot be read, or no
  /// room is left for a copy.
  private mutating func take(
    _ old: ManifestFile, as index: Int, in source: borrowing Directory, room: inout ByteCount
  ) throws -> Bool {
    let file = manifest.files[index]
    let original: FileDescriptor
    do throws(SystemError) {
      guard try source.lengthOfFile(at: old.path) == old.length.rawValue else { return false }
      original = try source.openFile(at: old.path)
    } catch {
      return false
    }
    try removeFromTree(file.path)
    switch try share(original, of: old, as: file, in: source) {
    case .cloned: break
    case .linked: shared.insert(index)
    case nil:
      guard file.length <= room, try copy(original, as: file) else { return false }
      room = room - file.length
    }
    // Of a second name, these are the bytes that were there all along; of a copy, those that arrived.
    let digest: SHA256Digest?
    do {
      digest = try tree.hasher(of: file.path, length: file.length.rawValue)?.finalize()
    } catch is SystemError {
      digest = nil
    }
    if digest == file.digest { return true }
    try removeFromTree(file.path)
    return false
  }

  private enum Sharing {
    /// The bytes are shared until one of the files is written to.
    case cloned
    /// The file is.
    case linked
  }

  /// Nil where the file system has neither.
  private func share(
    _ original: borrowing FileDescriptor, of old: ManifestFile, as file: ManifestFile,
    in source: borrowing Directory
  ) throws(SystemError) -> Sharing? {
    try tree.withParent(of: file.path.segments[...], creating: true) { target, name throws(SystemError) in
      do throws(SystemError) {
        try target.clone(name, of: original, permissions: Directory.placedPermissions)
        return .cloned
      } catch {
        guard error.isUnsupported else { throw error }
      }
      do throws(SystemError) {
        try source.withParent(of: old.path.segments[...], creating: false) {
          folder, oldName throws(SystemError) in
          try target.link(name, to: oldName, of: folder)
        }
        return .linked
      } catch {
        guard error.isUnsupported else { throw error }
        return nil
      }
    }
  }

  /// False when the original cannot be read to its end.
  private func copy(_ original: borrowing FileDescriptor, as file: ManifestFile) throws -> Bool {
    let target = try tree.replaceFile(at: file.path)
    var buffer: [UInt8] = []
    var position: Int64 = 0
    while position < file.length.rawValue {
      try Task.checkCancellation()
      buffer.removeAll(keepingCapacity: true)
      do throws(SystemError) {
        try operations.read(
          upTo: FileDigest.bufferLength, of: original, at: ByteCount(position), into: &buffer)
      } catch {
        return false
      }
      guard !buffer.isEmpty else { return false }
      try operations.write(buffer.span, to: target, at: ByteCount(position))
      position += Int64(buffer.count)
    }
    return position == file.length.rawValue
  }

  func removeFromTree(_ path: PackagePath) throws(SystemError) {
    do {
      try tree.withParent(of: path.segments[...], creating: false) { directory, name throws(SystemError) in
        try directory.removeFile(name)
      }
    } catch {
      guard error.isFileMissing else { throw error }
    }
  }

  private mutating func copyPieces(
    of older: Manifest, in source: borrowing Directory, room: ByteCount
  ) throws {
    guard let name = older.files.first else { return }
    let file: FileDescriptor
    do throws(SystemError) {
      guard try source.lengthOfFile(at: name.path) == older.length.rawValue else { return }
      file = try source.openFile(at: name.path)
    } catch {
      return
    }
    let known = Dictionary(
      older.pieces.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    var room = room
    for (index, digest) in manifest.pieces.enumerated() where !pieces.isVerified(index) {
      guard let old = known[digest] else { continue }
      try copyPiece(index, from: file, at: older.layout.range(of: old).lowerBound, room: &room)
    }
  }

  /// Pieces that hold bytes of one stored file and nothing else.
  private mutating func copyPiecesOfFiles(
    of older: Manifest, in source: borrowing Directory, room: ByteCount
  ) throws {
    let known = Dictionary(older.files.map { ($0.digest, $0) }, uniquingKeysWith: { first, _ in first })
    var room = room
    for (index, file) in manifest.files.enumerated() where !isUnpacked[index] && file.method == .stored {
      let stored = file.storedRange
      let inner = plan.pieces(of: index).filter { piece in
        let range = manifest.layout.range(of: piece)
        return !pieces.isVerified(piece) && stored.lowerBound <= range.lowerBound
          && range.upperBound <= stored.upperBound
      }
      guard !inner.isEmpty, let old = known[file.digest] else { continue }
      let original: FileDescriptor
      do throws(SystemError) {
        guard try source.lengthOfFile(at: old.path) != nil else { continue }
        original = try source.openFile(at: old.path)
      } catch {
        continue
      }
      for piece in inner {
        let offset = manifest.layout.range(of: piece).lowerBound - stored.lowerBound
        try copyPiece(piece, from: original, at: offset, room: &room)
      }
    }
  }

  /// Where the bytes at `offset` are not the piece's, cannot be read, or find no room, the piece is left to be fetched.
  private mutating func copyPiece(
    _ index: Int, from file: borrowing FileDescriptor, at offset: Int64, room: inout ByteCount
  ) throws {
    try Task.checkCancellation()
    let count = manifest.layout.length(of: index)
    guard ByteCount(count) <= room else { return }
    var bytes: [UInt8] = []
    do throws(SystemError) {
      try operations.read(upTo: count, of: file, at: ByteCount(offset), into: &bytes)
    } catch {
      return
    }
    var received = ReceivedPiece(index: index, layout: manifest.layout)
    _ = received.append(bytes.span)
    guard let piece = try? VerifiedPiece(received, of: manifest) else { return }
    try write(piece)
    room = room - ByteCount(count)
  }
}
