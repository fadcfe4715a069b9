public import Commerce
package import CoreTypes

/// A named part of the content, which devices fetch and give up by itself: the files that carry its tag. Kept in the manifest's
/// extension `sections`, and each file's tag in the file's extension `section` (docs/formats/manifest.md).
public struct ManifestSection: Hashable, Sendable {
  /// The section's name.
  public let tag: SectionTag
  /// When devices fetch it.
  public let policy: SectionPolicy
  /// The titles for people, by language tag (BCP 47); empty when the publisher gave none.
  public let titles: [String: String]

  /// Creates the section; a manifest checks it against the files.
  public init(tag: SectionTag, policy: SectionPolicy, titles: [String: String] = [:]) {
    self.tag = tag
    self.policy = policy
    self.titles = titles
  }
}

extension ManifestSection {
  /// Sections of one manifest, at most.
  package static let maximumCount = 1000
  /// Titles of one section, at most.
  package static let maximumTitles = 32
  /// Characters of a title, at most.
  package static let maximumTitleLength = 255
  /// Bytes of a language tag, at most.
  package static let maximumLanguageLength = 35

  /// The name of the manifest's extension. Never nil: it is a name.
  static let extensionName = ManifestName("sections")
  /// The name of a file's extension. Never nil: it is a name.
  static let fileExtensionName = ManifestName("section")

  /// Whether `language` has the form of a language tag: subtags of 1 to 8 letters and digits, joined by dashes.
  package static func isLanguage(_ language: String) -> Bool {
    language.utf8.count <= maximumLanguageLength
      && language.utf8.split(separator: 0x2D, omittingEmptySubsequences: false).allSatisfy { subtag in
        (1...8).contains(subtag.count)
          && subtag.allSatisfy {
            (0x61...0x7A).contains($0) || (0x41...0x5A).contains($0) || (0x30...0x39).contains($0)
          }
      }
  }
}

/// The sections of a manifest as its extensions have them, before they are compared with the files.
struct ManifestSectionReader {
  /// By tag, ascending.
  private(set) var sections: [ManifestSection] = []
  /// The broken rules, as clauses.
  private(set) var faults: [String] = []

  /// Reads the value of the extension `sections`, which is canonical JSON already.
  init(_ value: [UInt8]) {
    var reader = CanonicalJSONReader(value)
    do throws(CanonicalJSONReader.Malformed) {
      try reader.object { reader, key throws(CanonicalJSONReader.Malformed) in
        try readSection(key, from: &reader)
      }
      try reader.end()
    } catch {
      faults.append("no object of sections at its byte \(error.position): expected \(error.expectation)")
    }
    if faults.isEmpty, !(1...ManifestSection.maximumCount).contains(sections.count) {
      faults.append("1 to \(ManifestSection.maximumCount) may be given, not \(sections.count)")
    }
  }

  /// Reads one section; a fault leaves it out.
  private mutating func readSection(
    _ key: String, from reader: inout CanonicalJSONReader
  ) throws(CanonicalJSONReader.Malformed) {
    var policy: SectionPolicy?
    var titles: [String: String] = [:]
    let faultsBefore = faults.count
    try reader.object { reader, member throws(CanonicalJSONReader.Malformed) in
      switch member {
      case "policy":
        let text = try reader.string(maximumLength: 64)
        policy = SectionPolicy(rawValue: text)
        if policy == nil { faults.append("\(key): \(text) is no policy") }
      case "title":
        try reader.object { reader, language throws(CanonicalJSONReader.Malformed) in
          titles[language] = try reader.string(maximumLength: ManifestSection.maximumTitleLength * 4)
        }
      default: throw reader.malformed("a member of a section, not \(member)")
      }
    }
    guard let tag = SectionTag(key) else {
      faults.append("\(key) is no tag of a section")
      return
    }
    if policy == nil, faults.count == faultsBefore { faults.append("\(key): its policy is missing") }
    guard let policy else { return }
    let section = ManifestSection(tag: tag, policy: policy, titles: titles)
    faults += section.titleFaults
    sections.append(section)
  }
}

extension ManifestSection {
  /// The rules that the titles break, as clauses.
  fileprivate var titleFaults: [String] {
    var faults: [String] = []
    if titles.count > Self.maximumTitles {
      faults.append("\(tag): at most \(Self.maximumTitles) titles may be given, not \(titles.count)")
    }
    for (language, title) in titles.sorted(by: { $0.key < $1.key }) {
      if !Self.isLanguage(language) { faults.append("\(tag): \(language) is no language") }
      if !(1...Self.maximumTitleLength).contains(title.count) {
        faults.append("\(tag): a title has 1 to \(Self.maximumTitleLength) characters")
      }
    }
    return faults
  }

