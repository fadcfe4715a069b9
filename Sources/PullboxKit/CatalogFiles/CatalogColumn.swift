import Commerce
import CoreTypes
import PullboxAPI

/// A column of a catalog's file of comma-separated values.
enum CatalogColumn: Hashable {
  case id
  case type
  case publication
  case publicationDate
  case period
  case onSale
  /// Paths, each on a line of its cell.
  case samples
  case title(locale: String)
  case description(locale: String)
  case price(territory: String)

  private static let plain: [(name: String, column: CatalogColumn)] = [
    ("id", .id), ("type", .type), ("publication", .publication), ("publicationDate", .publicationDate),
    ("period", .period), ("onSale", .onSale), ("samples", .samples),
  ]

  init?(_ name: String) {
    if let known = Self.plain.first(where: { $0.name == name }) {
      self = known.column
      return
    }
    let parts = name.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[1].isEmpty else { return nil }
    switch parts[0] {
    case "title": self = .title(locale: parts[1])
    case "description": self = .description(locale: parts[1])
    case "price": self = .price(territory: parts[1])
    default: return nil
    }
  }

  /// As the first row has it.
  var name: String {
    switch self {
    case .title(let locale): "title:\(locale)"
    case .description(let locale): "description:\(locale)"
    case .price(let territory): "price:\(territory)"
    default: Self.plain.first { $0.column == self }?.name ?? ""
    }
  }

  /// The columns that `header` names. Throws ``CatalogFileFault``.
  static func columns(of header: CSVReader.Row) throws(CatalogFileFault) -> [CatalogColumn] {
    var columns: [CatalogColumn] = []
    for name in header.cells {
      guard let column = CatalogColumn(CSVText.value(name)) else {
        throw CatalogFileFault(
          line: header.line, .header,
          "no column is named '\(name)'; there are \(plain.map(\.name).joined(separator: ", ")), title:LOCALE, "
            + "description:LOCALE and price:TERRITORY")
      }
      guard !columns.contains(column) else {
        throw CatalogFileFault(line: header.line, .header, "the column \(name) is there twice")
      }
      columns.append(column)
    }
    guard columns.contains(.id) else {
      throw CatalogFileFault(line: header.line, .header, "there is no column id")
    }
    return columns
  }

  /// The columns that these products need, always in one order.
  static func columns(for products: [ProductDescription]) -> [CatalogColumn] {
    let locales = Set(products.flatMap { ($0.localizations ?? [:]).keys }).sorted()
    let territories = Set(products.flatMap { ($0.prices ?? [:]).keys }).sorted()
    return plain.map(\.column)
      + locales.flatMap { [CatalogColumn.title(locale: $0), .description(locale: $0)] }
      + territories.map { .price(territory: $0) }
  }

  /// The product of a row. Throws ``CatalogFileFault`` at the first cell that its column cannot have.
  static func product(
    in row: CSVReader.Row, _ columns: [CatalogColumn]
  ) throws(CatalogFileFault) -> ProductDescription {
    guard row.cells.count == columns.count else {
      throw CatalogFileFault(
        line: row.line, .columns, "\(row.cells.count) cells, where the first row has \(columns.count)")
    }
    var product = ProductDescription()
    for (column, cell) in zip(columns, row.cells) where !cell.isEmpty {
      let value = CSVText.value(cell)
      guard column.set(value, of: &product) else {
        throw CatalogFileFault(line: row.line, .cell, "\(column.name) cannot be '\(value.prefix(100))'")
      }
    }
    guard product.id != nil else { throw CatalogFileFault(line: row.line, .cell, "id is missing") }
    return product
  }

  /// False where the column cannot have that text.
  private func set(_ text: String, of product: inout ProductDescription) -> Bool {
    func assign<Value>(_ value: Value?, to member: WritableKeyPath<ProductDescription, Value?>) -> Bool {
      product[keyPath: member] = value
      return value != nil
    }
    switch self {
    case .id: return assign(ProductIdentifier(text), to: \.id)
    case .type: return assign(ProductType(rawValue: text), to: \.type)
    case .publication: return assign(ProductIdentifier(text), to: \.publication)
    case .publicationDate: return assign(Timestamp(rfc3339: text), to: \.publicationDate)
    case .period: return assign(BillingPeriod(text), to: \.period)
    case .onSale: return assign(["true": true, "false": false][text], to: \.onSale)
    case .samples: return assign(text.split(separator: "\n").map(String.init), to: \.samples)
    case .title(let locale): product[texts: locale].title = text
    case .description(let locale): product[texts: locale].description = text
    case .price(let territory):
      let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, let price = Price(amount: parts[0], currency: parts[1]) else { return false }
      product.prices = (product.prices ?? [:]).merging([territory: price]) { _, new in new }
    }
    return true
  }

  /// What the column says of a product; empty for nothing.
  func text(of product: ProductDescription) -> String {
    switch self {
    case .id: product.id?.description ?? ""
    case .type: product.type?.rawValue ?? ""
    case .publication: product.publication?.description ?? ""
    case .publicationDate: product.publicationDate?.description ?? ""
    case .period: product.period?.description ?? ""
    case .onSale: product.onSale.map { "\($0)" } ?? ""
    case .samples: product.samples?.joined(separator: "\n") ?? ""
    case .title(let locale): product.localizations?[locale]?.title ?? ""
    case .description(let locale): product.localizations?[locale]?.description ?? ""
    case .price(let territory):
      product.prices?[territory].map { "\($0.amount) \($0.currency)" } ?? ""
    }
  }
}

extension ProductDescription {
  /// The texts of one language, empty ones where there are none yet.
  fileprivate subscript(texts locale: String) -> Product.Localization {
    get { localizations?[locale] ?? Product.Localization(title: "", description: "") }
    set { localizations = (localizations ?? [:]).merging([locale: newValue]) { _, new in new } }
  }
}
