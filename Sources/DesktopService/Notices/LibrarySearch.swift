internal import CoreTypes

/// The search of the desktop's shell over titles of the library. Pure.
public struct LibrarySearch: Sendable {
  /// A product that can be found.
  public struct Entry: Hashable, Sendable {
    /// The product.
    public var product: String
    /// Its title.
    public var title: String
    /// The path of its picture; nil without one.
    public var cover: String?

    /// An entry from its parts.
    public init(product: String, title: String, cover: String? = nil) {
      self.product = product
      self.title = title
      self.cover = cover
    }
  }

  /// Results of a search, at most.
  public static let maximumResults = 20
  /// Words that count, and the bytes of each.
  private static let (maximumTerms, maximumTerm) = (8, 64)

  /// Where each entry stands, in the order of the library.
  private var entries: [(entry: Entry, folded: String)] = []

  /// A search over nothing.
  public init() {}

  /// The entries from now on.
  public mutating func replace(with entries: [Entry]) {
    self.entries = entries.map { ($0, Self.folded($0.title)) }
  }

  /// The products whose titles have all of these words, in any case and with or without accents; those that begin with the first word come
  /// first.
  public func products(matching terms: [String], among known: Set<String>? = nil) -> [String] {
    let words = terms.prefix(Self.maximumTerms).map { Self.folded(String($0.prefix(Self.maximumTerm))) }
      .filter { !$0.isEmpty }
    guard let first = words.first else { return [] }
    let found = entries.filter { item in
      known?.contains(item.entry.product) ?? true && words.allSatisfy { item.folded.contains($0) }
    }
    let begin = found.filter { $0.folded.hasPrefix(first) }
    let others = found.filter { !$0.folded.hasPrefix(first) }
    return (begin + others).prefix(Self.maximumResults).map(\.entry.product)
  }

  /// The entry of a product; nil where it is not here.
  public func entry(of product: String) -> Entry? { entries.first { $0.entry.product == product }?.entry }

  /// Small letters without the marks that stand alone once a text is taken apart.
  private static func folded(_ text: String) -> String {
    let decomposed = text.prefix(Notice.maximumTitle).lowercased().decomposed
    var folded = String.UnicodeScalarView()
    for scalar in decomposed.unicodeScalars where scalar.properties.generalCategory != .nonspacingMark {
      folded.append(scalar)
    }
    return String(folded)
  }
}
