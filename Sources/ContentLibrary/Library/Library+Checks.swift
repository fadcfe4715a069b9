package import AgentRecords
package import Commerce
package import ContentPackage
import CoreTypes
import Crypto
import Files
package import PullboxAPI
import ServiceRuntime
import Synchronization
import SystemCalls

extension Library {
  /// Reads every byte of the product's content, or of all there is, two items at a time, and notes what is
  /// damaged. The findings are in the order of the records. A product is free for others between two of its
  /// versions. Throws ``LibraryOfflineError``.
  package func verify(_ product: ProductIdentifier? = nil) async throws -> [LibraryVerification] {
    let records = try await BlockingPool.shared.run { [self] in
      try requireOnline()
      return try database.libraryRecords().filter { product == nil || $0.product == product }
    }
    return try await withThrowingTaskGroup(of: (Int, LibraryVerification)?.self) { group in
      var remaining = records.enumerated().makeIterator()
      var findings: [(Int, LibraryVerification)] = []
      func startNext() {
        guard let (index, record) = remaining.next() else { return }
        group.addTask { [self] in
          let finding = try await exclusion.run(record.product) { [self] () -> ContentCheck.Finding? in
            // It may have moved, or gone, while others were read.
            let current = try await BlockingPool.shared.run { [self] in
              try database.libraryRecord(of: record.product, version: record.version)
            }
            guard let current else { return nil }
            return try await check(current, everything: true)
          }
          guard let finding else { return nil }
          return (
            index,
            LibraryVerification(
              product: record.product, version: record.version,
              state: finding.isWhole ? .present : .damaged, bytesRead: finding.bytesRead,
              faults: finding.faults.map {
                .init(path: $0.path, kind: $0.kind == .missing ? .missing : .damaged)
              })
          )
        }
      }
      for _ in 0..<Self.checking.threads { startNext() }
      while let finding = try await group.next() {
        if let finding { findings.append(finding) }
        startNext()
      }
      return findings.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  /// Compares content with its manifest and notes what was found. The caller has the product to itself.
  /// Unless `everything` is wanted, only files that have changed since their stamps are read. Content whose
  /// manifest cannot be read is damaged as a whole. The record is written where its state is another or
  /// something was read. Throws ``LibraryOfflineError``, and notes nothing then, where the library turns out
  /// to be away.
  package func check(_ record: LibraryRecord, everything: Bool) async throws -> ContentCheck.Finding {
    let known = try await BlockingPool.shared.run { [self] () -> (Manifest?, [UInt8]?) in
      (try manifest(of: record), everything ? nil : try database.stamps(of: record))
    }
    guard let manifest = known.0 else {
      try await BlockingPool.shared.run { [self] in try requireOnline() }
      try await note(record, isDamaged: true, stamps: FileStamps(unknown: 0))
      return ContentCheck.Finding(.init(path: "", .damaged))
    }
    let saved = known.1.flatMap { FileStamps(encoded: $0, files: manifest.files.count) }
    let fresh = everything ? nil : placements.stamps(of: manifest)
    let stamps = fresh.map { saved?.filled(from: $0) ?? $0 } ?? saved
    do {
      let finding = try await run(
        stamps.map { .changes(since: $0) } ?? .everything, on: manifest, at: directory(of: record))
      if !finding.isWhole {
        placements.forget(manifest)
        // A device that is gone gives nothing back either, and damages nothing.
        try await BlockingPool.shared.run { [self] in try requireOnline() }
      }
      var checked = record
      checked.sizeOnDisk = finding.sizeOnDisk
      if record.isDamaged == finding.isWhole || finding.bytesRead > .zero {
        try await note(checked, isDamaged: !finding.isWhole, stamps: finding.stamps)
      }
      return finding
    } catch let error as SystemError where error.isFileMissing {
      try await BlockingPool.shared.run { [self] in
        try requireOnline()
        try noteMissing(record)
      }
      return ContentCheck.Finding(.init(path: "", .missing))
    } catch let error as SystemError where error.isUnreadable {
      // Its directory does not come back from the device.
      try await BlockingPool.shared.run { [self] in try requireOnline() }
      try await note(record, isDamaged: true, stamps: FileStamps(unknown: 0))
      return ContentCheck.Finding(.init(path: "", .damaged))
    }
  }

  /// Writes what a check found, with the last opening.
  private func note(_ record: LibraryRecord, isDamaged: Bool, stamps: FileStamps) async throws {
    try await BlockingPool.shared.run { [self] in
      var record = record
      if isDamaged, !record.isDamaged {
        log.warning("content is damaged", ["path": LogValue(directory(of: record))])
      }
      record.isDamaged = isDamaged
      record.lastOpened = lastOpened(record)
      try database.note(record, stamps: stamps)
    }
  }

  /// Another program removed all of the content while the library is there. The record stays, so that a repair fetches what
  /// was bought. Blocks.
  func noteMissing(_ record: LibraryRecord) throws {
    if !record.isDamaged {
      log.warning("content was removed by another program", ["path": LogValue(directory(of: record))])
    }
    var missing = record
    missing.sizeOnDisk = .zero
    missing.isDamaged = true
    guard missing != record else { return }
    try database.note(missing, stamps: FileStamps(unknown: 0))
  }

  /// The content cannot be looked at while the library is there. Blocks.
  func noteUnreadable(_ record: LibraryRecord, _ error: SystemError) throws {
    guard !record.isDamaged else { return }
    log.warning(
      "content is damaged", ["path": LogValue(directory(of: record)), "error": LogValue(error)])
    var damaged = record
    damaged.isDamaged = true
    try database.note(damaged, stamps: FileStamps(unknown: 0))
  }

  /// Runs the check off the cooperative pool; a cancelled task ends it. Two run at a time; others wait.
  package func run(
    _ depth: ContentCheck.Depth, on manifest: Manifest, at path: String
  ) async throws -> ContentCheck.Finding {
    let isCancelled = CancellationMark()
    let now = clock.now()
    return try await withTaskCancellationHandler {
      try await Self.checking.run { [operations] in
        try ContentCheck(manifest, at: path, operations: operations, isStopped: { isCancelled.isSet })
          .run(depth, now: now)
      }
    } onCancel: {
      isCancelled.set()
    }
  }

  /// When a reader opened the content last, as far as the file system or an application tells; nil where it was not since it was
  /// placed. Blocks.
  func lastOpened(_ record: LibraryRecord) -> Timestamp? {
    [accessed(record), record.lastOpened].compactMap { $0 }.max()
  }

  /// By the file system; nil also where the content cannot be looked at.
  private func accessed(_ record: LibraryRecord) -> Timestamp? {
    do throws(SystemError) {
      guard let status = try operations.status(of: path(of: record)) else {
        return nil
      }
      // Placing itself leaves the time of its own.
      return status.accessed > record.placedAt + .seconds(1) ? status.accessed : nil
    } catch {
      return nil
    }
  }

  /// An application opens the product now. False when the library holds none of it. It is noted also while
  /// the library is away.
  package func noteOpened(_ product: ProductIdentifier) async throws -> Bool {
    try await exclusion.run(product) {
      try await BlockingPool.shared.run { [self] in try database.noteOpened(product, at: clock.now()) }
    }
  }

  /// Pins every version of the product, so that none is removed to make room, or ends that. False when the library holds
  /// none of it. The record is written before the file that stands for it. Throws ``LibraryOfflineError``.
  package func setPinned(_ isPinned: Bool, _ product: ProductIdentifier) async throws -> Bool {
    try await exclusion.run(product) {
      try await BlockingPool.shared.run { [self] in
        try requireOnline()
        guard try database.setPinned(isPinned, of: product) else { return false }
        try writePin(isPinned, of: product)
        return true
      }
    }
  }
}

/// The stamps of what this process has placed last. Those that are saved are for any process and file system, and lack every file that
/// was changed shortly before. Here the change before was this process's own, in a directory of its own, so that a download which
/// asks a moment later whether its content is there need not read it all.
final class RecentPlacements: Sendable {
  /// Placements whose stamps are kept at once.
  private static let limit = 4

  private let entries = Mutex<[(digest: SHA256Digest, stamps: FileStamps)]>([])

  /// Takes the place of the same manifest's; beyond ``limit`` the oldest goes.
  func note(_ stamps: FileStamps, of manifest: Manifest) {
    entries.locked { entries in
      entries.removeAll { $0.digest == manifest.identity }
      if entries.count == Self.limit { entries.removeFirst() }
      entries.append((manifest.identity, stamps))
    }
  }

  /// Forgets the stamps of content that was found to be damaged, so that the next check reads it.
  func forget(_ manifest: Manifest) {
    entries.locked { $0.removeAll { $0.digest == manifest.identity } }
  }

  /// Nil for content that another process placed, and for what was forgotten.
  func stamps(of manifest: Manifest) -> FileStamps? {
    entries.locked { $0.first { $0.digest == manifest.identity }?.stamps }
  }
}

/// Tells a blocking call that its task was cancelled.
private final class CancellationMark: Sendable {
  private let mark = Atomic(false)

  var isSet: Bool { mark.load(ordering: .relaxed) }
  func set() { mark.store(true, ordering: .relaxed) }
}
