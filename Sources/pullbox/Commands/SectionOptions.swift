import Commerce
import ContentPackage
import ContentPacking
import ServiceRuntime

/// The sections that `pack` and `publish` make of a folder: parts with a name and a policy, by which devices fetch them with the rest or by
/// themselves (docs/formats/manifest.md).
enum SectionOptions {
  /// `--section`, `--section-policy` and `--section-title`, each for as many sections as are wanted.
  static let options = [
    CommandOption.list(
      "section", "TAG=GLOB",
      help:
        "Files of a part that has a name, such as lang-fr=fr/** (* and ? within a folder, ** for any folders)"
    ),
    CommandOption.list(
      "section-policy", "TAG=POLICY",
      help:
        "When devices fetch a section: required (with the rest, unless given), prefetch (behind the rest) or on-demand (when it is asked for)"
    ),
    CommandOption.list(
      "section-title", "TAG=LANG:TEXT", help: "Title of a section for readers in a language"),
  ]

  /// The rules of the options; none without any. Throws `UsageError` for an option that cannot be read, and
  /// ``PackageValidationError`` never: each tag has one rule.
  static func rules(_ arguments: ParsedArguments) throws -> SectionRules {
    var rules: [SectionTag: SectionRules.Rule] = [:]
    for text in arguments.values("section") {
      let (tag, glob) = try parts(of: text, option: "section")
      guard let pattern = PathPattern(glob) else {
        throw UsageError("--section \(text): '\(glob)' is no pattern of paths")
      }
      rules[
        tag, default: SectionRules.Rule(section: ManifestSection(tag: tag, policy: .required), patterns: [])
      ].patterns.append(pattern)
    }
    var policies: [SectionTag: SectionPolicy] = [:]
    for text in arguments.values("section-policy") {
      let (tag, word) = try parts(of: text, option: "section-policy")
      guard let policy = SectionPolicy(rawValue: word) else {
        let words = SectionPolicy.allCases.map(\.rawValue).joined(separator: ", ")
        throw UsageError("--section-policy \(text): the policies are \(words)")
      }
      guard policies.updateValue(policy, forKey: tag) == nil else {
        throw UsageError("--section-policy is given twice for \(tag)")
      }
    }
    var titles: [SectionTag: [String: String]] = [:]
    for text in arguments.values("section-title") {
      let (tag, title) = try parts(of: text, option: "section-title")
      guard let colon = title.firstIndex(of: ":"), ManifestSection.isLanguage(String(title[..<colon])) else {
        throw UsageError("--section-title \(text): TAG=LANG:TEXT, such as lang-fr=fr:Français")
      }
      let language = String(title[..<colon])
      let words = String(title[title.index(after: colon)...])
      guard titles[tag, default: [:]].updateValue(words, forKey: language) == nil else {
        throw UsageError("--section-title is given twice for \(tag) in \(language)")
      }
    }
    for tag in Set(policies.keys).union(titles.keys).sorted() where rules[tag] == nil {
      throw UsageError("no --section names the files of \(tag)")
    }
    return try SectionRules(
      rules.keys.sorted().compactMap { tag in
        rules[tag].map { rule in
          SectionRules.Rule(
            section: ManifestSection(
              tag: tag, policy: policies[tag] ?? .required, titles: titles[tag] ?? [:]),
            patterns: rule.patterns)
        }
      })
  }

  /// Refuses the options for a source that is packed already, or is one file.
  static func check(_ rules: SectionRules, of source: PublishSource) throws(UsageError) {
    guard rules != .none, source.isFile else { return }
    throw UsageError("--section goes with a folder: the sections of a package were made when it was packed")
  }

  /// A tag and what stands behind the first `=`.
  private static func parts(of text: String, option: String) throws(UsageError) -> (SectionTag, String) {
    guard let equals = text.firstIndex(of: "=") else {
      throw UsageError("--\(option) \(text): a tag, '=' and a value are wanted")
    }
    let word = String(text[..<equals])
    guard let tag = SectionTag(word) else {
      throw UsageError(
        "--\(option) \(text): '\(word)' is no tag (1 to \(SectionTag.maximumLength) of a-z, 0-9 and inner dashes)"
      )
    }
    return (tag, String(text[text.index(after: equals)...]))
  }
}
