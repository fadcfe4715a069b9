/// A piece of HTML, which only elements, attributes and texts make: a text that comes from outside is escaped where it becomes a
/// piece, and there is no way to put in anything else.
///
///     let piece = element(.p, .id("note")) { "1 < 2" }  // <p id="note">1 &lt; 2</p>
package struct Markup: Sendable, Hashable {
  /// The HTML.
  package private(set) var html: String

  private init(html: String) {
    self.html = html
  }

  /// Nothing at all.
  package static let nothing = Markup(html: "")

  /// A text, with what HTML would read as markup escaped. Control characters, which HTML has no place for, become U+FFFD.
  package init(_ text: some StringProtocol) {
    html = ""
    Self.append(text, to: &html)
  }

  /// A text that others wrote: its direction ends where it ends, and it is cut after 300 characters.
  package static func foreign(_ text: some StringProtocol) -> Markup {
    let limit = 300
    let isLong = text.unicodeScalars.prefix(limit + 1).count > limit
    let shown =
      isLong ? String(String.UnicodeScalarView(text.unicodeScalars.prefix(limit))) + "…" : String(text)
    return element(.bdi) { shown }
  }

  /// Several pieces, one after the other.
  package init(_ pieces: some Sequence<Markup>) {
    html = ""
    for piece in pieces { html += piece.html }
  }

  /// Whether there is nothing in it.
  package var isEmpty: Bool { html.isEmpty }

  /// The element with its attributes and content. One that has no content in HTML, as `input`, has no end tag.
  fileprivate init(_ tag: Tag, _ attributes: [Attribute], _ content: Markup) {
    var text = "<\(tag.rawValue)"
    for attribute in attributes {
      text += " \(attribute.name)"
      guard let value = attribute.value else { continue }
      text += "=\""
      Self.append(value, to: &text)
      text += "\""
    }
    text += ">"
    if !tag.isVoid { text += content.html + "</\(tag.rawValue)>" }
    html = text
  }

  /// The bytes of a whole document: `root` is its `html` element.
  package static func document(_ root: Markup) -> [UInt8] { Array("<!DOCTYPE html>\n\(root.html)\n".utf8) }

  private static func append(_ text: some StringProtocol, to html: inout String) {
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": html += "&amp;"
      case "<": html += "&lt;"
      case ">": html += "&gt;"
      case "\"": html += "&quot;"
      case "'": html += "&#39;"
      case "\t", "\n": html.unicodeScalars.append(scalar)
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}": html += "\u{FFFD}"
      default: html.unicodeScalars.append(scalar)
      }
    }
  }
}

/// Makes an element of its attributes and its content.
package func element(
  _ tag: Tag, _ attributes: Attribute..., @MarkupBuilder content: () -> Markup = { .nothing }
) -> Markup {
  Markup(tag, attributes, content())
}

/// Makes an element of a list of attributes.
package func element(
  _ tag: Tag, with attributes: [Attribute], @MarkupBuilder content: () -> Markup = { .nothing }
) -> Markup {
  Markup(tag, attributes, content())
}

/// Puts pieces and texts together; a text is escaped.
@resultBuilder
package enum MarkupBuilder {
  package static func buildExpression(_ markup: Markup) -> Markup { markup }
  package static func buildExpression(_ markup: Markup?) -> Markup { markup ?? .nothing }
  package static func buildExpression(_ text: String) -> Markup { Markup(text) }
  package static func buildExpression(_ pieces: [Markup]) -> Markup { Markup(pieces) }
  package static func buildBlock(_ pieces: Markup...) -> Markup { Markup(pieces) }
  package static func buildOptional(_ markup: Markup?) -> Markup { markup ?? .nothing }
  package static func buildEither(first: Markup) -> Markup { first }
  package static func buildEither(second: Markup) -> Markup { second }
  package static func buildArray(_ pieces: [Markup]) -> Markup { Markup(pieces) }
}
