import Commerce
import CoreTypes
import DeliveryRecords
import PullboxAPI
import ServiceAPI

/// An import whose items are good each by itself, with their documents and what the catalog says of them. Pure.
///
/// A product is kept as its document alone, and a document that is the same, byte for byte, as what was sent is not kept twice.
struct PreparedImport: Sendable {
  /// A product of the import that is good by itself.
  private struct PreparedProduct: Sendable {
    /// Where its document is.
    var place: DocumentPlace
    /// Whether the item wants it on sale; nil where it does not say.
    var isOnSale: Bool?
    /// Whether its document says what the catalog says already.
    var isKnown: Bool
    /// The product as the catalog has it; nil for a new one.
    var before: CatalogSnapshot.Entry?
  }

  /// The place of a product's document in memory.
  private enum DocumentPlace {
    /// In the body, as the item of that number.
    case sent(Int)
    /// Among the texts that were made here.
    case kept(TextSegments.Place)
  }

  /// The publications, in the order of the import.
  private(set) var publications: [Catalog.WantedPublication] = []
  /// The price tiers, in the order of the import, each with what it was.
  private(set) var tiers: [(document: EncodedDocument<PriceTier>, before: PriceTier?)] = []
  private let told: ImportedCatalog
  private var products: [PreparedProduct] = []
  /// The documents that differ from what was sent, in the order of their products.
  private var documents = TextSegments()

  /// Throws `catalog-invalid` with every fault, and `request-malformed` for a product that cannot be read. What is behind the last
  /// fault that is told is not looked at.
  init(_ told: ImportedCatalog, beside catalog: CatalogSnapshot, at now: Timestamp) throws {
    self.told = told
    let others = told.others
    let members = others.members.map { ImportedMembers(members: Set($0)) }
    let faults = ImportFaults()
    try faults.check(others.priceTiers ?? [], "priceTiers", "name", \.name) { name, item in
      var item = item
      let before = catalog.tier(name)
      if let members, let before { item.prices = members.prices(item.prices, before: before.prices) }
      tiers.append((try EncodedDocument(try Catalog.checked(name, item)), before))
    }
    try faults.check(others.publications ?? [], "publications", "id", \.id) { id, item in
      var item = item
      let before = catalog.described[id]
      if let members, let before { item = members.completing(item, of: before) }
      publications.append(
        try Catalog.WantedPublication(
          id, try PublicationValidator.checked(item, for: id), before: before, at: now))
    }
    products.reserveCapacity(told.productCount)
    var names = ImportFaults.Names<ProductIdentifier>(list: "products", member: "id")
    for index in 0..<told.productCount where !faults.areMany {
      let item = try told.product(index)
      try faults.check(item.id, at: index, among: &names) { id in
        products.append(try prepare(item, id, at: index, before: catalog[id], completing: members))
      }
    }
    try faults.throwIfAny()
  }

  /// Checks one product and keeps its document.
  private mutating func prepare(
    _ item: ProductDescription, _ id: ProductIdentifier, at index: Int,
    before: CatalogSnapshot.Entry?, completing members: ImportedMembers?
  ) throws -> PreparedProduct {
    var item = item
    if let members, let before { item = members.completing(item, of: before.product) }
    let wanted = try Catalog.WantedProduct(
      try ProductValidator.product(id, described: item), item, before: before?.row)
    let document = wanted.document.text
    let isSent = document.utf8.elementsEqual(told.bytes[told.place(of: index)])
    return PreparedProduct(
      place: isSent ? .sent(index) : .kept(documents.append(document)), isOnSale: wanted.isOnSale,
      isKnown: before?.product.isDescribed(as: wanted.document.value) == true, before: before)
  }
}

/// The products, in the order of the import.
extension PreparedImport {
  var productCount: Int { products.count }

  /// Throws `DecodingError` for what this could not have written. Decodes the document, unless the catalog has
  /// the same product.
  func product(_ index: Int) throws -> Catalog.WantedProduct {
    let prepared = products[index]
    let text =
      switch prepared.place {
      case .sent(let index): String(decoding: told.bytes[told.place(of: index)], as: UTF8.self)
      case .kept(let place): documents[place]
      }
    let before = prepared.before?.row
    let document =
      if prepared.isKnown, let before {
        EncodedDocument(before.product, written: text)
      } else {
        try EncodedDocument<Product>(decoding: text)
      }
    return Catalog.WantedProduct(document, before: before, isOnSale: prepared.isOnSale)
  }
}

/// Collects what is wrong with the items of an import, at most ``Catalog/maximumImportFaults``.
final class ImportFaults {
  /// The names of the items of one list, and where each is.
  package struct Names<Name: Hashable> {
    /// The member of the import that has the list.
    package let list: String
    /// The member of an item that has its name.
    package let member: String
    /// The item that each name was found at first.
    fileprivate var places: [Name: Int32] = [:]

    package init(list: String, member: String) {
      self.list = list
      self.member = member
    }
  }

  private var faults: [Problem.Fault] = []

  /// Whether no more are told.
  var areMany: Bool { faults.count >= Catalog.maximumImportFaults }

  /// Calls `body` with the item's name where it has one; what `body` refuses is told of that item.
  func check<Name: Hashable>(
    _ name: Name?, at index: Int, among names: inout Names<Name>, _ body: (Name) throws -> Void
  ) rethrows {
    let place = "\(names.list).\(index)"
    guard let name else {
      faults.append(
        Problem.Fault(
          code: "id-missing", path: "\(place).\(names.member)",
          detail: "each item of an import has its name"))
      return
    }
    if let other = names.places.updateValue(Int32(index), forKey: name) {
      faults.append(
        Problem.Fault(
          code: "id-twice", path: "\(place).\(names.member)", detail: "\(name) is item \(other) as well"))
    }
    do {
      try body(name)
    } catch let problem as Problem {
      add(problem, inside: place)
    }
  }

  /// The same with every item of a list that is decoded.
  func check<Item, Name: Hashable>(
    _ items: [Item], _ list: String, _ member: String, _ name: KeyPath<Item, Name?>,
    _ body: (Name, Item) throws -> Void
  ) rethrows {
    var names = Names<Name>(list: list, member: member)
    for (index, item) in items.enumerated() where !areMany {
      try check(item[keyPath: name], at: index, among: &names) { try body($0, item) }
    }
  }

  /// `place` is an item's. A problem without faults is one of the item itself.
  func add(_ problem: Problem, inside place: String) {
    let told =
      problem.faults ?? [
        Problem.Fault(
          code: problem.code?.text ?? "refused", path: "id", detail: problem.detail ?? "it is refused")
      ]
    faults += told.map {
      Problem.Fault(code: $0.code, path: "\(place).\($0.path ?? "")", detail: $0.detail)
    }
  }

  /// Throws `catalog-invalid`.
  func throwIfAny() throws(Problem) {
    guard faults.isEmpty else {
      throw Problem(.catalogInvalid, faults: Array(faults.prefix(Catalog.maximumImportFaults)))
    }
  }
}
