package import AgentRecords
package import Commerce
package import ContentPackage
package import CoreTypes
import Crypto
import Files
package import PullboxAPI
package import ServiceAPI
import ServiceRuntime
import SystemCalls

extension Library {
  /// Placed content that holds files or pieces with the SHA-256 of those to be fetched. They need not be fetched if they
  /// are whole.
  package struct Source: Sendable {
    package let manifest: Manifest
    /// The directory that holds the files.
    package let path: String
  }

  /// The item that holds the content of `terms`, compared with the manifest that they name; nil when it is not here, or is
  /// not right. What was right and is not any more is damaged from now on. Files that have not changed since
  /// they were last right are not read again.
  ///
  /// - Parameter sections: those that must be here beside what is required; tags that the content does not have count for nothing.
  package func held(
    _ terms: DownloadTerms, sections: Set<SectionTag> = []
  ) async throws -> LibraryItem? {
    try await exclusion.run(terms.product) {
      let found = try await BlockingPool.shared.run { [self] in
        try requireOnline()
        return try database.libraryRecord(of: terms.product, version: terms.version)
      }
      guard let found, found.digest == terms.digest, found.manifestDigest == terms.manifestDigest,
        !found.isWithdrawn || ownership[found.product]?.withdrawsContent != true
      else { return nil }
      let record = found.isWithdrawn ? try await giveBack(found) : found
      if let here = record.sections, !sections.isSubset(of: here) {
        let known = try await BlockingPool.shared.run { [self] in try manifest(of: record)?.sections ?? [] }
        guard sections.intersection(known.map(\.tag)).isSubset(of: here) else { return nil }
      }
      guard try await check(record, everything: false).isWhole else { return nil }
      var whole = record
      whole.isDamaged = false
      return self.item(whole)
    }
  }

  /// Content that shares bytes with `manifest`, in the order in which it is worth a look: what is placed as the same version
  /// and is damaged, the same package of another product, and the version that the server says this device
  /// has completed. Content that cannot be looked at, or whose manifest cannot be read, is left out.
  package func sources(for manifest: Manifest, previous: PreviousContent?) async throws -> [Source] {
    try await BlockingPool.shared.run { [self] in
      try requireOnline()
      var records: [LibraryRecord] = []
      if let own = try database.libraryRecord(of: manifest.product, version: manifest.version) {
        records.append(own)
      }
      records += try database.libraryRecords(digest: manifest.digest).filter { !records.contains($0) }
      if let previous,
        let earlier = try database.libraryRecord(of: manifest.product, version: previous.version),
        earlier.digest == previous.digest, !records.contains(earlier)
      {
        records.append(earlier)
      }
      // What cannot be looked at is fetched.
      return try records.filter { presence(of: $0) == .there }.compactMap { record in
        try self.manifest(of: record).map { Source(manifest: $0, path: directory(of: record)) }
      }
    }
  }

  /// Places content as `body` does at the path that it is given, replaces what is there, and keeps the manifest beside it. What is whole and
  /// gains sections stays where it is until the new content takes its name: a reader sees the one or the other.
  /// `body` returns the files, by their number in the manifest, that have or had another name. Where the task is
  /// cancelled, the step that runs is the last before this throws `CancellationError`, at most that of the manifest with its
  /// folders; ``recordPlaced(_:at:)`` finds what was placed by then. Throws ``StepFailure`` with
  /// `storage-failure`, and makes no record, where what was placed is not right.
  package func place(
    _ manifest: Manifest, at now: Timestamp, _ body: @Sendable (String) async throws -> Set<Int>
  ) async throws -> LibraryItem {
    // What is readable for this, and is not owned, does not stay so, however it ends.
    defer { withdrawals.signal() }
    return try await exclusion.run(manifest.product) {
      let target = directory(of: manifest.product, version: manifest.version)
      let record = try await readableRecord(of: manifest)
      let extended = try await BlockingPool.shared.run { [self] () -> LibraryRecord? in
        let replaced = try record.flatMap { try self.manifest(of: $0) }
        try settleExtension(of: manifest, at: target)
        // Otherwise what is there has no claim to the name: it has no record, or is damaged.
        if let record, try isExtended(record, by: manifest) { return record }
        try keepForeignFiles(
          of: manifest.product, manifest.version,
          beside: OwnFiles([manifest] + (replaced.map { [$0] } ?? [])))
        return nil
      }
      try Task.checkCancellation()
      try await BlockingPool.shared.run { [self] in try write(manifest) }
      try Task.checkCancellation()
      let place = extended == nil ? target : extensionPath(of: manifest)
      if extended == nil {
        // From here on nothing is at its place until `body` has put it there.
        try await BlockingPool.shared.run { [self] in try moveAside(target) }
      }
      let shared = try await body(place)
      let finding = try await checkPlaced(manifest, at: place, shared: shared)
      return try await BlockingPool.shared.run { [self] in
        // The next try begins with nothing: what it links it compares again, and what is not right it fetches.
        guard finding.isWhole else {
          if extended != nil { try moveAside(place) }
          throw StepFailure.retry(
            .storageFailure, cause: "what was placed at \(place) is not what was written")
        }
        if extended != nil { try exchange(place, for: target, of: manifest) }
        var record = LibraryRecord(
          manifest, placedAt: extended?.placedAt ?? now, sizeOnDisk: finding.sizeOnDisk,
          listedTitle: titles[manifest.product])
        record.lastOpened = extended?.lastOpened
        try database.save(record, stamps: finding.stamps)
        placements.note(finding.freshStamps, of: manifest)
        emptyTrash()
        leases.wakeUp.signal()
        return try dropUnwanted(of: record, manifest)
      }
    }
  }

