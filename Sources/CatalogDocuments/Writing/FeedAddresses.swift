import Commerce
import CoreTypes

/// The two forms in which the catalog is written.
package enum FeedForm: String, CaseIterable, Hashable, Sendable {
  /// OPDS 1.2, Atom.
  case atom = "v1.2"
  /// OPDS 2.0, JSON.
  case json = "v2"
}

/// The addresses of the catalog's places for the documents of one form. A pure value.
package struct FeedAddresses: Hashable, Sendable {
  /// Put before every address: a scheme, a host and perhaps a path, without a slash at the end; empty for addresses without a host.
  package var base: String
  package var form: FeedForm
  /// The reader's choices, which go on from page to page.
  package var choice: FeedChoice

  package init(base: String = "", form: FeedForm, choice: FeedChoice = FeedChoice()) {
    self.base = base
    self.form = form
    self.choice = choice
  }

  /// The same in the other form.
  package var other: FeedAddresses {
    FeedAddresses(base: base, form: form == .atom ? .json : .atom, choice: choice)
  }

  /// The address of a page.
  package func address(of page: CatalogPage) -> String {
    let feeds = "\(base)/opds/\(form.rawValue)"
    var query = parameters(of: page)
    let path: String
    switch page.place {
    case .start: path = feeds
    case .publications: path = "\(feeds)/publications"
    case .publication(let id): path = "\(feeds)/publications/\(id)"
    case .new: path = "\(feeds)/new"
    case .owned: path = "\(feeds)/owned"
    case .reading: path = "\(feeds)/reading"
    case .singles: path = "\(feeds)/singles"
    case .search(let words):
      path = "\(feeds)/search"
      query.insert(("q", words), at: 0)
    case .searchDescription: path = "\(base)/opds/v1.2/search.xml"
    case .searchTemplate: return searchTemplate
    case .product(let id): path = "\(feeds)/products/\(id)"
    case .shop(let id): path = "\(base)/shop/\(id)"
    case .cover(let id, let version, let width):
      path = "\(base)/opds/covers/\(id)/\(version)"
      query = width.map { [("width", String($0))] } ?? []
    case .noCover:
      path = "\(base)/opds/cover.png"
      query = []
    case .sample(let id, let version, let place):
      path = "\(base)/opds/samples/\(id)/\(version)/\(place)"
      query = []
    case .file(let id, let version, let name):
      path = "\(base)/opds/files/\(id)/\(version)/\(name.percentEncoded)"
    case .progress(let id):
      path = "\(base)/opds/progress/\(id)"
      query = []
    case .manifest(let id, let version): path = "\(base)/opds/manifest/\(id)/\(version)"
    case .page(let id, let version, let number, let width):
      path = "\(base)/opds/pages/\(id)/\(version)/\(number)"
      if let width { query.insert(("width", String(width)), at: 0) }
    case .pageTemplate(let id, let version):
      // Its gaps are no variables of RFC 6570, and stand as they are.
      let rest = Self.query(query).dropFirst()
      return
        "\(base)/opds/pages/\(id)/\(version)/{pageNumber}?width={maxWidth}\(rest.isEmpty ? "" : "&")\(rest)"
    }
    return path + Self.query(query)
  }

  /// The template of RFC 6570 by which this form is searched, with the gap behind what the reader has chosen.
  private var searchTemplate: String {
    let query = choice.parameters
    // Its operator says whether what it adds is the first parameter (§3.2.8, §3.2.9).
    return "\(base)/opds/\(form.rawValue)/search\(Self.query(query))\(query.isEmpty ? "{?q}" : "{&q}")"
  }

  /// The same as a template of OpenSearch 1.1.
  package var openSearchTemplate: String {
    let query = choice.parameters
    return
      "\(base)/opds/\(form.rawValue)/search\(Self.query(query))\(query.isEmpty ? "?" : "&")q={searchTerms}"
  }

  private func parameters(of page: CatalogPage) -> [(name: String, value: String)] {
    var query = choice.parameters
    if page.onlyFree { query.append(("price", "free")) }
    if let after = page.after { query.append(("after", after.description)) }
    return query
  }

  private static func query(_ parameters: [(name: String, value: String)]) -> String {
    guard !parameters.isEmpty else { return "" }
    return "?" + parameters.map { "\($0.name)=\($0.value.percentEncoded)" }.joined(separator: "&")
  }
}
