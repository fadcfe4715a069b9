package import AgentRecords
package import ContentPackage
package import CoreTypes
import Files
package import PullboxAPI
import Synchronization
import SystemCalls

/// Keeps the books of the library's space: asks the file system, and the ``SpaceLedger``, before anything is written. Every
/// call blocks.
package final class LibrarySpace: Sendable {
  typealias Ledger = SpaceLedger<ContentJobIdentifier>

  private let paths: StatePaths
  private let database: AgentDatabase
  private let leases: LibraryLeases
  private let ownership: OwnershipRegister
  private let operations: any FileOperations
  private let ledger: Mutex<Ledger>
  /// Content that is being placed: it leaves the staging folder before it has a record.
  private let placing = Mutex<[ContentJobIdentifier: Manifest]>([:])
  /// The last need and shortage of each job that waits for room.
  private let refused = Mutex<[ContentJobIdentifier: (need: SpaceNeed, shortage: SpaceShortage)]>([:])

  init(
    paths: StatePaths, database: AgentDatabase, leases: LibraryLeases, ownership: OwnershipRegister,
    reserve: ByteCount, quota: ByteCount?,
    operations: any FileOperations
  ) {
    self.paths = paths
    self.leases = leases
    self.ownership = ownership
    self.operations = operations
    self.database = database
    ledger = Mutex(Ledger(reserve: reserve, quota: quota))
  }

  /// The bytes that stay free on the file system.
  package var reserve: ByteCount { ledger.locked { $0.reserve } }
  /// The bytes that content and staged files may take together.
  package var quota: ByteCount? { ledger.locked { $0.quota } }

  /// Promises `need` to the job, in place of what it had been promised; throws ``InsufficientSpaceError`` where there is no room for
  /// it. `allocating`: what is promised is taken from the file system at once, where that can be done, so that other programs
  /// cannot take it.
  func admit(
    _ job: ContentJobIdentifier, needing need: SpaceNeed, allocating: Bool
  ) throws -> SpaceReservation {
    // What an earlier run of the job has allocated is not its content.
    try operations.remove(ballast(of: job))
    // Between the look and the promise no other job may allocate what it was promised.
    let shortage = try ledger.locked { ledger in
      ledger.admit(
        job, needing: need, in: try volume(for: job, keeping: need.kept, hasQuota: ledger.quota != nil))
    }
    refused.locked { $0[job] = shortage.map { (need: need, shortage: $0.shortage) } }
    if let shortage { throw shortage }
    let reservation = SpaceReservation(of: need.total, operations: operations) { [weak self] outstanding in
      self?.note(job, outstanding)
    }
    if allocating { try reservation.allocate(at: ballast(of: job)) }
    return reservation
  }

  /// The least room that a job goes on with whose needs are not known yet.
  private static let least = ByteCount.mebibytes(1)

  /// The file system had no room for what the job wrote. It goes on as soon as there is some, as one does that was refused; where there
  /// is by now, or something else was meant, it is tried again in its time.
  package func noteFull(_ job: ContentJobIdentifier) throws {
    let need = SpaceNeed(unpacked: Self.least)
    let shortage = try shortage(of: need, for: job)?.shortage
    refused.locked { refused in
      if let shortage {
        refused[job] = refused[job] ?? (need: need, shortage: shortage)
      } else if refused[job]?.need == need {
        // There is room, and it failed all the same: what it lacks is not seen here.
        refused[job] = nil
      }
    }
  }

  /// Returns the job's shortage now; nil if ``admit(_:needing:allocating:)`` would admit it.
  func shortage(
    of need: SpaceNeed, for job: ContentJobIdentifier
  ) throws -> InsufficientSpaceError? {
    try ledger.locked { current in
      // The job may have been admitted meanwhile, and keeps its promise.
      var ledger = current
      ledger.release(job)
      return ledger.shortage(
        of: need, in: try volume(for: job, keeping: need.kept, hasQuota: ledger.quota != nil))
    }
  }

  /// Why the job waits for room, in the numbers of its last try; nil when it does not.
  package func shortage(of job: ContentJobIdentifier) -> SpaceShortage? {
    refused.locked { $0[job]?.shortage }
  }

  /// The jobs that were refused and would be admitted now: the file system, or the quota, says so. Nothing is
  /// promised by it, so that several may be named for the same room. They come in no particular order.
  package func jobsWithRoom() throws -> [ContentJobIdentifier] {
    try refused.locked { $0.mapValues { $0.need } }.filter { job, need in
      try shortage(of: need, for: job) == nil
    }.map(\.key)
  }

  /// The job is over.
  func forget(_ job: ContentJobIdentifier) {
    refused.locked { $0[job] = nil }
  }

  /// Counts what `body` places for the job from its first moment until it has a record.
  package func whilePlacing<Value>(
    _ manifest: Manifest, for job: ContentJobIdentifier,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    placing.locked { $0[job] = manifest }
    defer { placing.locked { $0[job] = nil } }
    return try await body()
  }

  /// Nil ends the promise.
  private func note(_ job: ContentJobIdentifier, _ outstanding: ByteCount?) {
    ledger.locked { ledger in
      if let outstanding { ledger.setPromise(to: job, outstanding) } else { ledger.release(job) }
    }
  }

  /// A file in the staging folder that no job has as its name.
  func ballast(of job: ContentJobIdentifier) -> String { "\(paths.staging)/\(job).reserved" }

  /// The room as the job finds it. What is staged for it and not kept counts for no quota, since the job writes over it; the file system has it all
  /// the same.
  ///
  /// - Parameters:
  ///   - kept: what stays of what is staged for the job; nil for all.
  ///   - hasQuota: whether the staging folder is measured as well, which only a quota needs.
  private func volume(
    for job: ContentJobIdentifier, keeping kept: ByteCount?, hasQuota: Bool
  ) throws -> Ledger.Volume {
    let free = try operations.freeSpace(at: paths.staging)
    // In the order in which content goes, from staging to a record: so none is missed on its way.
    var staged = hasQuota ? try stagedSizes() : [:]
    if let kept, let there = staged["\(job)"] { staged["\(job)"] = min(there, kept) }
    let placing = self.placing.locked { $0 }
    let records = try database.libraryRecords()
    for (job, manifest) in placing {
      let record = records.first {
        $0.product == manifest.product && $0.version == manifest.version && $0.digest == manifest.digest
      }
      // Of what has a record, its own or that of the damaged content in whose place it comes, what is still staged counts, and the sections
      // that the record is without.
      staged["\(job)"] = max(staged["\(job)"] ?? .zero, Self.length(of: manifest, lacking: record))
    }
    let placed = records.reduce(ByteCount.zero) { $0 + $1.sizeOnDisk }
    let removable = records.filter { record in
      // What is owned no more, or offered no more, cannot be fetched again.
      let known = ownership[record.product]
      return !record.isPinned && !leases.holds(record.product, record.version)
        && known.map { $0.isOwned && $0.isOffered } ?? true
    }
    .reduce(ByteCount.zero) { $0 + $1.sizeOnDisk }
    // Bytes that are staged for this job are not needed again, and are there all the same.
    return Ledger.Volume(free: free, used: staged.values.reduce(placed, +), removable: removable)
  }

  /// The bytes of the manifest's files that the record does not count: all, where there is none.
  private static func length(of manifest: Manifest, lacking record: LibraryRecord?) -> ByteCount {
    guard let record else { return manifest.unpackedLength }
    guard let here = record.sections else { return .zero }
    return manifest.files.reduce(.zero) { sum, file in
      file.section.map(here.contains) == false ? sum + file.length : sum
    }
  }

  /// Returns the bytes that each entry of the staging folder takes: a staging area, or an allocated file.
  private func stagedSizes() throws -> [String: ByteCount] {
    var sizes: [String: ByteCount] = [:]
    for entry in try operations.list(paths.staging) {
      let path = "\(paths.staging)/\(entry.name)"
      if entry.kind == .directory {
        sizes[entry.name] = try operations.allocatedSize(of: path)
      } else {
        sizes[entry.name] = try operations.status(of: path)?.allocated ?? .zero
      }
    }
    return sizes
  }
}