  /// The value of the extension for these sections, in canonical JSON.
  static func canonicalValue(_ sections: [ManifestSection]) -> [UInt8] {
    var writer = CanonicalJSONWriter()
    writer.object { writer in
      for section in sections.sorted(by: { $0.tag < $1.tag }) {
        writer.key(section.tag.description)
        writer.object { writer in
          writer.member("policy", section.policy.rawValue)
          guard !section.titles.isEmpty else { return }
          writer.key("title")
          writer.object { writer in
            let titles = section.titles.sorted {
              $0.key.utf8.lexicographicallyPrecedes($1.key.utf8)
            }
            for (language, title) in titles { writer.member(language, title) }
          }
        }
      }
    }
    return writer.bytes
  }
}

extension ManifestExtensions {
  /// The tag in a file's extension `section`; nil where there is none, or it is none.
  var sectionTag: SectionTag? {
    guard let name = ManifestSection.fileExtensionName, let value = self[name] else { return nil }
    var reader = CanonicalJSONReader(value)
    guard let text = try? reader.string(maximumLength: SectionTag.maximumLength) else { return nil }
    return SectionTag(text)
  }

  /// The extensions of a file of the section: nil for none.
  static func of(_ tag: SectionTag?) -> ManifestExtensions? {
    guard let tag, let name = ManifestSection.fileExtensionName else { return nil }
    var writer = CanonicalJSONWriter()
    writer.string(tag.description)
    return ManifestExtensions([name: writer.bytes])
  }
}

extension ManifestDraft {
  /// Writes the sections, and the tag of each file that belongs to one, into the extensions. To be called for a draft without
  /// extensions, as a packer makes it; nothing changes where there are no sections.
  package mutating func setSections(_ sections: [ManifestSection], of tags: [PackagePath: SectionTag]) {
    guard !sections.isEmpty, let name = ManifestSection.extensionName else { return }
    extensions = ManifestExtensions([name: ManifestSection.canonicalValue(sections)])
    var shared = SharedExtensions()
    files = files.map { file in
      ManifestFile(
        path: file.path, offset: file.offset, storedLength: file.storedLength, length: file.length,
        method: file.method, digest: file.digest,
        extensions: ManifestExtensions.of(tags[file.path]).map { shared.shared($0) })
    }
  }

  /// The sections by tag, and an issue for each rule of sections that this draft breaks.
  func readSections() -> (sections: [ManifestSection], issues: [PackageValidationIssue]) {
    guard let name = ManifestSection.extensionName, let fileName = ManifestSection.fileExtensionName else {
      return ([], [])
    }
    var issues: [PackageValidationIssue] = []
    func report(_ detail: String, path: String? = nil) {
      issues.append(PackageValidationIssue(.sectionInvalid, path: path, detail))
    }
    var sections: [ManifestSection] = []
    if let value = extensions?[name] {
      let reader = ManifestSectionReader(value)
      for fault in reader.faults { report("sections: \(fault)") }
      guard reader.faults.isEmpty else { return ([], issues) }
      sections = reader.sections
      if kind == .file { report("sections: a single file has none") }
    }
    let policies = Dictionary(sections.map { ($0.tag, $0.policy) }, uniquingKeysWith: { first, _ in first })
    var used: Set<SectionTag> = []
    var hasRequiredFile = false
    for file in files {
      guard let tag = file.section else {
        if file.extensions?[fileName] != nil { report("section: no tag of a section", path: file.path.text) }
        hasRequiredFile = true
        continue
      }
      used.insert(tag)
      switch policies[tag] {
      case .required: hasRequiredFile = true
      case .prefetch, .onDemand: break
      case nil: report("section: the manifest names no section \(tag)", path: file.path.text)
      }
    }
    for section in sections where !used.contains(section.tag) {
      report("sections: no file belongs to \(section.tag)")
    }
    if !sections.isEmpty, !hasRequiredFile {
      report("sections: no file is required, and a purchase would end with nothing")
    }
    return (sections, issues)
  }
}

extension Manifest {
  /// The files of one section.
  package struct SectionSize: Hashable, Sendable {
    /// How many there are.
    package var files = 0
    /// Their bytes together.
    package var length = ByteCount.zero

    /// The size of a section without files.
    package init() {}
  }

  /// The size of each section that this value speaks of, of all in one pass.
  package var sectionSizes: [SectionTag: SectionSize] {
    var sizes: [SectionTag: SectionSize] = [:]
    for file in files {
      guard let section = file.section else { continue }
      sizes[section, default: SectionSize()].files += 1
      sizes[section, default: SectionSize()].length += file.length
    }
    return sizes
  }
}
