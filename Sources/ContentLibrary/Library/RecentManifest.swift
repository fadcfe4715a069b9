import AgentRecords
import Commerce
import ContentPackage
import CoreTypes
import Crypto
import ServiceRuntime
import Synchronization
import SystemCalls

/// The manifest that readers asked for last, so that a list of files, or a page, of content with many files does not read it anew. It counts
/// while the file that it was read from is unchanged, and is dropped when no reader has asked for ``longestIdle``.
final class RecentManifest: Sendable {
  /// How long it is kept behind the last question.
  static let longestIdle: Duration = .seconds(60)

  private struct Entry {
    var manifest: Manifest
    var sections: Set<SectionTag>?
    var file: (inode: UInt64, changed: Int64, length: ByteCount)
    var used: MonotonicInstant
  }

  private let entry = Mutex<Entry?>(nil)

  /// Nil where it is another record's, or its file has changed since.
  func manifest(of record: LibraryRecord, in file: FileStatus, at now: MonotonicInstant) -> Manifest? {
    entry.locked { entry in
      guard let known = entry, known.manifest.product == record.product,
        known.manifest.version == record.version, known.manifest.manifestDigest == record.manifestDigest,
        known.sections == record.sections,
        known.file == (inode: file.inode, changed: file.changed, length: file.length)
      else { return nil }
      entry?.used = now
      return known.manifest
    }
  }

  /// Takes the place of the one before.
  func keep(
    _ manifest: Manifest, of record: LibraryRecord, readFrom file: FileStatus, at now: MonotonicInstant
  ) {
    entry.locked {
      $0 = Entry(
        manifest: manifest, sections: record.sections,
        file: (inode: file.inode, changed: file.changed, length: file.length), used: now)
    }
  }

  /// Drops it.
  func drop() { entry.locked { $0 = nil } }

  /// Drops it where no reader has asked for a while.
  func dropIdle(at now: MonotonicInstant) {
    entry.locked { entry in
      if let known = entry, now - known.used >= Self.longestIdle { entry = nil }
    }
  }
}

extension Library {
  /// The manifest that the record was placed by, as ``manifest(of:)`` has it, for readers, who ask for the same one again and again.
  func manifestToRead(of record: LibraryRecord) throws(SystemError) -> Manifest? {
    guard let file = try statusOfManifest(of: record) else { return nil }
    let now = pauses.now()
    if let known = recentManifest.manifest(of: record, in: file, at: now) { return known }
    // Two at once would take twice the memory.
    recentManifest.drop()
    let manifest = try manifest(of: record)
    if let manifest { recentManifest.keep(manifest, of: record, readFrom: file, at: now) }
    return manifest
  }

  /// Drops the manifest that no reader has asked for in the last minute. Blocks for no call.
  package func dropIdleManifest() { recentManifest.dropIdle(at: pauses.now()) }
}
