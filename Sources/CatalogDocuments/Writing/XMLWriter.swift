/// Writes an XML document in UTF-8, byte by byte. Names come from this source alone, which their type sees to; all else is a value, and
/// escaped. There are no sections of unparsed text. Characters that XML 1.0 has no way to write are left out.
///
///     var xml = XMLWriter()
///     xml.element("title", ["type": "text"]) { $0.text("Jack & Jill") }
///     xml.bytes
package struct XMLWriter {
  /// The name of an element or an attribute, with its prefix. No value can be one.
  package struct Name: Hashable, ExpressibleByStringLiteral {
    package let text: String

    package init(stringLiteral text: StaticString) {
      self.text = text.description
    }
  }

  /// The document so far.
  package private(set) var bytes: [UInt8]

  /// Begins with a declaration, or with nothing where the document is of HTML.
  package init(hasDeclaration: Bool = true) {
    bytes = hasDeclaration ? Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".utf8) : []
  }

  /// Writes an element. Attributes without a value are left out; an element without content is closed at once.
  package mutating func element(
    _ name: Name, _ attributes: KeyValuePairs<Name, String?> = [:],
    _ content: (inout XMLWriter) -> Void = { _ in }
  ) {
    open(name, attributes)
    let end = bytes.count
    append(">")
    content(&self)
    if bytes.count == end + 1 {
      bytes[end] = UInt8(ascii: "/")
      append(">")
    } else {
      append("</\(name.text)>")
    }
  }

  /// Writes an element that holds a text alone.
  package mutating func element(_ name: Name, _ attributes: KeyValuePairs<Name, String?> = [:], text: String)
  {
    element(name, attributes) { $0.text(text) }
  }

  /// Writes an element of HTML, which is closed by a tag of its own also where it is empty.
  package mutating func tag(
    _ name: Name, _ attributes: KeyValuePairs<Name, String?> = [:], _ content: (inout XMLWriter) -> Void
  ) {
    open(name, attributes)
    append(">")
    content(&self)
    append("</\(name.text)>")
  }

  /// Writes an element of HTML that has neither content nor an end.
  package mutating func void(_ name: Name, _ attributes: KeyValuePairs<Name, String?> = [:]) {
    open(name, attributes)
    append(">")
  }

  /// Writes a text.
  package mutating func text(_ text: String) {
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": append("&amp;")
      case "<": append("&lt;")
      case ">": append("&gt;")
      case "\r": append("&#13;")
      default: append(scalar)
      }
    }
  }

  /// Writes markup of this source as it is.
  package mutating func markup(_ text: StaticString) {
    append(text.description)
  }

  private mutating func open(_ name: Name, _ attributes: KeyValuePairs<Name, String?>) {
    append("<\(name.text)")
    for (name, value) in attributes {
      guard let value else { continue }
      append(" \(name.text)=\"")
      for scalar in value.unicodeScalars {
        switch scalar {
        case "&": append("&amp;")
        case "<": append("&lt;")
        case ">": append("&gt;")
        case "\"": append("&quot;")
        // A parser would make spaces of them (XML 1.0 §3.3.3).
        case "\t", "\n", "\r": append("&#\(scalar.value);")
        default: append(scalar)
        }
      }
      append("\"")
    }
  }

  private mutating func append(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  /// Leaves out what is no character of XML 1.0 (§2.2).
  private mutating func append(_ scalar: Unicode.Scalar) {
    switch scalar.value {
    case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF:
      bytes.append(contentsOf: scalar.utf8)
    default: break
    }
  }
}
