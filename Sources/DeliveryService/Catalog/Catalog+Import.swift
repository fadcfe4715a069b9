import Commerce
import CoreTypes
import Database
import PullboxAPI
import SystemCalls

/// Many products at once, with the publications and price tiers that they name.
extension Catalog {
  /// Faults that a refusal names, at most.
  static let maximumImportFaults = 1000

  /// Makes everything as it is described, in one write: all of it or nothing. Throws `catalog-invalid` with the faults of all
  /// items, whose paths begin with `products.`, `publications.` or `priceTiers.` and the item's number from 0, those of items that
  /// ``put(_:_:by:mayChangeKeys:under:)`` refuses among them. An import that names its members leaves everything else as it stands.
  func importAll(
    _ items: CatalogImport, by actor: String, mayChangeKeys: Bool
  ) async throws -> CatalogImportReport {
    guard (items.members?.count ?? 0) <= CatalogImport.maximumMembers else {
      throw Problem(.catalogInvalid, "at most \(CatalogImport.maximumMembers) members")
    }
    let whole: CheckedImport? =
      items.members != nil
      ? nil
      : try await BlockingPool.computing.run {
        try CheckedImport(items)
      }
    let now = clock.now()
    let types = try await cache.current()
    defer { didChange() }
    let report = try await database.write(locking: [.everything]) { connection in
      let described = try whole ?? CheckedImport(try items.completed(in: connection))
      var report = CatalogImportReport(created: 0, changed: 0, unchanged: 0)
      func count(_ change: Change) {
        switch change {
        case .created: report.created += 1
        case .changed: report.changed += 1
        case .unchanged: report.unchanged += 1
        }
      }
      // What is known in the database alone: the tier that a product names, its sale, its keys, what was bought.
      var faults: [Problem.Fault] = []
      func write(_ list: String, _ index: Int, _ body: () throws -> Change) throws {
        guard faults.count < Self.maximumImportFaults else { return }
        do {
          count(try body())
        } catch let problem as Problem {
          let told =
            problem.faults ?? [
              Problem.Fault(
                code: problem.code?.text ?? "refused", path: "id", detail: problem.detail ?? "it is refused")
            ]
          faults += told.map { $0.inside("\(list).\(index)") }
        }
      }
      for (index, tier) in described.tiers.enumerated() {
        try write("priceTiers", index) {
          try Self.put(
            tier, before: try PriceTierTable.find(tier.name, in: connection), by: actor, at: now,
            in: connection)
        }
      }
      for (index, (id, description)) in described.publications.enumerated() {
        try write("publications", index) {
          let before = try PublicationTable.find(id, in: connection)
          return try Self.put(
            OperatorPublication(of: id, description, before: before, at: now), before: before, by: actor,
            at: now, in: connection)
        }
      }
      let changing = described.products.map(\.described.product).filter { product in
        types[product.id].map { $0.product.type != product.type } ?? false
      }.map(\.id)
      guard changing.count <= ProductTable.maximumTypeChanges else {
        throw Problem(
          .catalogInvalid, "an import changes the type of \(ProductTable.maximumTypeChanges) products at most"
        )
      }
      let bought = try ProductTable.bought(among: changing, in: connection)
      let asked = Set(changing)
      for (index, item) in described.products.enumerated() {
        try write("products", index) {
          let id = item.described.product.id
          return try put(
            item.described, item.description, by: actor, mayChangeKeys: mayChangeKeys, at: now, in: connection
          ) { connection in
            asked.contains(id) ? bought.contains(id) : try ProductTable.isBought(id, in: connection)
          }
        }
      }
      guard faults.isEmpty else {
        throw Problem(.catalogInvalid, faults: Array(faults.prefix(Self.maximumImportFaults)))
      }
      return report
    }
    for publication in items.publications ?? [] {
      if let id = publication.id { try await didChangePolicy(id) }
    }
    return report
  }
}

/// An import whose items are good each by itself. Pure.
private struct CheckedImport: Sendable {
  var products: [(described: ProductTable.Described, description: ProductDescription)] = []
  var publications: [(id: ProductIdentifier, description: PublicationDescription)] = []
  var tiers: [PriceTier] = []

  /// Throws `catalog-invalid` with every fault.
  init(_ items: CatalogImport) throws {
    let others = (items.publications?.count ?? 0) + (items.priceTiers?.count ?? 0)
    guard items.products.count <= CatalogImport.maximumItems, others <= CatalogImport.maximumItems else {
      throw Problem(.catalogInvalid, "at most \(CatalogImport.maximumItems) products at once")
    }
    var faults: [Problem.Fault] = []
    Self.check(items.priceTiers ?? [], "priceTiers", "name", \.name, &faults) {
      name, item throws(Problem) in
      tiers.append(try Catalog.checked(name, item))
    }
    Self.check(items.publications ?? [], "publications", "id", \.id, &faults) {
      id, item throws(Problem) in
      publications.append((id, try PublicationValidator.checked(item, for: id)))
    }
    var checked: [(product: Product, description: ProductDescription)] = []
    Self.check(items.products, "products", "id", \.id, &faults) { id, item throws(Problem) in
      checked.append((try ProductValidator.product(id, described: item), item))
    }
    guard faults.isEmpty else {
      throw Problem(.catalogInvalid, faults: Array(faults.prefix(Catalog.maximumImportFaults)))
    }
    products = try checked.map { (try ProductTable.Described($0.product), $0.description) }
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
