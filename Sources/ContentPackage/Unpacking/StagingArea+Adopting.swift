public import CoreTypes
import Crypto
import SystemCalls

extension StagingArea {
  /// Takes over from content that is placed at `path` as `older` says: files with the digest of one of this package are
  /// linked, or copied where that cannot be, and count once their bytes were read and are right. Pieces that hold no byte
  /// of another file need not be fetched any more. In a single file, pieces are copied instead. Returns the bytes of the
  /// package in what was taken over; what cannot be is left to be fetched.
  public mutating func adopt(from older: Manifest, at path: String) throws -> ByteCount {
    let before = pieces.bytesVerified
    do throws(SystemError) {
      let source = try Directory(opening: path)
      if manifest.kind == .file, older.kind == .file {
        try copyPieces(of: older, in: source)
      } else {
        try linkFiles(of: older, in: source)
      }
    } catch {
      // The older content is gone, or not readable: everything is fetched.
      guard error.isFileMissing else { throw error }
    }
    return pieces.bytesVerified - before
  }

  private mutating func linkFiles(of older: Manifest, in source: borrowing Directory) throws(SystemError) {
    let known = Dictionary(older.files.map { ($0.digest, $0) }, uniquingKeysWith: { first, _ in first })
    var hasAny = false
    for (index, file) in manifest.files.enumerated() where !isUnpacked[index] && file.storedLength > .zero {
      guard let old = known[file.digest], old.length == file.length, try adopt(old, as: file, in: source)
      else {
        continue
      }
      isUnpacked[index] = true
      hasAny = true
    }
    guard hasAny else { return }
    for piece in 0..<pieces.layout.count
    where plan.files(in: piece..<piece + 1).allSatisfy({ isUnpacked[$0] }) {
      pieces.markVerified(piece)
    }
  }

  /// False when what lies there is not the file that the older manifest says, or nothing does.
  private func adopt(
    _ old: ManifestFile, as file: ManifestFile, in source: borrowing Directory
  ) throws(SystemError) -> Bool {
    guard try source.lengthOfFile(at: old.path) == old.length.rawValue else { return false }
    try tree.withParent(of: file.path.segments[...], creating: true) { target, name throws(SystemError) in
      if try target.lengthOfFile(named: name) != nil { try target.removeFile(name) }
      try source.withParent(of: old.path.segments[...], creating: false) {
        folder, oldName throws(SystemError) in
        try target.link(name, to: oldName, of: folder)
      }
    }
    let linked = try tree.openFile(at: file.path)
    if try Self.digest(of: linked, length: file.length.rawValue) == file.digest { return true }
    try tree.withParent(of: file.path.segments[...], creating: false) { target, name throws(SystemError) in
      _ = try target.removeFile(name)
    }
    return false
  }

  private static func digest(
    of file: borrowing FileDescriptor, length: Int64
  ) throws(SystemError) -> SHA256Digest? {
    var hasher = SHA256Hasher()
    var buffer: [UInt8] = []
    var position: Int64 = 0
    while position < length {
      buffer.removeAll(keepingCapacity: true)
      let count = Int(min(Int64(FileDigest.bufferLength), length - position))
      try file.read(upTo: count, at: ByteCount(position), into: &buffer)
      guard buffer.count == count else { return nil }
      hasher.update(buffer.span)
      position += Int64(count)
    }
    return hasher.finalize()
  }

  private mutating func copyPieces(of older: Manifest, in source: borrowing Directory) throws(SystemError) {
    guard let name = older.files.first, try source.lengthOfFile(at: name.path) == older.length.rawValue else {
      return
    }
    let file = try source.openFile(at: name.path)
    let known = Dictionary(
      older.pieces.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    for (index, digest) in manifest.pieces.enumerated() where !pieces.isVerified(index) {
      guard let old = known[digest] else { continue }
      let range = older.layout.range(of: old)
      var bytes: [UInt8] = []
      try file.read(upTo: range.count, at: ByteCount(range.lowerBound), into: &bytes)
      var received = ReceivedPiece(index: index, layout: manifest.layout)
      _ = received.append(bytes.span)
      do {
        try write(try VerifiedPiece(received, of: manifest))
      } catch let error as SystemError {
        throw error
      } catch {
        // Not the bytes that once were there: they are fetched.
        continue
      }
    }
  }
}
