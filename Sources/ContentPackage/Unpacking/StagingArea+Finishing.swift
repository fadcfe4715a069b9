import CoreTypes
import Crypto
import SystemCalls

extension StagingArea {
  /// Up to so many files are synced one by one; more cost less through one sync of the whole file system.
  private static let individualSyncLimit = 16

  /// Ends the work in the area: makes the files that have no bytes, sets permissions, and returns when everything is on
  /// the device. Every piece must be there.
  public consuming func finish() throws -> StagedContent {
    precondition(pieces.isComplete, "pieces are missing")
    closeFiles()
    for file in manifest.files where file.storedLength == .zero {
      _ = try tree.openForWriting(at: file.path)
    }
    try openUpDirectories()
    try FileSystem.removeRecursively("\(path)/\(Self.spoolName)")
    try synchronize()
    return StagedContent(manifest: manifest, stagingPath: path)
  }

  private func openUpDirectories() throws(SystemError) {
    try tree.openUp()
    for segments in directories {
      try withDirectory(segments) { directory throws(SystemError) in try directory.openUp() }
    }
  }

  private func synchronize() throws(SystemError) {
    guard manifest.files.count <= Self.individualSyncLimit else {
      return try FileSystem.synchronizeFileSystem(of: path)
    }
    for file in manifest.files { try tree.openFile(at: file.path).synchronize() }
    for segments in directories {
      try withDirectory(segments) { directory throws(SystemError) in try directory.synchronize() }
    }
    try tree.synchronize()
    try FileSystem.synchronizeDirectory(path)
  }

  private func withDirectory(
    _ segments: [Substring], _ body: (borrowing Directory) throws(SystemError) -> Void
  ) throws(SystemError) {
    try tree.withParent(of: segments[...], creating: false) { parent, name throws(SystemError) in
      try body(try parent.subdirectory(name))
    }
  }

  /// The directories that the files' paths imply, each once.
  private var directories: Set<[Substring]> {
    var directories: Set<[Substring]> = []
    for file in manifest.files {
      var segments = file.path.segments.dropLast()
      while !segments.isEmpty, directories.insert(Array(segments)).inserted { segments.removeLast() }
    }
    return directories
  }
}

extension StagingArea {
  /// Turns the whole spool of a deflated file into the file, and removes it. Killed at any point, it is done again: the
  /// spool goes last.
  mutating func unpackIfDeflated(_ index: Int) throws {
    let file = manifest.files[index]
    guard file.method == .deflated, !isUnpacked[index] else { return }
    let source = try spool.open(String(index), .readOnly)
    let target = try tree.replaceFile(at: file.path)
    var written: Int64 = 0
    let digest = try Inflation.run(source, range: 0..<file.storedLength.rawValue, of: file) { bytes in
      try target.write(bytes, at: ByteCount(written))
      written += Int64(bytes.count)
    }
    guard digest == file.digest else {
      throw PackageValidationError(
        .fileDigestMismatch, path: file.path.text, "the unpacked file is not the one the manifest lists")
    }
    try target.startWriteback(of: 0..<written)
    try spool.removeFile(String(index))
    isUnpacked[index] = true
  }
}
