import Commerce
import CoreTypes
import Database
import PullboxAPI
import SystemCalls

/// Many products at once, with the publications and price tiers that they name. See docs/catalogue.md ("Many at
/// once").
extension Catalog {
  /// Faults that a refusal names, at most.
  static let maximumImportFaults = 1000
  /// How often an import is prepared beside the catalog as it is, before that is done within the write.
  private static let maximumImportAttempts = 3

  /// Makes everything as it is described, in one write: all of it or nothing. Throws `catalog-invalid` with the faults of all
  /// items, whose paths begin with `products.`, `publications.` or `priceTiers.` and the item's number from 0, those of items that
  /// ``put(_:_:by:mayChangeKeys:under:)`` refuses among them. An import that names its members leaves everything else as it stands.
  ///
  /// The items are checked on a thread for computations. The write has a commit of its own and locks
  /// everything. Policies of publications are applied after it, one after the other, also to those that stayed
  /// as they were.
  ///
  /// - Parameters:
  ///   - body: the JSON document, of at most ``CatalogImport/maximumItems`` products.
  ///   - actor: the name in the audit log.
  ///   - mayChangeKeys: whether publishers' keys of products that exist may change.
  func importAll(
    _ body: [UInt8], by actor: String, mayChangeKeys: Bool
  ) async throws -> CatalogImportReport {
    let items = try await BlockingPool.computing.run { () throws(Problem) in try ImportedCatalog(body) }
    let others = items.others
    guard (others.members?.count ?? 0) <= CatalogImport.maximumMembers else {
      throw Problem(.catalogInvalid, "at most \(CatalogImport.maximumMembers) members")
    }
    guard
      (others.publications?.count ?? 0) + (others.priceTiers?.count ?? 0) <= CatalogImport.maximumItems
    else {
      throw Problem(
        .catalogInvalid, "at most \(CatalogImport.maximumItems) publications and price tiers at once")
    }
    let now = clock.now()
    defer { didChange() }
    let report = try await report(of: items, by: actor, mayChangeKeys: mayChangeKeys, at: now)
    for publication in others.publications ?? [] {
      if let id = publication.id { try await didChangePolicy(id) }
    }
    return report
  }

  /// Prepares and writes the import: within the write only where the catalog has changed each time, so that one which changes all the
  /// time does not put it off for ever.
  private func report(
    of items: ImportedCatalog, by actor: String, mayChangeKeys: Bool, at now: Timestamp
  ) async throws -> CatalogImportReport {
    var attempts = 0
    while true {
      let catalog = try await cache.current()
      let prepared = try await BlockingPool.computing.run {
        try PreparedImport(items, beside: catalog, at: now)
      }
      attempts += 1
      let isLast = attempts == Self.maximumImportAttempts
      let report = try await database.write(locking: [.everything], committing: .alone) {
        connection -> CatalogImportReport? in
        let isCurrent = try catalog.isCurrent(in: connection)
        guard isCurrent || isLast else { return nil }
        let prepared =
          try isCurrent
          ? prepared : PreparedImport(items, beside: catalog.updated(in: connection), at: now)
        return try write(prepared, by: actor, mayChangeKeys: mayChangeKeys, at: now, in: connection)
      }
      if let report { return report }
    }
  }

  /// Writes the prepared items: tiers first, then publications, then products, so that products find their
  /// tiers. Every refusal is collected; where there is one, all of the write is undone by what is thrown.
  private func write(
    _ prepared: PreparedImport, by actor: String, mayChangeKeys: Bool, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> CatalogImportReport {
    var report = CatalogImportReport(created: 0, changed: 0, unchanged: 0)
    // What is known in the database alone: the tier that a product names, its sale, its keys, what was bought.
    let faults = ImportFaults()
    func write(_ list: String, _ index: Int, _ body: () throws -> Change) throws {
      guard !faults.areMany else { return }
      do {
        switch try body() {
        case .created: report.created += 1
        case .changed: report.changed += 1
        case .unchanged: report.unchanged += 1
        }
      } catch let problem as Problem {
        faults.add(problem, inside: "\(list).\(index)")
      }
    }
    for (index, tier) in prepared.tiers.enumerated() {
      try write("priceTiers", index) {
        try Self.put(tier.document, before: tier.before, by: actor, at: now, in: connection)
      }
    }
    for (index, publication) in prepared.publications.enumerated() {
      try write("publications", index) {
        try Self.put(publication, by: actor, at: now, in: connection)
      }
    }
    for index in 0..<prepared.productCount {
      try write("products", index) {
        let product = try prepared.product(index)
        return try put(product, by: actor, mayChangeKeys: mayChangeKeys, at: now, in: connection).0
      }
    }
    try faults.throwIfAny()
    return report
  }
}
