import Commerce
import CoreTypes
import PullboxAPI
import ServiceAPI

/// A column of a catalog's file of comma-separated values.
enum CatalogColumn: Hashable {
  /// The kind of item that a row describes; an empty cell means a product.
  enum Kind: String {
    case product
    case publication
    case priceTier = "price-tier"
  }

  case kind
  case id
  case member(CatalogMember)

  /// Every file that is written has them.
  private static let plain: [CatalogColumn] =
    [.id] + [.type, .publication, .publicationDate, .period, .onSale, .samples].map { .member(.plain($0)) }

  /// Written where something has them.
  private static let further: [CatalogColumn] =
    [.kind]
    + [
      .priceTier, .availableFrom, .availableUntil, .application, .privacyURL, .ownedIfVersionBelow,
      .ownedIfPurchaseBefore, .keepRevoked, .cover, .order,
    ].map { .member(.plain($0)) } + SubscriptionPolicy.Member.allCases.map { .member(.policy($0)) }

  init?(_ name: String) {
    switch name {
    case "kind": self = .kind
    case "id": self = .id
    default:
      guard let member = CatalogMember(name) else { return nil }
      self = .member(member)
    }
  }

  /// The column's name in the first row.
  var name: String {
    switch self {
    case .kind: "kind"
    case .id: "id"
    case .member(let member): member.description
    }
  }

  /// Nil for what names a row rather than tells of it.
  var member: CatalogMember? {
    if case .member(let member) = self { member } else { nil }
  }

