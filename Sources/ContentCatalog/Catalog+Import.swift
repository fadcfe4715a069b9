import Commerce
import CoreTypes
import Database
import DeliveryRecords
import PullboxAPI
import PullboxAPIServer
import ServiceAPI
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
  ///   - conditions: checked against the items as they stand, in the same write.
  func importAll(
    _ body: [UInt8], by actor: String, mayChangeKeys: Bool, under conditions: WriteConditions = .none
  ) async throws -> CatalogImportReport {
    let items = try await items(of: body)
    let now = clock.now()
    defer { didChange() }
    let report = try await report(of: items, at: now) { prepared, connection in
      if conditions.isConditional { try conditions.check(try ImportBasis(prepared)) }
      return try write(prepared, by: actor, mayChangeKeys: mayChangeKeys, at: now, in: connection)
    }
    for publication in items.others.publications ?? [] {
      if let id = publication.id { try await didChangePolicy(id) }
    }
    return report
  }

  /// Answers what ``importAll(_:by:mayChangeKeys:under:)`` would change, and the tag of the items as they stand. Throws what that throws.
  /// The import is written, and undone.
  func planImport(
    _ body: [UInt8], by actor: String, mayChangeKeys: Bool
  ) async throws -> (plan: CatalogImportPlan, tag: String) {
    let items = try await items(of: body)
    let now = clock.now()
    do {
      _ = try await report(of: items, at: now) { prepared, connection in
        let changes = ImportChanges()
        let report = try write(
          prepared, by: actor, mayChangeKeys: mayChangeKeys, at: now, noting: changes, in: connection)
        throw Planned(
          plan: CatalogImportPlan(report: report, changes: changes.changes, hasMore: changes.hasMore),
          tag: EntityTag.of(try APIJSON.encode(try ImportBasis(prepared))))
      }
      throw Problem(.internalError, "the plan of an import was written")
    } catch let planned as Planned {
      return (planned.plan, planned.tag)
    }
  }

  /// The changes of an import, thrown so that its write is undone.
  private struct Planned: Error {
    var plan: CatalogImportPlan
    var tag: String
  }

  /// Throws `catalog-invalid` for too many items, and `request-malformed`.
  private func items(of body: [UInt8]) async throws -> ImportedCatalog {
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
    return items
  }

  /// Prepares and writes the import: within the write only where the catalog has changed each time, so that one which changes all the
  /// time does not put it off for ever.
  private func report(
    of items: ImportedCatalog, at now: Timestamp,
    _ write: @escaping @Sendable (PreparedImport, borrowing Connection) throws -> CatalogImportReport
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
        return try write(prepared, connection)
      }
      if let report { return report }
    }
  }

  /// Writes the prepared items: tiers first, then publications, then products, so that products find their
  /// tiers. Every refusal is collected; where there is one, all of the write is undone by what is thrown.
  private func write(
    _ prepared: PreparedImport, by actor: String, mayChangeKeys: Bool, at now: Timestamp,
    noting changes: ImportChanges? = nil, in connection: borrowing Connection
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
        let change = try Self.put(tier.document, before: tier.before, by: actor, at: now, in: connection)
        if change != .unchanged {
          try changes?.note(
            .priceTier, tier.document.value.name.description, before: tier.before, after: tier.document.text)
        }
        return change
      }
    }
    for (index, publication) in prepared.publications.enumerated() {
      try write("publications", index) {
        let change = try Self.put(publication, by: actor, at: now, in: connection)
        if change != .unchanged {
          try changes?.note(
            .publication, publication.document.value.id.description, before: publication.before,
            after: publication.document.text)
        }
        return change
      }
    }
    for index in 0..<prepared.productCount {
      try write("products", index) {
        let product = try prepared.product(index)
        let (change, entry) = try put(
          product, by: actor, mayChangeKeys: mayChangeKeys, at: now, in: connection)
        if change != .unchanged {
          try changes?.note(
            .product, entry.product.id.description, before: product.before?.product,
            after: product.document.text,
            sale: (product.before?.sale.rawValue, entry.sale.rawValue))
        }
        return change
      }
    }
    try faults.throwIfAny()
    return report
  }
}
