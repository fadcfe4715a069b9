extension FeedForm {
  /// The form that an `Accept` field prefers (RFC 9110 §12.5.1); Atom, which more applications read, where it has no wish.
  package init(accepting field: String?) {
    guard let field else {
      self = .atom
      return
    }
    var weights: [FeedForm: Double] = [:]
    for range in field.lowercased().split(separator: ",") {
      let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
      guard let name = parts.first, let form = Self.form(ofType: name) else { continue }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
      weights[form] = max(weights[form] ?? 0, weight)
    }
    self = (weights[.json] ?? 0) > (weights[.atom] ?? 0) ? .json : .atom
  }

  private static func form(ofType name: String) -> FeedForm? {
    switch name {
    case "application/opds+json", "application/json", "application/opds-publication+json": .json
    case "application/atom+xml", "application/xml", "text/xml": .atom
    default: nil
    }
  }
}
