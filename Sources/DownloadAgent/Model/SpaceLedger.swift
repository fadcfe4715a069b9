import CoreTypes
import PullboxAPI

/// Who may write how much where the library lies. A pure value: it is told what the file system says, and promises room to
/// jobs so that all of them together never take more than there is beside the reserve.
///
/// A job is promised what it will still write, all of it, before its first byte. What it has written, or allocated, the file
/// system counts itself, so that the promise shrinks by as much:
///
/// ```swift
/// var ledger = SpaceLedger<String>(reserve: .mebibytes(32))
/// ledger.admit("a", needing: need, in: volume)    // nil: admitted
/// ledger.setPromise(to: "a", .mebibytes(99))      // 1 MiB is written
/// ledger.admit("b", needing: need, in: volume)    // the shortage, in numbers
/// ledger.release("a")
/// ```
struct SpaceLedger<Job: Hashable & Sendable>: Hashable, Sendable {
  /// The room at one moment.
  struct Volume: Hashable, Sendable {
    /// What the file system lets this process still write.
    var free: ByteCount
    /// What content and staged bytes take already, old versions included; it counts against the quota.
    var used: ByteCount = .zero
    /// What would become free if all that may be removed were.
    var removable: ByteCount = .zero
  }

  /// Stays free on the file system, whatever is promised.
  var reserve: ByteCount
  /// What content and staged bytes may take together; nil for no bound but the file system's.
  var quota: ByteCount?
  /// What each admitted job may still write.
  private(set) var promises: [Job: ByteCount] = [:]

  init(reserve: ByteCount, quota: ByteCount? = nil) {
    self.reserve = reserve
    self.quota = quota
  }

  /// Promises `need` to the job, in place of an earlier promise to it. Nil when it is admitted; otherwise nothing is promised
  /// to it any more.
  mutating func admit(_ job: Job, needing need: SpaceNeed, in volume: Volume) -> InsufficientSpaceError? {
    promises[job] = nil
    if let shortage = shortage(of: need, in: volume) { return shortage }
    promises[job] = need.total
    return nil
  }

  /// What ``admit(_:needing:in:)`` would answer to a job that has no promise.
  func shortage(of need: SpaceNeed, in volume: Volume) -> InsufficientSpaceError? {
    // Less than nothing where others have taken what was promised.
    let promised = promises.values.reduce(ByteCount.zero, +)
    let free = volume.free - promised
    let allowed = quota.map { $0 - volume.used - promised }
    let missingOnDisk = need.total - (free - reserve)
    let missingInQuota = allowed.map { need.total - $0 } ?? missingOnDisk
    let missing = max(missingOnDisk, missingInQuota)
    guard need.total > .zero, missing > .zero else { return nil }
    var shortage = SpaceShortage(
      needed: need.total, free: max(free, .zero), reserve: reserve, removable: volume.removable)
    if let allowed, missingInQuota > missingOnDisk {
      shortage.free = max(allowed, .zero)
      shortage.reserve = .zero
      shortage.quota = quota
    }
    return InsufficientSpaceError(shortage: shortage, missing: missing)
  }

  /// What the job may still write and has not allocated. Of a job that was not admitted nothing is noted.
  mutating func setPromise(to job: Job, _ outstanding: ByteCount) {
    guard promises[job] != nil else { return }
    promises[job] = max(outstanding, .zero)
  }

  /// The job is over, or will not write for now: what is left of its promise is free for others.
  mutating func release(_ job: Job) {
    promises[job] = nil
  }
}

/// What one job will write.
struct SpaceNeed: Hashable, Sendable {
  /// Files as they will be placed, without those that are there already.
  var unpacked: ByteCount
  /// Packed bytes that lie beside them until they are unpacked, at most.
  var spool: ByteCount = .zero

  var total: ByteCount { unpacked + spool }
}

/// There is no room for what a job would write; the numbers say how much is missing.
struct InsufficientSpaceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Of the bound that lacks most: the file system, or the quota.
  let shortage: SpaceShortage
  /// What has to become free.
  let missing: ByteCount
  /// Content may be removed to make room, once the services say that it can be fetched again.
  var mayEvictLater = false

  var description: String {
    if let quota = shortage.quota {
      return """
        \(shortage.needed) are needed, \(shortage.free) of the quota of \(quota) are left and promised to no other \
        download
        """
    }
    return """
      \(shortage.needed) are needed, \(shortage.free) are free and promised to no other download, of which \
      \(shortage.reserve) stay free
      """
  }
}
