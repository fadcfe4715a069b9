import CoreTypes
import Crypto
import Files
public import SystemCalls

extension StagingArea {
  /// Up to so many files are synced one by one; more cost less through one sync of the whole file system.
  private static let individualSyncLimit = 16

  /// So much is waited for at once, so that a slow device does not keep a task that was cancelled.
  private static let syncSlice: Int64 = 4 << 20
  /// Shorter files are left to the sync of the whole.
  private static let shortFileLength: Int64 = 256 << 10

  /// Ends the work in the area: makes the files that have no bytes, sets permissions, and returns when everything is on
  /// the device. Every piece must be there. Throws ``UnsyncedContent`` when the device did not take all. Of a task that was
  /// cancelled, no further sync begins.
  public consuming func finish() throws -> StagedContent {
    precondition(pieces.isComplete, "pieces are missing")
    closeFiles()
    for file in manifest.files where file.storedLength == .zero {
      _ = try tree.openForWriting(at: file.path)
    }
    try openUpDirectories()
    var synced: Set<Int> = []
    do {
      try synchronize(&synced)
    } catch let failure as SyncFailure {
      throw UnsyncedContent(cause: failure.cause, isRemoved: removeAll(except: synced))
    }
    return StagedContent(manifest: manifest, shared: shared, stagingPath: path, operations: operations)
  }

  private func openUpDirectories() throws(SystemError) {
    try tree.openUp()
    for segments in directories {
      try withDirectory(segments) { directory throws(SystemError) in try directory.openUp() }
    }
  }

  private func synchronize(_ synced: inout Set<Int>) throws {
    let isIndividual = manifest.files.count <= Self.individualSyncLimit
    for (index, entry) in manifest.files.enumerated()
    where isIndividual || entry.length.rawValue >= Self.shortFileLength {
      let file = try tree.openFile(at: entry.path)
      var position: Int64 = 0
      while position < entry.length.rawValue {
        try Task.checkCancellation()
        let end = min(position + Self.syncSlice, entry.length.rawValue)
        do throws(SystemError) {
          try operations.awaitWriteback(of: position..<end, in: file)
        } catch {
          throw SyncFailure(cause: error)
        }
        position = end
      }
      guard isIndividual else { continue }
      try withSync { () throws(SystemError) in try operations.synchronize(file) }
      synced.insert(index)
    }
    guard isIndividual else {
      return try withSync { () throws(SystemError) in
        try operations.synchronizeFileSystem(of: root.descriptor)
      }
    }
    for segments in directories {
      try withSync { () throws(SystemError) in
        try withDirectory(segments) { directory throws(SystemError) in try directory.synchronize() }
      }
    }
    try withSync { () throws(SystemError) in try tree.synchronize() }
    try withSync { () throws(SystemError) in try root.synchronize() }
  }

  /// Each may take seconds on a slow device: between two of them a task that was cancelled ends.
  private func withSync(_ body: () throws(SystemError) -> Void) throws {
    try Task.checkCancellation()
    do throws(SystemError) {
      try body()
    } catch {
      throw SyncFailure(cause: error)
    }
  }

  /// A sync failed, as opposed to what is needed for one.
  private struct SyncFailure: Error {
    var cause: SystemError
  }

  /// Removes the files that a failed sync left unsynced. In memory they look as if they were on the device,
  /// and the next sync would say so: only files that are written anew count. Answers whether all of them
  /// could be removed.
  private func removeAll(except synced: Set<Int>) -> Bool {
    do {
      guard !synced.isEmpty, synced.count < manifest.files.count else {
        try Self.discard(at: path, operations: operations)
        return true
      }
      for (index, entry) in manifest.files.enumerated() where !synced.contains(index) {
        try tree.withParent(of: entry.path.segments[...], creating: false) {
          directory, name throws(SystemError) in try directory.removeFile(name)
        }
      }
      return true
    } catch {
      return false
    }
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

/// The device refused to take some of the content. What was not synced before is void and has been removed from the
/// staging area; where even that failed, the whole area must be removed before anything of it is believed.
public struct UnsyncedContent: Error, Sendable, CustomStringConvertible {
  /// The error of the sync.
  public let cause: SystemError
  /// Whether the bytes in doubt are gone.
  public let isRemoved: Bool

  /// A sentence for logs.
  public var description: String { "\(cause); what was not synced is fetched again" }
}
