package import Commerce
package import CoreTypes

/// Which content goes first where room is needed. Pure.
package enum Eviction {
  /// Content that may go: it can be fetched again, is not pinned, and nothing unfinished needs it; or it was taken back.
  package struct Candidate: Hashable, Sendable {
    package var record: LibraryRecord
    /// The library has a later version of the same product.
    package var isSuperseded: Bool
    /// The sections that are here and are fetched when they are asked for, with the room that the files of each take.
    package var sections: [SectionTag: ByteCount]

    package init(record: LibraryRecord, isSuperseded: Bool, sections: [SectionTag: ByteCount] = [:]) {
      self.record = record
      self.isSuperseded = isSuperseded
      self.sections = sections
    }

    /// The room that is left of it without these sections.
    fileprivate func size(without dropped: Set<SectionTag>) -> ByteCount {
      max(.zero, record.sizeOnDisk - dropped.reduce(.zero) { $0 + (sections[$1] ?? .zero) })
    }
  }

  /// The content that goes, in this order.
  package struct Plan: Hashable, Sendable {
    /// Sections of content that stays otherwise.
    package var sections: [Section] = []
    /// Content as a whole.
    package var records: [LibraryRecord] = []

    package var isEmpty: Bool { sections.isEmpty && records.isEmpty }
  }

  /// A section of a record.
  package struct Section: Hashable, Sendable {
    package var record: LibraryRecord
    package var tag: SectionTag

    package init(record: LibraryRecord, tag: SectionTag) {
      self.record = record
      self.tag = tag
    }
  }

  /// The fewest of `candidates`, in the order in which they go, whose sizes make up `missing`: what was taken back, and no reader sees, before
  /// all others; then sections that are fetched on demand before whole content, earlier versions before those that are read, then by when they were last opened, the longest ago first. Empty when all of
  /// them would not be enough.
  package static func plan(from candidates: [Candidate], toFree missing: ByteCount) -> Plan {
    var freed = ByteCount.zero
    var plan = Plan()
    let sorted = candidates.sorted { left, right in
      if left.record.isWithdrawn != right.record.isWithdrawn { return left.record.isWithdrawn }
      if left.isSuperseded != right.isSuperseded { return left.isSuperseded }
      return left.record.lastUse < right.record.lastUse
    }
    for candidate in sorted where candidate.record.isWithdrawn && freed < missing {
      freed += candidate.size(without: [])
      plan.records.append(candidate.record)
    }
    for candidate in sorted where !candidate.record.isWithdrawn {
      for (tag, size) in candidate.sections.sorted(by: { $0.key < $1.key }) where freed < missing {
        freed += size
        plan.sections.append(Section(record: candidate.record, tag: tag))
      }
    }
    for candidate in sorted where !candidate.record.isWithdrawn && freed < missing {
      let dropped = Set(plan.sections.lazy.filter { $0.record == candidate.record }.map(\.tag))
      freed += candidate.size(without: dropped)
      plan.records.append(candidate.record)
    }
    guard freed >= missing else { return Plan() }
    plan.sections.removeAll { plan.records.contains($0.record) }
    return plan
  }
}
