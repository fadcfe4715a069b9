package import CoreTypes
package import PullboxAPI

/// A ledger of the bytes that each job may write to the library's file system. A pure value: it is given the state of the
/// file system, and promises room to jobs so that together they never take more than is free beside the reserve.
///
/// Before its first byte, a job is promised all bytes that it will still write. The file system itself counts the bytes that
/// are written or allocated, so the promise shrinks by as many:
///
/// ```swift
/// var ledger = SpaceLedger<String>(reserve: .mebibytes(32))
/// ledger.admit("a", needing: need, in: volume)    // nil: admitted
/// ledger.setPromise(to: "a", .mebibytes(99))      // 1 MiB is written
/// ledger.admit("b", needing: need, in: volume)    // the shortage, in numbers
/// ledger.release("a")
/// ```
package struct SpaceLedger<Job: Hashable & Sendable>: Hashable, Sendable {
  /// The room at one moment.
  package struct Volume: Hashable, Sendable {
    /// The bytes that this process can still write to the file system.
    package var free: ByteCount
    /// The bytes that content and staged files take, old versions included; they count against the quota.
    package var used: ByteCount = .zero
    /// The bytes that would become free if all removable content were removed.
    package var removable: ByteCount = .zero

    package init(free: ByteCount, used: ByteCount = .zero, removable: ByteCount = .zero) {
      self.free = free
      self.used = used
      self.removable = removable
    }
  }

  /// Stays free on the file system, whatever is promised.
  package var reserve: ByteCount
  /// The bytes that content and staged files may take together; nil for no bound but the file system's.
  package var quota: ByteCount?
  /// The bytes that each admitted job may still write.
  private(set) var promises: [Job: ByteCount] = [:]

  package init(reserve: ByteCount, quota: ByteCount? = nil) {
    self.reserve = reserve
    self.quota = quota
  }

  /// Promises `need` to the job, in place of an earlier promise to it. Nil when it is admitted; otherwise nothing is promised
  /// to it any more.
  package mutating func admit(_ job: Job, needing need: SpaceNeed, in volume: Volume)
    -> InsufficientSpaceError?
  {
    promises[job] = nil
    if let shortage = shortage(of: need, in: volume) { return shortage }
    promises[job] = need.total
    return nil
  }

  /// Returns what ``admit(_:needing:in:)`` would return for a job without a promise.
  package func shortage(of need: SpaceNeed, in volume: Volume) -> InsufficientSpaceError? {
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

  /// Sets the bytes that the job may still write and has not allocated. Does nothing for a job that was not admitted.
  package mutating func setPromise(to job: Job, _ outstanding: ByteCount) {
    guard promises[job] != nil else { return }
    promises[job] = max(outstanding, .zero)
  }

  /// The job is over, or will not write for now: what is left of its promise is free for others.
  package mutating func release(_ job: Job) {
    promises[job] = nil
  }
}

/// The bytes that one job will write.
package struct SpaceNeed: Hashable, Sendable {
  /// Files as they will be placed, without those that are there already.
  package var unpacked: ByteCount
  /// Packed bytes that lie beside them until they are unpacked, at most.
  package var spool: ByteCount = .zero
  /// The bytes that are staged for the job by now and stay, at most: it writes over the others, which count for no quota. Nil where that is not known.
  package var kept: ByteCount?

  package init(unpacked: ByteCount, spool: ByteCount = .zero, kept: ByteCount? = nil) {
    self.unpacked = unpacked
    self.spool = spool
    self.kept = kept
  }

  package var total: ByteCount { unpacked + spool }
}

/// There is no room for what a job would write; the numbers say how much is missing.
package struct InsufficientSpaceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The shortage by the bound that lacks most: the file system, or the quota.
  package let shortage: SpaceShortage
  /// The bytes that have to become free.
  package let missing: ByteCount
  /// Content may be removed to make room, once the services say that it can be fetched again.
  package var mayEvictLater = false

  package var description: String {
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
