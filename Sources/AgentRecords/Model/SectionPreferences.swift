package import Commerce

/// Which sections of content are fetched without being asked for. Pure: the same manifest, choices and configuration give the same answer.
package struct SectionPreferences: Hashable, Sendable {
  /// The word of the configuration on a tag.
  package enum Rule: Hashable, Sendable {
    /// Fetched behind what is required, whatever its policy says.
    case fetch
    /// Left to a person.
    case ask
  }

  /// The rules by tag.
  package var rules: [SectionTag: Rule]
  /// The reader's language by its BCP 47 tag, for sections called `lang-LANGUAGE`; nil where it is not known.
  package var locale: String?

  package init(rules: [SectionTag: Rule] = [:], locale: String? = nil) {
    self.rules = rules
    self.locale = locale
  }

  /// Whether that section is fetched by itself. What a person chose counts before the configuration, that before the language, and that
  /// before the policy. A required section comes with the content, and is not asked about.
  ///
  /// - Parameter choice: true where a person asked for it, false where one dropped it, nil where none did.
  package func fetches(_ tag: SectionTag, policy: SectionPolicy, choice: Bool?) -> Bool {
    if let choice { return choice }
    if let rule = rules[tag] { return rule == .fetch }
    if let speaks = speaksReadersLanguage(tag) { return speaks }
    return policy == .prefetch
  }

  /// Whether a section called `lang-LANGUAGE` is in the reader's language; nil for one that is called otherwise, and where the language is
  /// not known. `lang-pt` is in the language of a reader of `pt-BR`, and `lang-pt-br` is not in that of a reader of `pt-PT`.
  private func speaksReadersLanguage(_ tag: SectionTag) -> Bool? {
    let prefix = "lang-"
    guard let locale, tag.description.hasPrefix(prefix) else { return nil }
    let language = tag.description.dropFirst(prefix.count).split(separator: "-")
    let reader = locale.lowercased().split { $0 == "-" || $0 == "_" }
    guard let first = reader.first, !language.isEmpty else { return nil }
    // A section that names no region speaks to readers of every one.
    return language.first == first && reader.starts(with: language)
  }
}
