/// A sentence or a word of the console in every language that it speaks. One that lacks a language does not compile. Places for values
/// are `{0}`, `{1}` and so on.
package struct Phrase: Sendable, Hashable {
  let english: String
  let german: String

  init(_ english: String, _ german: String) {
    self.english = english
    self.german = german
  }
}

/// The languages of the console.
package enum Language: String, CaseIterable, Sendable {
  case english = "en"
  case german = "de"

  /// The language's name in itself.
  package var name: String {
    switch self {
    case .english: "English"
    case .german: "Deutsch"
    }
  }

  /// The first of a browser's languages (RFC 9110 §12.5.4) that the console speaks; English without one. Weights are not looked at:
  /// browsers list the preferred one first.
  package init(accepting fields: [String]) {
    for range in fields.joined(separator: ",").lowercased().split(separator: ",") {
      let tag = range.split(separator: ";").first ?? ""
      let primary = tag.drop { $0 == " " || $0 == "\t" }.split(separator: "-").first ?? ""
      if let language = Language(rawValue: String(primary)) {
        self = language
        return
      }
    }
    self = .english
  }
}

/// Says phrases in one language, and writes numbers and dates as the language has them.
package struct Words: Sendable {
  package var language: Language

  package init(_ language: Language) {
    self.language = language
  }

  /// The phrase, with the values in its places.
  package func callAsFunction(_ phrase: Phrase, _ values: String...) -> String {
    let template = language == .german ? phrase.german : phrase.english
    guard !values.isEmpty else { return template }
    var text = ""
    var rest = template[...]
    while let open = rest.firstIndex(of: "{") {
      text += rest[..<open]
      rest = rest[rest.index(after: open)...]
      guard let close = rest.firstIndex(of: "}"), let index = Int(rest[..<close]) else {
        text += "{"
        continue
      }
      // A value is not looked at again: what others wrote may have braces.
      if values.indices.contains(index) { text += values[index] }
      rest = rest[rest.index(after: close)...]
    }
    return text + rest
  }
}
