package import AgentRecords
package import Commerce
import ContentPackage
package import CoreTypes
import Files
package import PullboxAPI
import ServiceRuntime
import SystemCalls

extension Library {
  /// The connection to the rest of the agent about removing content: it says what may be removed, and is told what was.
  package struct EvictionAdvice: Sendable {
    /// Returns the content that may be removed for a job. Called when room is short.
    package var removable: @Sendable (ContentJobIdentifier) async -> Removable
    /// Called after each removal, when the product is free for others again.
    package var noteRemoval: @Sendable (LibraryItem) async -> Void
    /// Called after a section of content was removed that stays otherwise.
    package var noteChange: @Sendable (LibraryItem) async -> Void

    package init(
      removable: @escaping @Sendable (ContentJobIdentifier) async -> Removable,
      noteRemoval: @escaping @Sendable (LibraryItem) async -> Void,
      noteChange: @escaping @Sendable (LibraryItem) async -> Void = { _ in }
    ) {
      self.removable = removable
      self.noteRemoval = noteRemoval
      self.noteChange = noteChange
    }
  }

  /// Content that may be removed to make room for a job.
  package struct Removable: Sendable {
    /// Those that can be fetched again, and that nothing unfinished needs.
    package var products: Set<ProductIdentifier> = []
    /// When the job was first asked for. What came later stays: downloads that were asked for together, by a restore for
    /// example, would else push out each other's content for ever. Nil where that is not known.
    package var placedBefore: Timestamp?

    package init(products: Set<ProductIdentifier> = [], placedBefore: Timestamp? = nil) {
      self.products = products
      self.placedBefore = placedBefore
    }
  }

  /// Promises the room to the job. Where a quota is set, content of other products that can be fetched again is removed for
  /// it, if that is enough. Throws ``InsufficientSpaceError``.
  ///
  /// - Parameters:
  ///   - job: whose earlier promise is replaced.
  ///   - product: the job's; its content is not removed for it.
  ///   - allocating: whether the room is taken from the file system at once, where that can be done.
  package func reserve(
    _ need: SpaceNeed, for job: ContentJobIdentifier, of product: ProductIdentifier, allocating: Bool
  ) async throws -> SpaceReservation {
    do {
      do {
        return try await admit(job, need, allocating: allocating)
      } catch let error as InsufficientSpaceError {
        guard space.quota != nil, try await evict(error.missing, for: job, of: product) else { throw error }
        // What went may be too little by now: another job was quicker, or content was pinned.
        return try await admit(job, need, allocating: allocating)
      }
    } catch var error as InsufficientSpaceError {
      error.mayEvictLater = space.quota != nil
      throw error
    }
  }

  /// Throws ``LibraryOfflineError`` and ``InsufficientSpaceError``.
  private func admit(
    _ job: ContentJobIdentifier, _ need: SpaceNeed, allocating: Bool
  ) async throws -> SpaceReservation {
    try await BlockingPool.shared.run { [self] in
      try requireOnline()
      return try space.admit(job, needing: need, allocating: allocating)
    }
  }

  /// Content of which nothing tells its own files from those of other programs would be kept whole, and makes no room.
  private func plan(
    from candidates: [Eviction.Candidate], toFree missing: ByteCount
  ) throws(SystemError) -> Eviction.Plan {
    var candidates = candidates
    while true {
      let plan = Eviction.plan(from: candidates, toFree: missing)
      var kept: [LibraryRecord] = []
      for record in plan.records {
        // What was taken back has none of theirs.
        let isKnown = record.isWithdrawn ? true : try ownFiles(of: record) != nil
        if !isKnown { kept.append(record) } else if try !canBeLookedAt(record) { kept.append(record) }
      }
      if kept.isEmpty { return plan }
      candidates.removeAll { kept.contains($0.record) }
    }
  }

  /// False where its directory does not come back from the device, or is not for this user.
  private func canBeLookedAt(_ record: LibraryRecord) throws(SystemError) -> Bool {
    do throws(SystemError) {
      _ = try operations.status(of: directory(of: record))
      return true
    } catch {
      guard error.isUnreadable else { throw error }
      return false
    }
  }

  /// False when nothing was removed, since all that may be would not be enough. Content goes one by one, and
  /// each removal is told. One that was pinned meanwhile stays.
  private func evict(
    _ missing: ByteCount, for job: ContentJobIdentifier, of product: ProductIdentifier
  ) async throws -> Bool {
    guard let advice = evictionAdvice else { return false }
    let removable = await advice.removable(job)
    let plan = try await BlockingPool.shared.run { [self] in
      let records = try database.libraryRecords()
      let candidates = try records.filter { record in
        guard !record.isWithdrawn else { return record.product != product }
        return !record.isPinned && !leases.holds(record.product, record.version) && record.product != product
          && removable.products.contains(record.product)
          && removable.placedBefore.map { record.placedAt < $0 } ?? true
      }
      .map { record in
        var record = record
        record.lastOpened = lastOpened(record)
        return Eviction.Candidate(
          record: record,
          isSuperseded: ReplacedVersions.replaced(record, by: records) != nil,
          sections: record.isWithdrawn ? [:] : try sectionsOnDemand(of: record))
      }
      return try self.plan(from: candidates, toFree: missing)
    }
    for section in plan.sections { try await evict(section) }
    for record in plan.records {
      let removed = try await exclusion.run(record.product) {
        try await BlockingPool.shared.run { [self] () -> LibraryItem? in
          try requireOnline()
          // It may have been pinned, or opened, since it was chosen.
          guard
            let current = try database.libraryRecord(of: record.product, version: record.version),
            current.isWithdrawn
              || !current.isPinned && !leases.holds(current.product, current.version)
          else { return nil }
          let item = self.item(current)
          try remove([current])
          return item
        }
      }
      guard let removed else { continue }
      log.info("content was removed to make room", ["path": LogValue(directory(of: record))])
      await advice.noteRemoval(removed)
    }
    return !plan.isEmpty
  }

  /// Removes the files of a section, unless the content was pinned since that was chosen.
  private func evict(_ section: Eviction.Section) async throws {
    let changed = try await exclusion.run(section.record.product) {
      try await BlockingPool.shared.run { [self] () -> LibraryItem? in
        try requireOnline()
        guard
          let current = try database.libraryRecord(
            of: section.record.product, version: section.record.version), !current.isPinned,
          !leases.holds(current.product, current.version),
          let manifest = try manifest(of: current)
        else { return nil }
        return try remove(section.tag, from: current, manifest)
      }
    }
    guard let changed else { return }
    log.info(
      "a section was removed to make room",
      ["path": LogValue(changed.path), "section": LogValue("\(section.tag)")])
    await evictionAdvice?.noteChange(changed)
  }

  /// The sections of the record that are fetched on demand and are here, with the bytes of their files.
  private func sectionsOnDemand(of record: LibraryRecord) throws -> [SectionTag: ByteCount] {
    guard let manifest = try manifest(of: record) else { return [:] }
    let (sizes, here) = (manifest.sectionSizes, manifest.selectedSections)
    let onDemand = manifest.sections.filter { $0.policy == .onDemand && here.contains($0.tag) }.map(\.tag)
    return Dictionary(uniqueKeysWithValues: onDemand.map { ($0, sizes[$0]?.length ?? .zero) })
  }
}
