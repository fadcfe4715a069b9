package import Commerce
import CoreTypes

/// The operator's choices about the catalog for readers' applications.
package struct CatalogFeedSettings: Hashable, Sendable {
  /// The name of the catalog where the operator gave none.
  package static let standardTitle = "Pullbox"

  /// Whether the shop is shown to all who ask.
  package var isPublic: Bool
  /// The name of the catalog.
  package var title: String
  /// The territory whose prices are shown where a request names none.
  package var territory: Territory?
  /// The address where a product is bought, beside an agent's.
  package var shop: ShopAddress?

  package init(
    isPublic: Bool = false, title: String = standardTitle, territory: Territory? = nil,
    shop: ShopAddress? = nil
  ) {
    self.isPublic = isPublic
    self.title = title
    self.territory = territory
    self.shop = shop
  }
}

/// A publisher's own address for a product: a template of RFC 6570 (level 1) with `{product}`, and `{territory}` and `{locale}` where it
/// likes.
///
///     ShopAddress("https://shop.example/{product}?country={territory}")?.address(of: product, territory: "FRA", locale: nil)
package struct ShopAddress: Hashable, Sendable {
  private static let variables: Set<Substring> = ["product", "territory", "locale"]

  /// A literal, or a variable.
  private enum Part: Hashable {
    case text(String)
    case variable(Substring)
  }

  private let parts: [Part]

  /// Nil unless `template` begins with `https://` or `http://`, is of visible ASCII characters, names `{product}`, and names no other
  /// variable than those.
  package init?(_ template: String) {
    guard template.hasPrefix("https://") || template.hasPrefix("http://"),
      template.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") })
    else { return nil }
    var parts: [Part] = []
    var rest = Substring(template)
    while let start = rest.firstIndex(of: "{") {
      let inner = rest[rest.index(after: start)...]
      guard let end = inner.firstIndex(of: "}"), Self.variables.contains(inner[..<end]) else { return nil }
      parts += [.text(String(rest[..<start])), .variable(inner[..<end])]
      rest = inner[inner.index(after: end)...]
    }
    guard parts.contains(.variable("product")), !rest.contains("}") else { return nil }
    self.parts = parts + [.text(String(rest))]
  }

  /// The address of a product. What is not known expands to nothing.
  package func address(of product: ProductIdentifier, territory: String?, locale: String?) -> String {
    parts.map { part in
      switch part {
      case .text(let text): text
      case .variable("product"): product.description.percentEncoded
      case .variable("territory"): territory?.percentEncoded ?? ""
      case .variable: locale?.percentEncoded ?? ""
      }
    }.joined()
  }
}
