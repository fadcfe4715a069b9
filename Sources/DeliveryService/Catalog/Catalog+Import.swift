import Commerce
import CoreTypes
import Database
import PullboxAPI
import SystemCalls

/// Many products at once.
extension Catalog {
  /// Faults that a refusal names, at most.
  static let maximumImportFaults = 1000

  /// Makes every product as it is described, in one write: all of them or none. Throws `catalog-invalid` with the faults of
  /// all items, whose paths begin with `products.` and the item's number from 0, and `forbidden` as
  /// ``put(_:_:by:mayChangeKeys:under:)`` does.
  func importAll(
    _ items: CatalogImport, by actor: String, mayChangeKeys: Bool
  ) async throws -> CatalogImportReport {
    let described = try await BlockingPool.computing.run { () throws(Problem) in
      try Self.checked(items.products)
    }
    let now = clock.now()
    defer { didChange() }
    return try await database.write(locking: [.everything]) { connection in
      var report = CatalogImportReport(created: 0, changed: 0, unchanged: 0)
      for item in described {
        switch try Self.put(
          item.product, item.description, by: actor, mayChangeKeys: mayChangeKeys, at: now, in: connection)
        {
        case .created: report.created += 1
        case .changed: report.changed += 1
        case .unchanged: report.unchanged += 1
        }
      }
      return report
    }
  }

  private static func checked(
    _ items: [ProductDescription]
  ) throws(Problem) -> [(product: Product, description: ProductDescription)] {
    guard items.count <= CatalogImport.maximumItems else {
      throw Problem(.catalogInvalid, "at most \(CatalogImport.maximumItems) products at once")
    }
    var checked: [(product: Product, description: ProductDescription)] = []
    var faults: [Problem.Fault] = []
    var places: [ProductIdentifier: Int] = [:]
    for (index, item) in items.enumerated() where faults.count < maximumImportFaults {
      func add(_ code: String, at member: String, _ detail: String) {
        faults.append(Problem.Fault(code: code, path: "products.\(index).\(member)", detail: detail))
      }
      guard let id = item.id else {
        add("id-missing", at: "id", "each product of an import has an id")
        continue
      }
      if let other = places.updateValue(index, forKey: id) {
        add("id-twice", at: "id", "\(id) is item \(other) as well")
      }
      do throws(Problem) {
        checked.append((try ProductValidator.product(id, described: item), item))
      } catch {
        faults += (error.faults ?? []).map { fault in
          Problem.Fault(
            code: fault.code, path: "products.\(index).\(fault.path ?? "")", detail: fault.detail)
        }
      }
    }
    guard faults.isEmpty else {
      throw Problem(.catalogInvalid, faults: Array(faults.prefix(maximumImportFaults)))
    }
    return checked
  }
}
