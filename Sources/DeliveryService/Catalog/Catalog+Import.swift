import Commerce
import CoreTypes
import Database
import PullboxAPI
import SystemCalls

/// Many products at once, with the publications and price tiers that they name.
extension Catalog {
  /// Faults that a refusal names, at most.
  static let maximumImportFaults = 1000
  /// How often an import is prepared beside the catalog as it is, before that is done within the write.
  private static let maximumImportAttempts = 3

  /// Makes everything as it is described, in one write: all of it or nothing. Throws `catalog-invalid` with the faults of all
  /// items, whose paths begin with `products.`, `publications.` or `priceTiers.` and the item's number from 0, those of items that
  /// ``put(_:_:by:mayChangeKeys:under:)`` refuses among them. An import that names its members leaves everything else as it stands.
  func importAll(
    _ items: CatalogImport, by actor: String, mayChangeKeys: Bool
  ) async throws -> CatalogImportReport {
    guard (items.members?.count ?? 0) <= CatalogImport.maximumMembers else {
      throw Problem(.catalogInvalid, "at most \(CatalogImport.maximumMembers) members")
    }
    let now = clock.now()
    defer { didChange() }
    let report = try await report(of: items, by: actor, mayChangeKeys: mayChangeKeys, at: now)
    for publication in items.publications ?? [] {
      if let id = publication.id { try await didChangePolicy(id) }
    }
    return report
  }

  /// Prepares and writes the import: within the write only where the catalog has changed each time, so that one which changes all the
  /// time does not put it off for ever.
  private func report(
    of items: CatalogImport, by actor: String, mayChangeKeys: Bool, at now: Timestamp
  ) async throws -> CatalogImportReport {
    var attempts = 0
    while true {
      let catalog = try await cache.current()
      let prepared = try await BlockingPool.computing.run {
        try PreparedImport(items, beside: catalog, at: now)
      }
      attempts += 1
      let isLast = attempts == Self.maximumImportAttempts
      let report = try await database.write(locking: [.everything]) { connection -> CatalogImportReport? in
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

  private func write(
    _ prepared: PreparedImport, by actor: String, mayChangeKeys: Bool, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> CatalogImportReport {
    var report = CatalogImportReport(created: 0, changed: 0, unchanged: 0)
    // What is known in the database alone: the tier that a product names, its sale, its keys, what was bought.
    var faults: [Problem.Fault] = []
    func write(_ list: String, _ index: Int, _ body: () throws -> Change) throws {
      guard faults.count < Self.maximumImportFaults else { return }
      do {
        switch try body() {
        case .created: report.created += 1
        case .changed: report.changed += 1
        case .unchanged: report.unchanged += 1
        }
      } catch let problem as Problem {
        let told =
          problem.faults ?? [
            Problem.Fault(
              code: problem.code?.text ?? "refused", path: "id", detail: problem.detail ?? "it is refused")
          ]
        faults += told.map { $0.inside("\(list).\(index)") }
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
    for (index, product) in prepared.products.enumerated() {
      try write("products", index) {
        try put(product, by: actor, mayChangeKeys: mayChangeKeys, at: now, in: connection).0
      }
    }
    guard faults.isEmpty else {
      throw Problem(.catalogInvalid, faults: Array(faults.prefix(Self.maximumImportFaults)))
    }
    return report
  }
}

/// An import whose items are good each by itself, with their documents and what the catalog says of them. Pure.
private struct PreparedImport: Sendable {
  var products: [Catalog.WantedProduct] = []
  var publications: [Catalog.WantedPublication] = []
  var tiers: [(document: EncodedDocument<PriceTier>, before: PriceTier?)] = []

  /// Throws `catalog-invalid` with every fault.
  init(_ told: CatalogImport, beside catalog: CatalogSnapshot, at now: Timestamp) throws {
    let others = (told.publications?.count ?? 0) + (told.priceTiers?.count ?? 0)
    guard told.products.count <= CatalogImport.maximumItems, others <= CatalogImport.maximumItems else {
      throw Problem(.catalogInvalid, "at most \(CatalogImport.maximumItems) products at once")
    }
    let items = told.completed(by: catalog)
    var faults: [Problem.Fault] = []
    var tiers: [PriceTier] = []
    Self.check(items.priceTiers ?? [], "priceTiers", "name", \.name, &faults) {
      name, item throws(Problem) in
      tiers.append(try Catalog.checked(name, item))
    }
    var publications: [(id: ProductIdentifier, description: PublicationDescription)] = []
    Self.check(items.publications ?? [], "publications", "id", \.id, &faults) {
      id, item throws(Problem) in
      publications.append((id, try PublicationValidator.checked(item, for: id)))
    }
    var products: [(product: Product, description: ProductDescription)] = []
    Self.check(items.products, "products", "id", \.id, &faults) { id, item throws(Problem) in
      products.append((try ProductValidator.product(id, described: item), item))
    }
    guard faults.isEmpty else {
      throw Problem(.catalogInvalid, faults: Array(faults.prefix(Catalog.maximumImportFaults)))
    }
    self.tiers = try tiers.map { (try EncodedDocument($0), catalog.tier($0.name)) }
    self.publications = try publications.map { id, description in
      try Catalog.WantedPublication(id, description, before: catalog.described[id], at: now)
    }
    self.products = try products.map { product, description in
      try Catalog.WantedProduct(product, description, before: catalog[product.id]?.row)
    }
  }

  /// Calls `body` with each item that has a name of its own.
  private static func check<Item, Name: Hashable>(
    _ items: [Item], _ list: String, _ member: String, _ name: KeyPath<Item, Name?>,
    _ faults: inout [Problem.Fault], _ body: (Name, Item) throws(Problem) -> Void
  ) {
    var places: [Name: Int] = [:]
    for (index, item) in items.enumerated() where faults.count < Catalog.maximumImportFaults {
      let place = "\(list).\(index)"
      guard let name = item[keyPath: name] else {
        faults.append(
          Problem.Fault(
            code: "id-missing", path: "\(place).\(member)", detail: "each item of an import has its name"))
        continue
      }
      if let other = places.updateValue(index, forKey: name) {
        faults.append(
          Problem.Fault(
            code: "id-twice", path: "\(place).\(member)", detail: "\(name) is item \(other) as well"))
      }
      do throws(Problem) {
        try body(name, item)
      } catch {
        faults += (error.faults ?? []).map { $0.inside(place) }
      }
    }
  }
}

extension Problem.Fault {
  /// The same of an item in a list.
  fileprivate func inside(_ place: String) -> Problem.Fault {
    Problem.Fault(code: code, path: "\(place).\(path ?? "")", detail: detail)
  }
}
