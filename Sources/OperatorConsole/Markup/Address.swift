/// An address on this server: a path, whose parts are encoded here, with a query. It never leads to another host, nor runs a script.
package struct Address: Sendable, Hashable {
  /// The parts of the path, decoded.
  package var segments: [String]
  /// The parameters of the query, in order, decoded.
  package var query: [Parameter]
  private var fragment: String?

  /// A parameter of a query.
  package struct Parameter: Sendable, Hashable {
    package var name: String
    package var value: String
  }

  /// The address of these parts; parameters whose value is nil or empty are left out.
  package init(_ segments: [String], query: [(String, String?)] = [], fragment: String? = nil) {
    self.segments = segments
    self.query = query.compactMap { name, value in
      value.flatMap { $0.isEmpty ? nil : Parameter(name: name, value: $0) }
    }
    self.fragment = fragment
  }

  /// A page of the console, by the parts behind `/console/`.
  package static func console(_ segments: String..., query: [(String, String?)] = []) -> Address {
    Address(["console"] + (segments.isEmpty ? [""] : segments), query: query)
  }

  /// A reading of the HTTP interface, by the parts behind `/v1/operator/`.
  package static func interface(_ segments: String..., query: [(String, String?)] = []) -> Address {
    Address(["v1", "operator"] + segments, query: query)
  }

  /// A place on the same page.
  package static func place(_ id: String) -> Address { Address([], fragment: id) }

  /// The same path with another value of that parameter; nil takes it out.
  package func with(_ name: String, _ value: String?) -> Address {
    var address = self
    address.query.removeAll { $0.name == name }
    if let value, !value.isEmpty { address.query.append(Parameter(name: name, value: value)) }
    return address
  }

  /// The address as it is written, percent-encoded.
  package var text: String {
    if segments.isEmpty { return "#" + Self.encoded(fragment ?? "") }
    let path = "/" + segments.map { Self.encoded($0) }.joined(separator: "/")
    let fragment = fragment.map { "#" + Self.encoded($0) } ?? ""
    guard !query.isEmpty else { return path + fragment }
    let parameters = query.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }
    return "\(path)?\(parameters.joined(separator: "&"))\(fragment)"
  }

  /// All but RFC 3986's unreserved characters percent-encoded.
  private static func encoded(_ text: String) -> String {
    text.utf8.reduce(into: "") { result, byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
  }
}
