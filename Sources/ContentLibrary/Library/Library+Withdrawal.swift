import AgentRecords
import Commerce
import ContentPackage
import CoreTypes
package import PullboxAPI
import ServiceRuntime
import SystemCalls

// Content that was taken back lies in `LIBRARY/.withdrawn/PRODUCT/VERSION`, which only the agent's own user may enter, until it is owned
// again or room is needed. The record says where it belongs, and is written first; the rename follows it, and is done by the next look at
// the library where a crash came between.
extension Library {
  /// The outcome of ``settleWithdrawals()``.
  package struct Settled: Sendable {
    /// The items that stand otherwise now.
    package var changed: [LibraryItem] = []
    /// Whether something could not be put where it belongs, for now.
    package var isPending = false
  }

  /// Puts content where it belongs: out of the tree that readers see, what the account does not own any more and its publisher does not
  /// leave to it; back, what is owned again. What comes back is compared with its manifest first, as far as files changed since they were
  /// right. Who has a file open reads on; a lease keeps nothing here. Content of which the server told nothing stays where it is.
  package func settleWithdrawals() async -> Settled {
    var settled = Settled()
    do {
      let due = try await BlockingPool.shared.run { [self] in
        try database.libraryRecords().filter(isMisplaced)
      }
      guard !due.isEmpty else { return settled }
      try await BlockingPool.shared.run { [self] in try requireOnline() }
      for record in due {
        do {
          if let item = try await settle(record) { settled.changed.append(item) }
        } catch {
          logUnsettled(record, error)
          settled.isPending = true
        }
      }
    } catch {
      // It is offline, or its records cannot be read: the log says so elsewhere.
      settled.isPending = true
    }
    return settled
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

  /// Nil where it stands right by now.
  private func settle(_ record: LibraryRecord) async throws -> LibraryItem? {
    try await exclusion.run(record.product) {
      let current = try await BlockingPool.shared.run { [self] () -> LibraryRecord? in
        try requireOnline()
        return try database.libraryRecord(of: record.product, version: record.version)
      }
      guard let current, isMisplaced(current) else { return nil }
      if current.isWithdrawn { return self.item(try await giveBack(current)) }
      return self.item(try await BlockingPool.shared.run { [self] in try withdraw(current) })
    }
  }

  /// Blocks; the caller has the product to itself.
  private func withdraw(_ record: LibraryRecord) throws -> LibraryRecord {
    let readable = directory(of: record)
    if let manifest = try manifest(of: record) { try settleExtension(of: manifest, at: readable) }
    if let own = try ownFiles(of: record) {
      do throws(SystemError) {
        // A reader's own notes are not the agent's to take.
        try moveForeignFiles(from: readable, to: "\(readable).others", beside: own)
      } catch {
        guard error.isUnreadable || error.isFileMissing else { throw error }
      }
    }
    try database.setWithdrawn(true, of: record)
    var withdrawn = record
    withdrawn.isWithdrawn = true
    try putInPlace(withdrawn)
    log.info(
      "content that was taken back was moved out of the library", ["path": LogValue(readable)])
    return withdrawn
  }

  /// The caller has the product to itself. Content that is damaged comes back as such, and is repaired as any other.
  func giveBack(_ record: LibraryRecord) async throws -> LibraryRecord {
    _ = try await check(record, everything: false)
    return try await BlockingPool.shared.run { [self] in
      try putBack(record)
      let current = try database.libraryRecord(of: record.product, version: record.version) ?? record
      log.info("content is in the library again", ["path": LogValue(directory(of: current))])
      return current
    }
  }

  /// Blocks; the caller has the product to itself.
  func putBack(_ record: LibraryRecord) throws {
    guard record.isWithdrawn else { return }
    try database.setWithdrawn(false, of: record)
    var back = record
    back.isWithdrawn = false
    try putInPlace(back)
  }

  /// Brings content to where its record says that it belongs, unless it is there. What another program has put in its way stays beside it.
  /// Blocks.
  func putInPlace(_ record: LibraryRecord) throws {
    let readable = directory(of: record.product, version: record.version)
    let hidden = "\(paths.withdrawn)/\(record.product)/\(record.version)"
    let (place, other) = record.isWithdrawn ? (hidden, readable) : (readable, hidden)
    guard try operations.status(of: other) != nil else { return }
    if record.isWithdrawn {
      // What is hidden already is the content: what lies at its readable place has come since, from elsewhere.
      guard try operations.status(of: place) == nil else { return }
      try operations.createDirectories(paths.withdrawn, permissions: 0o700)
    } else if try operations.status(of: place) != nil {
      try keepForeignFiles(of: record.product, record.version, beside: OwnFiles([]))
      try moveAside(place)
    }
    try operations.createDirectories(FileSystem.parent(of: place))
    try operations.rename(other, to: place, ifPresent: .refuse)
    try operations.synchronizeDirectory(FileSystem.parent(of: place))
    try operations.synchronizeDirectory(FileSystem.parent(of: other))
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

  /// Ends the moves that a crash has broken off. Blocks; nothing works on the library yet.
  func endMoves() throws {
    let isThere = try operations.status(of: paths.withdrawn) != nil
    for record in try database.libraryRecords() where isThere || record.isWithdrawn {
      do {
        try putInPlace(record)
      } catch let error as SystemError where error.isUnreadable {
        // The look at each record tells of it.
        logUnsettled(record, error)
      }
    }
  }
}
