import AgentRecords
import Commerce
import ContentPackage
import CoreTypes
import Files
package import PullboxAPI
import ServiceRuntime
import SystemCalls

// Content that was taken back lies in `LIBRARY/.withdrawn/PRODUCT/VERSION`, which only the agent's own user may enter, until it is owned
// again or room is needed. The record says where it belongs, and is written first; the rename follows it. Where a crash came between, the
// next look at the library does it, and where it failed, the next settling.
extension Library {
  /// The outcome of ``settleWithdrawals()``.
  package struct Settled: Sendable {
    /// The items that stand otherwise now.
    package var changed: [LibraryItem] = []
    /// Whether something could not be put where it belongs, for now.
    package var isPending = false
  }

  /// Puts content where it belongs: out of the tree that readers see, what the account does not own any more and its publisher does not
  /// leave to it; back, what is owned again, behind all that goes out. What comes back is compared with its manifest first, as far as files
  /// changed since they were right. A move that failed is tried again. Who has a file open reads on; a lease keeps nothing here. Content of
  /// which the server told nothing stays where it is.
  package func settleWithdrawals() async -> Settled {
    var settled = Settled()
    do {
      var due = try await BlockingPool.shared.run { [self] in
        try database.libraryRecords().filter { isMisplaced($0) || isLeftBehind($0) }
      }
      guard !due.isEmpty else { return settled }
      try await BlockingPool.shared.run { [self] in try requireOnline() }
      // What comes back is compared first, which takes its time.
      let back = due.partition { isMisplaced($0) == $0.isWithdrawn }
      for record in due[..<back] + due[back...] {
        do {
          if let item = try await settle(record) { settled.changed.append(item) }
        } catch {
          logUnsettled(record, error)
          settled.isPending = true
          // Its record may say it already.
          let current = try await BlockingPool.shared.run { [self] in
            try database.libraryRecord(of: record.product, version: record.version)
          }
          if let current, current.isWithdrawn != record.isWithdrawn {
            settled.changed.append(self.item(current))
          }
        }
      }
    } catch {
      // It is offline, or its records cannot be read: the log says so elsewhere.
      settled.isPending = true
    }
    return settled
  }

  /// Whether the item is not to be read, since it was taken back: it lies out of the readers' sight, or is about to. What its publisher
  /// leaves to those who have it is read on.
  package func isTakenBack(_ item: LibraryItem) -> Bool {
    item.withdrawn == true || ownership[item.product]?.withdrawsContent == true
  }

  private func logUnsettled(_ record: LibraryRecord, _ error: any Error) {
    log.warning(
      "content that was taken back, or given back, cannot be moved",
      ["path": LogValue(directory(of: record)), "error": LogValue(error)])
  }

  private func isMisplaced(_ record: LibraryRecord) -> Bool {
    guard let known = ownership[record.product] else { return false }
    return known.withdrawsContent != record.isWithdrawn
  }

  /// Whether content of it lies where its record says that it does not: the move failed behind the record. What another program has put at
  /// the readable place of what is hidden is no content. Blocks.
  private func isLeftBehind(_ record: LibraryRecord) -> Bool {
    do {
      let other = elsewhere(of: record)
      guard try operations.status(of: other) != nil else { return false }
      guard record.isWithdrawn else { return true }
      let names = try manifest(of: record)?.files.map(\.path.text) ?? record.name.map { [$0] } ?? []
      return try names.contains { try operations.status(of: "\(other)/\($0)") != nil }
    } catch {
      // The move tells why.
      return true
    }
  }

  /// The one of the two places of content that its record does not name.
  private func elsewhere(of record: LibraryRecord) -> String {
    var other = record
    other.isWithdrawn.toggle()
    return directory(of: other)
  }

  /// Nil where it stands right by now.
  private func settle(_ record: LibraryRecord) async throws -> LibraryItem? {
    try await exclusion.run(record.product) {
      let (current, isLeft) = try await BlockingPool.shared.run { [self] () -> (LibraryRecord?, Bool) in
        try requireOnline()
        let current = try database.libraryRecord(of: record.product, version: record.version)
        return (current, current.map(isLeftBehind) ?? false)
      }
      guard let current, isMisplaced(current) || isLeft else { return nil }
      if isMisplaced(current) ? current.isWithdrawn : !current.isWithdrawn {
        return self.item(try await giveBack(current))
      }
      return self.item(try await withdraw(current))
    }
  }

  /// The caller has the product to itself.
  private func withdraw(_ record: LibraryRecord) async throws -> LibraryRecord {
    var withdrawn = record
    withdrawn.isWithdrawn = true
    let readable = directory(of: record.product, version: record.version)
    try await BlockingPool.shared.run { [self] in
      if let manifest = try manifest(of: record) { try settleExtension(of: manifest, at: readable) }
      if let own = try ownFiles(of: record) {
        do throws(SystemError) {
          // A reader's own notes are not the agent's to take.
          try moveForeignFiles(from: readable, to: "\(readable).others", beside: own)
        } catch {
          guard error.isUnreadable || error.isFileMissing else { throw error }
        }
      }
      if !record.isWithdrawn { try database.setWithdrawn(true, of: record) }
    }
    try await keepOne(of: withdrawn)
    try await BlockingPool.shared.run { [self, withdrawn] in try putInPlace(withdrawn) }
    log.info(
      "content that was taken back was moved out of the library", ["path": LogValue(readable)])
    return withdrawn
  }

