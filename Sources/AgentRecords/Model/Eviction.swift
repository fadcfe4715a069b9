package import CoreTypes

/// Which content goes first where room is needed. Pure.
package enum Eviction {
  /// Content that may go: it can be fetched again, is not pinned, and nothing unfinished needs it.
  package struct Candidate: Hashable, Sendable {
    package var record: LibraryRecord
    /// The library has a later version of the same product.
    package var isSuperseded: Bool

    package init(record: LibraryRecord, isSuperseded: Bool) {
      self.record = record
      self.isSuperseded = isSuperseded
    }
  }

  /// The fewest of `candidates`, in the order in which they go, whose sizes make up `missing`: earlier versions before those
  /// that are read, then by when they were last opened, the longest ago first. Empty when all of them would not be enough.
  package static func selection(
    from candidates: [Candidate], toFree missing: ByteCount
  ) -> [LibraryRecord] {
    var freed = ByteCount.zero
    var selected: [LibraryRecord] = []
    let sorted = candidates.sorted { left, right in
      if left.isSuperseded != right.isSuperseded { return left.isSuperseded }
      return left.record.lastUse < right.record.lastUse
    }
    for candidate in sorted where freed < missing {
      freed += candidate.record.sizeOnDisk
      selected.append(candidate.record)
    }
    return freed < missing ? [] : selected
  }
}