  /// The columns that `header` names. Throws ``CatalogFileFault``.
  static func columns(of header: CSVReader.Row) throws(CatalogFileFault) -> [CatalogColumn] {
    var columns: [CatalogColumn] = []
    for name in header.cells {
      if name.hasPrefix("preserved:"), CatalogColumn(CSVText.value(name)) == nil {
        throw CatalogFileFault(
          line: header.line, .header,
          "the column '\(name)' is written preserved:TERRITORY:DATE, where DATE is a date with time and zone, "
            + "such as preserved:FRA:2026-12-01T00:00:00Z")
      }
      guard let column = CatalogColumn(CSVText.value(name)) else {
        throw CatalogFileFault(
          line: header.line, .header,
          "no column is named '\(name)'; there are \((plain + further).map(\.name).joined(separator: ", ")), "
            + "title:LOCALE, description:LOCALE, terms:LOCALE, price:TERRITORY and preserved:TERRITORY:DATE")
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

  /// The columns that these need, always in one order.
  static func columns(for contents: [CatalogFile.Content]) -> [CatalogColumn] {
    var (locales, terms, territories) = (Set<String>(), Set<String>(), Set<String>())
    var preserved: Set<CatalogColumn> = []
    var needed: Set<CatalogColumn> = []
    for content in contents {
      for (locale, texts) in content.localizations {
        locales.insert(locale)
        if texts.terms != nil { terms.insert(locale) }
      }
      territories.formUnion(content.prices.keys)
      if case .product(let product) = content {
        for entry in product.preservedPrices ?? [] {
          for territory in entry.prices.keys {
            preserved.insert(.member(.preserved(territory: territory, before: entry.before)))
          }
        }
      }
      for column in further where !column.text(of: content).isEmpty { needed.insert(column) }
    }
    let written = further.filter { needed.contains($0) }
    return plain + written
      + locales.sorted().flatMap { locale in
        [CatalogColumn.member(.title(locale: locale)), .member(.text(locale: locale))]
          + (terms.contains(locale) ? [.member(.terms(locale: locale))] : [])
      }
      + territories.sorted().map { .member(.price(territory: $0)) } + preserved.sorted { $0.name < $1.name }
  }

  /// Returns the item that a row describes. Throws ``CatalogFileFault`` at the first cell that its column cannot have.
  static func content(
    of row: CSVReader.Row, _ columns: [CatalogColumn]
  ) throws(CatalogFileFault) -> CatalogFile.Content {
    guard row.cells.count == columns.count else {
      throw CatalogFileFault(
        line: row.line, .columns, "\(row.cells.count) cells, where the first row has \(columns.count)")
    }
    let cells = columns.indices.filter { !row.cells[$0].isEmpty }.map { index in
      (columns[index], CSVText.value(row.cells[index]), row.places[index])
    }
    var kind = Kind.product
    if let (column, text, place) = cells.first(where: { $0.0 == .kind }) {
      guard let named = Kind(rawValue: text) else {
        throw CatalogFileFault(
          line: place.line, column: place.column, member: column.name, .cell,
          "cannot be '\(text.prefix(100))': it is product, publication or price-tier")
      }
      kind = named
    }
    var content: CatalogFile.Content =
      switch kind {
      case .product: .product(ProductDescription())
      case .publication: .publication(PublicationDescription())
      case .priceTier: .priceTier(PriceTierDescription(prices: [:]))
      }
    for (column, value, place) in cells where column != .kind {
      guard column.set(value, of: &content) else {
        throw CatalogFileFault(
          line: place.line, column: place.column, member: column.name, .cell,
          "cannot be '\(value.prefix(100))' of a \(kind.rawValue): \(column.form(of: kind))")
      }
    }
    guard content.isNamed else {
      throw CatalogFileFault(line: row.line, member: CatalogColumn.id.name, .cell, "is missing")
    }
    return content
  }

  /// False where the column cannot have that text, or is no column of such a thing.
  private func set(_ text: String, of content: inout CatalogFile.Content) -> Bool {
    switch content {
    case .product(var product):
      let fits = set(text, of: &product)
      content = .product(product)
      return fits
    case .publication(var publication):
      let fits = set(text, of: &publication)
      content = .publication(publication)
      return fits
    case .priceTier(var tier):
      switch self {
      case .id: tier.name = PriceTierName(text)
      case .member(.price(let territory)): tier.prices[territory] = Self.price(text)
      default: return false
      }
      content = .priceTier(tier)
      return self == .id ? tier.name != nil : Self.price(text) != nil
    }
  }

  private func set(_ text: String, of publication: inout PublicationDescription) -> Bool {
    switch self {
    case .id: publication.id = ProductIdentifier(text)
    case .member(.plain(.cover)): publication.cover = ProductIdentifier(text)
    case .member(.plain(.order)): publication.order = Int(text)
    case .member(.policy(let member)):
      var policy = publication.policy ?? SubscriptionPolicy()
      guard member.set(text, of: &policy) else { return false }
      publication.policy = policy
    case .member(.title(let locale)): publication.localizations[texts: locale].title = text
    case .member(.text(let locale)): publication.localizations[texts: locale].description = text
    default: return false
    }
    switch self {
    case .id: return publication.id != nil
    case .member(.plain(.cover)): return publication.cover != nil
    case .member(.plain(.order)): return publication.order != nil
    default: return true
    }
  }

  private func set(_ text: String, of product: inout ProductDescription) -> Bool {
    func assign<Value>(_ value: Value?, to member: WritableKeyPath<ProductDescription, Value?>) -> Bool {
      product[keyPath: member] = value
      return value != nil
    }
    switch self {
    case .id: return assign(ProductIdentifier(text), to: \.id)
    case .member(.plain(.type)): return assign(ProductType(rawValue: text), to: \.type)
    case .member(.plain(.publication)): return assign(ProductIdentifier(text), to: \.publication)
    case .member(.plain(.publicationDate)): return assign(Timestamp(rfc3339: text), to: \.publicationDate)
    case .member(.plain(.period)): return assign(BillingPeriod(text), to: \.period)
    case .member(.plain(.onSale)): return assign(["true": true, "false": false][text], to: \.onSale)
    case .member(.plain(.keepRevoked)):
      return assign(["true": true, "false": false][text], to: \.keepRevoked)
    case .member(.plain(.samples)):
      return assign(text.split(whereSeparator: \.isNewline).map(String.init), to: \.samples)
    case .member(.plain(.priceTier)): return assign(PriceTierName(text), to: \.priceTier)
    case .member(.plain(.availableFrom)): return assign(Timestamp(rfc3339: text), to: \.availableFrom)
    case .member(.plain(.availableUntil)): return assign(Timestamp(rfc3339: text), to: \.availableUntil)
    case .member(.plain(.application)): return assign(ApplicationIdentifier(text), to: \.application)
    case .member(.plain(.privacyURL)): return assign(text, to: \.privacyURL)
    case .member(.plain(.ownedIfVersionBelow)), .member(.plain(.ownedIfPurchaseBefore)):
      // One of the two.
      guard product.ownedIf == nil else { return false }
      let condition: OwnershipCondition? =
        self == .member(.plain(.ownedIfVersionBelow))
        ? ApplicationVersion(text).map { .originalVersionBelow($0) }
        : Timestamp(rfc3339: text).map { .originalPurchaseBefore($0) }
      return assign(condition, to: \.ownedIf)
    case .member(.title(let locale)): product.localizations[texts: locale].title = text
    case .member(.text(let locale)): product.localizations[texts: locale].description = text
    case .member(.terms(let locale)): product.localizations[texts: locale].terms = text
    case .member(.price(let territory)):
      guard let price = Self.price(text) else { return false }
      product.prices = (product.prices ?? [:]).merging([territory: price]) { _, new in new }
    case .member(.preserved(let territory, let before)):
      guard let price = Self.price(text) else { return false }
      var entries = product.preservedPrices ?? []
      if let index = entries.firstIndex(where: { $0.before == before }) {
        entries[index].prices[territory] = price
      } else {
        entries.append(PreservedPrices(before: before, prices: [territory: price]))
      }
      product.preservedPrices = entries
    case .kind, .member(.plain(.cover)), .member(.plain(.order)), .member(.policy): return false
    }
    return true
  }

  /// Returns words for the form of the column's cells, for the refusal of a cell of another form.
  private func form(of kind: Kind) -> String {
    guard belongs(to: kind) else { return "leave it empty, no \(kind.rawValue) has one" }
    return switch self {
    case .id, .member(.plain(.publication)), .member(.plain(.cover)), .member(.plain(.priceTier)),
      .member(.plain(.application)):
      "it is a name of A-Z a-z 0-9 . _ -"
    case .member(.plain(.type)):
      "it is one of \(ProductType.allCases.map(\.rawValue).joined(separator: ", "))"
    case .member(.plain(.publicationDate)), .member(.plain(.availableFrom)), .member(.plain(.availableUntil)),
      .member(.plain(.ownedIfPurchaseBefore)):
      "it is a date with time and zone, such as 2026-12-01T00:00:00Z"
    case .member(.plain(.period)): "it is a period such as P1M"
    case .member(.plain(.onSale)), .member(.plain(.keepRevoked)): "it is true or false"
    case .member(.plain(.ownedIfVersionBelow)): "it is a version such as 2.0, where no date is given"
    case .member(.plain(.order)), .member(.policy(.backIssues)), .member(.policy(.toleranceSeconds)):
      "it is a whole number"
    case .member(.policy): "it is true or false"
    case .member(.price), .member(.preserved): "it is a price with its currency, such as 2.99 EUR"
    case .kind, .member(.plain(.samples)), .member(.plain(.privacyURL)), .member(.title), .member(.text),
      .member(.terms):
      "leave the cell empty"
    }
  }

  private func belongs(to kind: Kind) -> Bool {
    switch (self, kind) {
    case (.kind, _), (.id, _), (.member(.price), .product), (.member(.price), .priceTier): true
    case (.member(.title), .publication), (.member(.text), .publication),
      (.member(.plain(.cover)), .publication),
      (.member(.plain(.order)), .publication), (.member(.policy), .publication):
      true
    case (.member(.plain(.cover)), _), (.member(.plain(.order)), _), (.member(.policy), _), (_, .publication),
      (_, .priceTier):
      false
    case (_, .product): true
    }
  }

  /// `2.99 EUR`.
  private static func price(_ text: String) -> Price? {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    return parts.count == 2 ? Price(amount: parts[0], currency: parts[1]) : nil
  }

  private static func text(of price: Price?) -> String {
    price.map { "\($0.amount) \($0.currency)" } ?? ""
  }

  /// Returns the cell's text; empty if the item has nothing in the column.
  func text(of content: CatalogFile.Content) -> String {
    switch self {
    case .member(.title(let locale)): return content.localizations[locale]?.title ?? ""
    case .member(.text(let locale)): return content.localizations[locale]?.description ?? ""
    case .member(.terms(let locale)): return content.localizations[locale]?.terms ?? ""
    case .member(.price(let territory)): return Self.text(of: content.prices[territory])
    default: break
    }
    return switch content {
    case .product(let product): text(of: product)
    case .publication(let publication):
      switch self {
      case .kind: Kind.publication.rawValue
      case .id: publication.id?.description ?? ""
      case .member(.plain(.cover)): publication.cover?.description ?? ""
      case .member(.plain(.order)): publication.order.map { "\($0)" } ?? ""
      case .member(.policy(let member)): publication.policy.map(member.text) ?? ""
      default: ""
      }
    case .priceTier(let tier):
      switch self {
      case .kind: Kind.priceTier.rawValue
      case .id: tier.name?.description ?? ""
      default: ""
      }
    }
  }

  private func text(of product: ProductDescription) -> String {
    switch self {
    case .id: product.id?.description ?? ""
    case .member(.plain(.type)): product.type?.rawValue ?? ""
    case .member(.plain(.publication)): product.publication?.description ?? ""
    case .member(.plain(.publicationDate)): product.publicationDate?.description ?? ""
    case .member(.plain(.period)): product.period?.description ?? ""
    case .member(.plain(.onSale)): product.onSale.map { "\($0)" } ?? ""
    case .member(.plain(.keepRevoked)): product.keepRevoked.map { "\($0)" } ?? ""
    case .member(.plain(.samples)): product.samples?.joined(separator: "\n") ?? ""
    case .member(.plain(.priceTier)): product.priceTier?.description ?? ""
    case .member(.plain(.availableFrom)): product.availableFrom?.description ?? ""
    case .member(.plain(.availableUntil)): product.availableUntil?.description ?? ""
    case .member(.plain(.application)): product.application?.description ?? ""
    case .member(.plain(.privacyURL)): product.privacyURL ?? ""
    case .member(.plain(.ownedIfVersionBelow)):
      if case .originalVersionBelow(let version)? = product.ownedIf { version.description } else { "" }
    case .member(.plain(.ownedIfPurchaseBefore)):
      if case .originalPurchaseBefore(let date)? = product.ownedIf { date.description } else { "" }
    case .member(.preserved(let territory, let before)):
      Self.text(of: product.preservedPrices?.first { $0.before == before }?.prices[territory])
    case .kind, .member(.plain(.cover)), .member(.plain(.order)), .member(.policy), .member(.title),
      .member(.text),
      .member(.terms), .member(.price):
      ""
    }
  }
}

extension CatalogFile.Content {
  fileprivate var localizations: [String: Product.Localization] {
    switch self {
    case .product(let product): product.localizations ?? [:]
    case .publication(let publication): publication.localizations ?? [:]
    case .priceTier: [:]
    }
  }

  fileprivate var prices: [String: Price] {
    switch self {
    case .product(let product): product.prices ?? [:]
    case .publication: [:]
    case .priceTier(let tier): tier.prices
    }
  }

  /// Whether it says what it describes.
  var isNamed: Bool {
    switch self {
    case .product(let product): product.id != nil
    case .publication(let publication): publication.id != nil
    case .priceTier(let tier): tier.name != nil
    }
  }
}

extension [String: Product.Localization]? {
  /// The texts of one language, empty ones where there are none yet.
  fileprivate subscript(texts locale: String) -> Product.Localization {
    get { self?[locale] ?? Product.Localization(title: "", description: "") }
    set { self = (self ?? [:]).merging([locale: newValue]) { _, new in new } }
  }
}