  /// Looks at what was verified piece by piece as it was written, and synced: late enough after the last write
  /// that another change shows. What is shared with other content by a link is read: what was written to that content
  /// is written here.
  private func checkPlaced(
    _ manifest: Manifest, at path: String, shared: Set<Int>
  ) async throws -> ContentCheck.Finding {
    let depth = ContentCheck.Depth.written(shared: shared)
    let found = try await run(depth, on: manifest, at: path)
    guard found.isWhole, !found.freshStamps.isComplete else { return found }
    try await pauses.sleep(for: FileStamps.tick)
    return try await run(depth, on: manifest, at: path)
  }

  /// The item of content that an earlier process placed and had not recorded when it ended; nil when nothing is there, or
  /// something else. Reads every byte. The name and the manifest are durable before there is a record.
  package func recordPlaced(_ manifest: Manifest, at now: Timestamp) async throws -> LibraryItem? {
    // As behind ``place(_:at:_:)``.
    defer { withdrawals.signal() }
    return try await exclusion.run(manifest.product) {
      let target = directory(of: manifest.product, version: manifest.version)
      _ = try await readableRecord(of: manifest)
      try await takeExtension(of: manifest, to: target)
      let isThere = try await BlockingPool.shared.run { [operations] in
        try operations.status(of: target) != nil
      }
      guard isThere, let finding = try await findingIfReadable(manifest, at: target), finding.isWhole else {
        return nil
      }
      return try await BlockingPool.shared.run { [self] in
        // That process may have ended before it did this, and a record must not outlive its content.
        try operations.synchronizeDirectory(FileSystem.parent(of: target))
        try write(manifest)
        let known = try database.libraryRecord(of: manifest.product, version: manifest.version)
        let extended = known?.manifestDigest == manifest.manifestDigest ? known : nil
        var record = LibraryRecord(
          manifest, placedAt: extended?.placedAt ?? now, sizeOnDisk: finding.sizeOnDisk,
          listedTitle: titles[manifest.product])
        record.lastOpened = extended?.lastOpened
        try database.save(record, stamps: finding.stamps)
        // What it has taken the place of.
        emptyTrash()
        leases.wakeUp.signal()
        return try dropUnwanted(of: record, manifest)
      }
    }
  }

  /// The record of the manifest's content, whose files are in the tree that readers see from now on: they are worked on there.
  private func readableRecord(of manifest: Manifest) async throws -> LibraryRecord? {
    let record = try await BlockingPool.shared.run { [self] in
      try requireOnline()
      return try database.libraryRecord(of: manifest.product, version: manifest.version)
    }
    guard let record else { return nil }
    return try await putBack(record)
  }

  /// Nil where the folder cannot be read.
  private func findingIfReadable(
    _ manifest: Manifest, at path: String
  ) async throws -> ContentCheck.Finding? {
    do {
      return try await run(ContentCheck.Depth.everything, on: manifest, at: path)
    } catch let error as SystemError where error.isUnreadable {
      try await BlockingPool.shared.run { [self] in try requireOnline() }
      return nil
    }
  }