  /// The caller has the product to itself. Content that is damaged comes back as such, and is repaired as any other.
  func giveBack(_ record: LibraryRecord) async throws -> LibraryRecord {
    let isHidden = try await BlockingPool.shared.run { [self] in
      try record.isWithdrawn && operations.status(of: directory(of: record)) != nil
        && operations.status(of: elsewhere(of: record)) == nil
    }
    if isHidden { _ = try await check(record, everything: false) }
    let back = try await putBack(record)
    // A move that had failed before may have left it called missing.
    if !isHidden { _ = try await check(back, everything: false) }
    return try await BlockingPool.shared.run { [self] in
      let current = try database.libraryRecord(of: record.product, version: record.version) ?? back
      log.info("content is in the library again", ["path": LogValue(directory(of: current))])
      return current
    }
  }

  /// Answers the record as it is then: its content lies in the tree that readers see. The caller has the product to itself.
  func putBack(_ record: LibraryRecord) async throws -> LibraryRecord {
    var back = record
    back.isWithdrawn = false
    if record.isWithdrawn {
      try await BlockingPool.shared.run { [self] in try database.setWithdrawn(false, of: record) }
    }
    try await keepOne(of: back)
    try await BlockingPool.shared.run { [self, back] in try putInPlace(back) }
    return back
  }

  /// Where content lies at both of its places, keeps what is as its manifest says, and moves the other to the trash. What another program
  /// has put at the readable one stays beside it. The caller has the product to itself.
  private func keepOne(of record: LibraryRecord) async throws {
    let (readable, hidden) = places(of: record)
    let manifest = try await BlockingPool.shared.run { [self] () -> Manifest?? in
      guard try operations.status(of: readable) != nil, try operations.status(of: hidden) != nil else {
        return nil
      }
      return .some(try self.manifest(of: record))
    }
    guard let manifest else { return }
    var keepsReadable = try await isWhole(manifest, at: readable)
    if keepsReadable, record.isWithdrawn { keepsReadable = try await !isWhole(manifest, at: hidden) }
    try await BlockingPool.shared.run { [self, keepsReadable] in
      if keepsReadable {
        try moveAside(hidden)
      } else {
        try keepForeignFiles(of: record.product, record.version, beside: try ownFiles(of: record))
        try moveAside(readable)
      }
      emptyTrash()
    }
  }

  private func isWhole(_ manifest: Manifest?, at path: String) async throws -> Bool {
    guard let manifest else { return false }
    do {
      return try await run(.everything, on: manifest, at: path).isWhole
    } catch let error as SystemError where error.isUnreadable || error.isFileMissing {
      // A device that is gone gives nothing back either, and damages nothing.
      try await BlockingPool.shared.run { [self] in try requireOnline() }
      return false
    }
  }

  private func places(of record: LibraryRecord) -> (readable: String, hidden: String) {
    (
      directory(of: record.product, version: record.version),
      "\(paths.withdrawn)/\(record.product)/\(record.version)"
    )
  }

  /// Brings content to where its record says that it belongs, unless something is there. Blocks.
  private func putInPlace(_ record: LibraryRecord) throws(SystemError) {
    let (place, other) = (directory(of: record), elsewhere(of: record))
    if try operations.status(of: other) != nil, try operations.status(of: place) == nil {
      if record.isWithdrawn { try makeFolders(paths.withdrawn, permissions: 0o700) }
      try makeFolders(FileSystem.parent(of: place))
      try operations.rename(other, to: place, ifPresent: .refuse)
      try operations.synchronizeDirectory(FileSystem.parent(of: place))
      try operations.synchronizeDirectory(FileSystem.parent(of: other))
    }
    try removeEmptyWithdrawnFolder(of: record)
  }

  /// The product's folder there, once nothing is in it.
  func removeEmptyWithdrawnFolder(of record: LibraryRecord) throws(SystemError) {
    let folder = "\(paths.withdrawn)/\(record.product)"
    guard try operations.status(of: folder)?.kind == .directory, try operations.list(folder).isEmpty else {
      return
    }
    try operations.removeRecursively(folder)
  }

  /// Ends the moves that a crash has broken off. One that fails, or that finds something at both places, is left to
  /// ``settleWithdrawals()``. Blocks; nothing works on the library yet.
  func endMoves() throws {
    for record in try database.libraryRecords() {
      do throws(SystemError) {
        try putInPlace(record)
      } catch {
        logUnsettled(record, error)
      }
    }
  }
}
