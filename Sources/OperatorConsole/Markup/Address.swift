import CoreTypes

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
    if segments.isEmpty { return "#" + (fragment ?? "").percentEncoded }
    let path = "/" + segments.map { $0.percentEncoded }.joined(separator: "/")
    let fragment = fragment.map { "#" + $0.percentEncoded } ?? ""
    guard !query.isEmpty else { return path + fragment }
    let parameters = query.map { "\($0.name.percentEncoded)=\($0.value.percentEncoded)" }
    return "\(path)?\(parameters.joined(separator: "&"))\(fragment)"
  }
}