  /// Removes every version of the product, or those given, and returns the removed items. Versions that are
  /// not there are passed over. Files of other programs stay, beside the place.
  package func remove(
    _ product: ProductIdentifier, _ versions: [ContentVersion]? = nil
  ) async throws -> [LibraryItem] {
    try await exclusion.run(product) {
      try await BlockingPool.shared.run { [self] in
        try requireOnline()
        let records = try database.libraryRecords().filter {
          $0.product == product && versions?.contains($0.version) != false
        }
        let items = records.map { self.item($0) }
        try remove(records)
        return items
      }
    }
  }

  /// Removes content that was placed by `manifest` and has no record: the job was ended between the two, and
  /// is given up. Does nothing where there is a record.
  package func removeUnrecorded(_ manifest: Manifest) async throws {
    try await exclusion.run(manifest.product) {
      try await BlockingPool.shared.run { [self] in
        try requireOnline()
        guard try database.libraryRecord(of: manifest.product, version: manifest.version) == nil else {
          return
        }
        let record = LibraryRecord(
          manifest, placedAt: clock.now(), sizeOnDisk: .zero, listedTitle: titles[manifest.product])
        // What lies there by another manifest is another job's.
        guard try self.manifest(of: record) != nil else { return }
        try remove([record])
      }
    }
  }

  /// Takes content out, and its records. Blocks; the caller has the products to itself. Content goes before its record: after an end in
  /// between the next process finds it in the trash by its mark, and ends the removal; so it is where the record cannot be removed.
  package func remove(_ records: [LibraryRecord]) throws {
    for record in records {
      if !record.isWithdrawn {
        if let manifest = try manifest(of: record) {
          try settleExtension(of: manifest, at: directory(of: record))
        }
        try keepForeignFiles(of: record.product, record.version, beside: try ownFiles(of: record))
      }
      try moveAside(directory(of: record), marked: Self.removalMark(of: record))
      if record.isWithdrawn { try removeEmptyWithdrawnFolder(of: record) }
      try forget(record)
    }
    emptyTrash()
  }

  /// The state of a record's file or folder, found without reading it.
  enum Presence: Hashable, Sendable {
    case there
    case missing
    /// It cannot be looked at.
    case unreadable(SystemError)
  }

  /// Whether the record's file or folder lies in the library, whatever is in it. Blocks.
  func presence(of record: LibraryRecord) -> Presence {
    do throws(SystemError) {
      return try operations.status(of: path(of: record)) == nil ? .missing : .there
    } catch {
      return .unreadable(error)
    }
  }

  /// The server offers these versions of the products now. Answers what stands otherwise by that.
  package func noteOffered(_ offered: [ProductIdentifier: ContentVersion]) async throws -> [LibraryItem] {
    let changed = try await BlockingPool.shared.run { [database] in try database.noteOffered(offered) }
    guard !changed.isEmpty else { return [] }
    return try await items().filter { changed.contains($0.product) }
  }

  /// Everything that is placed, by product and version. What another program has removed, or does not come back from the
  /// device, shows as damaged. While the library is away all of them are offline, and nothing is thrown for
  /// that.
  package func items() async throws -> [LibraryItem] {
    try await BlockingPool.shared.run { [self] in
      let isOffline = try look() != .online
      return try database.libraryRecords().map { item(lookingAt: $0, isOffline: isOffline) }
    }
  }

  /// One of ``items()``; nil where that version is not placed.
  package func item(
    of product: ProductIdentifier, version: ContentVersion
  ) async throws -> LibraryItem? {
    try await BlockingPool.shared.run { [self] in
      let isOffline = try look() != .online
      return try database.libraryRecord(of: product, version: version)
        .map { item(lookingAt: $0, isOffline: isOffline) }
    }
  }

  private func item(lookingAt record: LibraryRecord, isOffline: Bool) -> LibraryItem {
    var record = record
    record.title = record.title ?? titles[record.product]
    if !isOffline {
      record.lastOpened = lastOpened(record)
      if presence(of: record) != .there { record.isDamaged = true }
    }
    return item(record, isOffline: isOffline)
  }
}
