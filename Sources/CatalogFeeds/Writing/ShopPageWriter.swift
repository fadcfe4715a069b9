import CatalogDocuments
import Commerce
import Crypto

/// Writes the page on which a product is bought as HTML, without a script. Pure.
package struct ShopPageWriter: Sendable {
  /// Put before addresses at this server.
  package let base: String

  package init(base: String) {
    self.base = base
  }

  /// Nothing runs, and nothing comes from elsewhere.
  package static let contentSecurityPolicy =
    "default-src 'none'; img-src 'self'; style-src 'sha256-\(styleDigest)'; base-uri 'none'; form-action 'none'; "
    + "frame-ancestors 'none'"

  private static let styleDigest = Base64.encode(SHA256Digest.of(style.description.utf8).array)

  private static let style: StaticString = """
    :root{color-scheme:light dark}body{font-family:sans-serif;line-height:1.5;max-width:40rem;margin:0 auto;padding:1rem}\
    img{max-width:100%;height:auto}li{margin:.5rem 0}a{display:inline-block;min-height:24px}
    """

  /// Returns the document.
  package func document(_ page: ShopPage) -> [UInt8] {
    var html = XMLWriter(hasDeclaration: false)
    html.markup("<!DOCTYPE html>\n")
    html.tag("html", ["lang": "en"]) { html in
      html.tag("head") { html in
        html.void("meta", ["charset": "utf-8"])
        html.void("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
        html.tag("title") { $0.text(page.title) }
        html.tag("style") { $0.markup(Self.style) }
      }
      html.tag("body") { html in
        html.tag("main") { content(page, &$0) }
      }
    }
    return html.bytes
  }

  private func content(_ page: ShopPage, _ html: inout XMLWriter) {
    html.tag("h1", ["dir": "auto"]) { $0.text(page.title) }
    if let cover = page.cover {
      html.void("img", ["src": base + cover, "alt": "Cover of \(page.title)"])
    }
    if !page.description.isEmpty { html.tag("p", ["dir": "auto"]) { $0.text(page.description) } }
    offer(page.offer, &html)
    if !page.subscriptions.isEmpty {
      html.tag("h2") { $0.text("Subscriptions") }
      for subscription in page.subscriptions {
        html.tag("h3", ["dir": "auto"]) { $0.text(subscription.title) }
        offer(subscription, &html)
      }
    }
    if let address = page.privacyURL {
      html.tag("p") { html in
        html.tag("a", ["href": address]) { $0.text("What becomes of your data") }
      }
    }
  }

  private func offer(_ offer: ShopPage.Offer, _ html: inout XMLWriter) {
    html.tag("p") { $0.text(Self.sentence(about: offer)) }
    if let terms = offer.terms { html.tag("p", ["dir": "auto"]) { $0.text(terms) } }
    html.tag("ul") { html in
      if let address = offer.address {
        html.tag("li") { html in
          html.tag("a", ["href": address, "rel": "noreferrer"]) { $0.text("Buy from the publisher") }
        }
      }
      html.tag("li") { html in
        html.tag("a", ["href": offer.agentAddress]) { $0.text("Buy on this device") }
        html.text(" (needs Pullbox on it)")
      }
    }
  }

  /// A sentence about what it costs, and whether it goes on.
  static func sentence(about offer: ShopPage.Offer) -> String {
    let price = offer.isFree ? "Free" : offer.price
    guard let period = offer.period else { return (price ?? "The price depends on where you live") + "." }
    let length = words(for: period)
    let start = price.map { "\($0) for \(length)" } ?? "For \(length); the price depends on where you live"
    return offer.renews ? "\(start). It renews by itself until you end it." : "\(start). It does not renew."
  }

  private static func words(for period: BillingPeriod) -> String {
    let unit =
      switch period.unit {
      case .day: "day"
      case .week: "week"
      case .month: "month"
      case .year: "year"
      }
    return period.count == 1 ? "one \(unit)" : "\(period.count) \(unit)s"
  }
}
