package import HTTPServer

/// The fields in which proxies name their clients. A `Forwarded` field (RFC 7239) is used alone; without one, the
/// older `X-Forwarded-` fields are.
package struct ForwardingFields: Sendable {
  package var forwarded: [String] = []
  var forwardedFor: [String] = []
  var forwardedScheme: [String] = []
  var forwardedHost: [String] = []

  package init(
    forwarded: [String] = [], for addresses: [String] = [], scheme: [String] = [], host: [String] = []
  ) {
    self.forwarded = forwarded
    forwardedFor = addresses
    forwardedScheme = scheme
    forwardedHost = host
  }

  package init(_ request: HTTPRequest) {
    self.init(
      forwarded: request.headers.values(of: "Forwarded"), for: request.headers.values(of: "X-Forwarded-For"),
      scheme: request.headers.values(of: "X-Forwarded-Proto"),
      host: request.headers.values(of: "X-Forwarded-Host"))
  }

  /// Whether a proxy passed the request on, as far as the request says: one that comes straight from an address that proxies have
  /// as well has none of them.
  var areGiven: Bool {
    ![forwarded, forwardedFor, forwardedScheme, forwardedHost].allSatisfy(\.isEmpty)
  }

  /// One hop a proxy, in the order in which they were added; none if there is a `Forwarded` field and it is
  /// malformed.
  var hops: [ForwardedElement] {
    if !forwarded.isEmpty { return ForwardedElement.parse(forwarded) ?? [] }
    // How these three belong together is not defined: scheme and host are what the last proxy added.
    let scheme = Self.parts(forwardedScheme).last?.lowercased()
    let host = Self.parts(forwardedHost).last
    let clients = Self.parts(forwardedFor)
    guard !clients.isEmpty else {
      return scheme == nil && host == nil ? [] : [ForwardedElement(scheme: scheme, host: host)]
    }
    return clients.map { ForwardedElement(client: $0, scheme: scheme, host: host) }
  }

  private static func parts(_ lines: [String]) -> [String] {
    lines.flatMap { $0.split(separator: ",") }.map { part in
      String(part.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }.filter { !$0.isEmpty }
  }
}

/// One hop of a `Forwarded` field (RFC 7239 §4): what a proxy says about the client that it forwards for.
struct ForwardedElement: Hashable, Sendable {
  /// `for`: an address, perhaps with a port; `unknown`; or a name that begins with `_` and hides one.
  package var client: String?
  /// `proto`.
  package var scheme: String?
  package var host: String?

  /// The elements of all lines of the field, in order. Nil if the field does not follow the grammar of §4, or has a
  /// parameter twice in one element: then the whole field is ignored.
  package static func parse(_ lines: [String]) -> [ForwardedElement]? {
    var reader = FieldReader(lines.joined(separator: ","))
    var elements: [ForwardedElement] = []
    while true {
      reader.skipSpaces()
      // Empty elements of a list are legal (RFC 9110 §5.6.1.2).
      if reader.consume(",") { continue }
      if reader.isAtEnd { return elements.isEmpty ? nil : elements }
      guard let element = element(&reader) else { return nil }
      elements.append(element)
      reader.skipSpaces()
      guard reader.isAtEnd || reader.consume(",") else { return nil }
    }
  }

  /// Pairs, separated by semicolons; an empty one is legal.
  private static func element(_ reader: inout FieldReader) -> ForwardedElement? {
    var element = ForwardedElement()
    var names: Set<String> = []
    repeat {
      guard let name = reader.token()?.lowercased() else { continue }
      guard reader.consume("="), let value = reader.token() ?? reader.quotedText(),
        names.insert(name).inserted
      else { return nil }
      switch name {
      case "for": element.client = value
      case "proto": element.scheme = value.lowercased()
      case "host": element.host = value
      // `by`, and what others have registered.
      default: break
      }
    } while reader.consume(";")
    return names.isEmpty ? nil : element
  }
}

/// Reads tokens and quoted strings (RFC 9110 §5.6).
private struct FieldReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ text: String) {
    bytes = Array(text.utf8)
  }

  var isAtEnd: Bool { position == bytes.count }

  mutating func skipSpaces() {
    while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 { position += 1 }
  }

  mutating func consume(_ character: Unicode.Scalar) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  /// The token at this place; nil without one.
  mutating func token() -> String? {
    let start = position
    while position < bytes.count, Self.isTokenByte(bytes[position]) { position += 1 }
    return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
  }

  /// The quoted string at this place, without its quotes and escapes; nil without one, or if it does not end.
  mutating func quotedText() -> String? {
    guard consume("\"") else { return nil }
    var text: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard position < bytes.count else { return nil }
        text.append(bytes[position])
        position += 1
      default: text.append(byte)
      }
    }
    return nil
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
