package import Commerce
import CoreTypes
import PullboxAPI
package import ServiceAPI

/// Finds products by the beginnings of words in their titles and in those of their publications, in every language that these have. A
/// word of a script without spaces is found by any part of it.
package struct SearchIndex: Sendable {
  /// Characters of a question that are read.
  package static let maximumLength = 200
  /// Words of a question that are looked for.
  static let maximumWords = 8
  /// Characters of a word that count.
  private static let maximumWord = 32
  /// Words of one title that are kept.
  private static let maximumTitle = 64

  /// A word with the places of the products in whose titles it is, in their order.
  private struct Entry: Sendable {
    var word: [UInt8]
    var places: [Int32]
  }

  /// The products in the order in which they are found.
  package let names: [ProductIdentifier]
  /// By their words.
  private let entries: [Entry]

  /// - Parameters:
  ///   - products: in the order in which they are found.
  ///   - publications: the descriptions of publications, by name.
  package init(of products: [Product], describing publications: [ProductIdentifier: OperatorPublication]) {
    let series = publications.mapValues { Self.words(of: $0.localizations) }
    self.init(
      words: products.map { product in
        var words = Self.words(of: product.localizations)
        if product.localizations.isEmpty { words.formUnion(Self.words(product.id.description)) }
        if let publication = product.publication.flatMap({ series[$0] }) { words.formUnion(publication) }
        return (product.id, words)
      })
  }

  /// - Parameter titles: each product once, in the order in which they are found, with all titles that it has.
  package init(titles: [(product: ProductIdentifier, titles: [String])]) {
    self.init(
      words: titles.map { entry in
        (entry.product, entry.titles.reduce(into: []) { $0.formUnion(Self.words($1)) })
      })
  }

  private init(words products: [(product: ProductIdentifier, words: Set<String>)]) {
    names = products.map(\.product)
    var places: [String: [Int32]] = [:]
    for (place, product) in products.enumerated() {
      for word in product.words { places[word, default: []].append(Int32(clamping: place)) }
    }
    entries = places.map { Entry(word: Array($0.key.utf8), places: $0.value) }
      .sorted { $0.word.lexicographicallyPrecedes($1.word) }
  }

  /// Returns the products that have all words of the question, in their order; none for a question without words.
  package func products(matching question: String) -> [ProductIdentifier] {
    places(matching: question).map { names[Int($0)] }
  }

  /// The same by their places among ``names``.
  package func places(matching question: String) -> [Int32] {
    let words = Self.split(String(question.unicodeScalars.prefix(Self.maximumLength)))
      .prefix(Self.maximumWords)
    guard !words.isEmpty else { return [] }
    var counts = [UInt8](repeating: 0, count: names.count)
    for (index, word) in words.enumerated() {
      let prefix = Array(word.utf8)
      let start = entries.partitioningIndex { !$0.word.lexicographicallyPrecedes(prefix) }
      for entry in entries[start...] {
        guard entry.word.starts(with: prefix) else { break }
        // Several words of one title may begin so.
        for place in entry.places where counts[Int(place)] == UInt8(index) {
          counts[Int(place)] = UInt8(index) + 1
        }
      }
    }
    let wanted = UInt8(words.count)
    var places: [Int32] = []
    for (place, count) in counts.enumerated() where count == wanted { places.append(Int32(clamping: place)) }
    return places
  }

  private static func words(of localizations: [String: Product.Localization]) -> Set<String> {
    localizations.values.reduce(into: []) { $0.formUnion(words($1.title)) }
  }

  /// The words of a title, with all ends of those of a script without spaces.
  private static func words(_ title: String) -> Set<String> {
    var words: Set<String> = []
    for word in split(title).prefix(maximumTitle) {
      words.insert(word)
      guard word.unicodeScalars.contains(where: { $0.value >= 0x2E80 }) else { continue }
      var rest = Substring(word).dropFirst()
      while !rest.isEmpty {
        words.insert(String(rest))
        rest = rest.dropFirst()
      }
    }
    return words
  }

  /// Letters and digits between everything else, without the difference of case, width and marks.
  private static func split(_ text: String) -> [String] {
    TextFolding.fold(text).split { !$0.isLetter && !$0.isNumber }.map { String($0.prefix(maximumWord)) }
  }
}
