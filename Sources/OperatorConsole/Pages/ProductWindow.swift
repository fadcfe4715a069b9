import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// A product as applications of several territories and languages are shown it, side by side.
struct ProductWindow: Sendable {
  /// One application's look: nil where it names none.
  struct Look: Hashable, Sendable {
    var territory: String?
    var locale: String?
  }

  /// Looks of one page, at most.
  private static let maximumLooks = 12

  private let visit: Visit
  private let product: String
  private let looks: [Look]
  private let isWhole: Bool
  private let listings: [Look: Result<ProductsResponse, Problem>]
  private var words: Words { visit.words }

  /// Reads what each of the territories and languages of the address is shown, in every pair of them. Without any it is what an application
  /// sees that names no territory, and one of each territory that the product has a price in.
  static func read(
    _ product: String, pricedIn territories: [String], for visit: Visit
  ) async -> ProductWindow {
    let (named, locales) = (names("territory", visit), names("locale", visit))
    let shown: [String?] = named.isEmpty ? (locales.isEmpty ? [nil] + territories.sorted() : [nil]) : named
    let (looks, isWhole) = pairs(shown, locales.isEmpty ? [nil] : locales)
    let listings = await withTaskGroup(of: (Look, Result<ProductsResponse, Problem>).self) { group in
      for look in looks {
        group.addTask { (look, await listing(of: product, look, visit)) }
      }
      return await group.reduce(into: [Look: Result<ProductsResponse, Problem>]()) { $0[$1.0] = $1.1 }
    }
    return ProductWindow(
      visit: visit, product: product, looks: looks, isWhole: isWhole, listings: listings)
  }

  /// The first pairs of a territory and a language, as many as a page has, and whether they are all. An address may name thousands of
  /// each: no more of them are paired than the page can show.
  static func pairs(_ territories: [String?], _ locales: [String?]) -> (looks: [Look], isWhole: Bool) {
    let some = territories.prefix(maximumLooks + 1).flatMap { territory in
      locales.prefix(maximumLooks + 1).map { Look(territory: territory, locale: $0) }
    }
    return (Array(some.prefix(maximumLooks)), some.count <= maximumLooks)
  }

  private static func listing(
    of product: String, _ look: Look, _ visit: Visit
  ) async -> Result<ProductsResponse, Problem> {
    await visit.get(
      Address(
        ["v1", "products"], query: [("id", product), ("territory", look.territory), ("locale", look.locale)]))
  }

  /// The names in a field that takes several, each once.
  private static func names(_ field: String, _ visit: Visit) -> [String?] {
    var known: Set<Substring> = []
    return (visit.value(field) ?? "").split { $0 == "," || $0 == ";" || $0.isWhitespace }
      .filter { known.insert($0).inserted }.map(String.init)
  }

  var markup: Markup {
    element(.section) {
      element(.h2) { words(.shopWindow) }
      Parts.filters(.console("products", product), words) {
        Parts.field(
          words(.territories), "territory", visit.value("territory"), .search, hint: words(.territoriesHint))
        Parts.field(
          words(.languages), "locale", visit.value("locale"), .search, hint: words(.localesHint))
      }
      Parts.table(
        words(.shopWindow),
        [
          words(.territory), words(.language), words(.title), words(.description), words(.price),
          words(.version), words(.size),
        ], looks.map(row))
      if !isWhole { element(.p, .look(.hint)) { words(.firstLooks, words.number(looks.count)) } }
    }
  }

  private func row(_ look: Look) -> [Parts.Cell] {
    let place = [
      Parts.Cell(look.territory.map { Parts.name($0) } ?? Markup(words(.noneNamed))),
      Parts.Cell(look.locale.map { Parts.name($0) } ?? Markup(words(.noneNamed))),
    ]
    func sentence(_ markup: Markup) -> [Parts.Cell] {
      place + [.init(markup), .init(.nothing), .init(.nothing), .init(.nothing), .init(.nothing)]
    }
    switch listings[look] {
    case nil: return place
    case .failure(let problem): return sentence(Parts.refusal(problem, words))
    case .success(let response):
      guard let shown = response.products.first else { return sentence(Markup(words(.notForSaleThere))) }
      return place + [
        .init(.foreign(shown.title)), .init(.foreign(shown.description)),
        .numeric(shown.price?.formatted ?? words(.free)),
        .init(shown.contentVersion.map { "\($0)" } ?? ""),
        .numeric(shown.contentLength.map { words.bytes($0) } ?? ""),
      ]
    }
  }
}
