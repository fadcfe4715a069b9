import AgentRecords
package import Commerce
import CoreTypes
package import PullboxAPI
import ServiceRuntime
import SystemCalls

/// The versions of one product beside each other: which one is read, how long an earlier one stays, and the way back to it.
extension Library {
  /// A lease of a version, of the one that is read now unless it is named; nil where the library does not hold it. Throws
  /// ``LibraryOfflineError``, and `too-many-requests` for a lease too many.
  package func lease(
    _ product: ProductIdentifier, _ version: ContentVersion?
  ) async throws -> (item: LibraryItem, lease: LibraryLeases.Lease, end: AsyncStream<Never>)? {
    try await exclusion.run(product) {
      try await BlockingPool.shared.run { [self] in try requireOnline() }
      let items = try await items().filter { $0.product == product }
      let chosen =
        version.map { version in items.first { $0.version == version } } ?? items.current(of: product)
      guard let item = chosen else { return nil }
      if let record = try await BlockingPool.shared.run({ [self] in
        try database.libraryRecord(of: product, version: item.version)
      }) {
        try Self.requireReadable(record)
      }
      guard let (lease, end) = leases.take(product, item.version) else {
        throw Problem(
          .tooManyRequests, "at most \(LibraryLeases.maximumCount) versions are kept open at once",
          retryAfterSeconds: 5)
      }
      return (item, lease, end)
    }
  }

  /// Removes the versions that a later one has replaced for as long, but for those that are open or pinned, and answers them. Content is
  /// replaced by a later version that is whole and was not taken back.
  ///
  /// - Parameter busy: products of which nothing is removed.
  package func removeReplaced(
    after time: Duration, except busy: Set<ProductIdentifier> = []
  ) async throws -> [LibraryItem] {
    let due = try await BlockingPool.shared.run { [self] () -> [LibraryRecord] in
      guard try look() == .online else { return [] }
      return try replaced(after: time)
    }
    var removed: [LibraryItem] = []
    for record in due where !busy.contains(record.product) {
      let item = try await exclusion.run(record.product) {
        try await BlockingPool.shared.run { [self] () -> LibraryItem? in
          // It may have been opened, pinned, or become the one that is read.
          guard try look() == .online, try replaced(after: time).contains(record) else { return nil }
          let item = self.item(record)
          try remove([record])
          return item
        }
      }
      guard let item else { continue }
      log.info(
        "a version that a later one has replaced was removed", ["path": LogValue(directory(of: record))])
      removed.append(item)
    }
    return removed
  }

  /// Blocks.
  private func replaced(after time: Duration) throws -> [LibraryRecord] {
    let now = clock.now()
    return ReplacedVersions.due(in: try database.libraryRecords(), after: time, at: now).filter { record in
      !leases.holds(record.product, record.version)
    }
  }

  /// Goes back to an earlier version, the one before unless it is named, or on to a later one: from now on it is the version that is read,
  /// until a newer one comes. Answers the product's items; nil where the library holds none. Throws `version-unknown` for a version that it
  /// does not hold, and `state-conflict` where there is none to go back to.
  package func goBack(_ product: ProductIdentifier, to version: ContentVersion?) async throws
    -> [LibraryItem]?
  {
    let isHeld = try await exclusion.run(product) {
      try await BlockingPool.shared.run { [self] () -> Bool in
        try requireOnline()
        let records = try database.libraryRecords().filter { $0.product == product }
        guard !records.isEmpty else { return false }
        try database.goBack(product, to: try ReplacedVersions.target(among: records, named: version))
        return true
      }
    }
    guard isHeld else { return nil }
    return try await items().filter { $0.product == product }
  }
}
