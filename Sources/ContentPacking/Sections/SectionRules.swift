public import Commerce
public import ContentPackage

/// The sections that a package is to have, and the patterns of the files that belong to each.
public struct SectionRules: Hashable, Sendable {
  /// One section with the patterns of its files.
  public struct Rule: Hashable, Sendable {
    /// The section.
    public var section: ManifestSection
    /// A file that fits one of these belongs to it.
    public var patterns: [PathPattern]

    /// A rule of all members.
    public init(section: ManifestSection, patterns: [PathPattern]) {
      self.section = section
      self.patterns = patterns
    }
  }

  /// In the order in which they were given; no tag twice.
  public private(set) var rules: [Rule] = []

  /// No sections: the content is one whole.
  public static let none = SectionRules()

  private init() {}

  /// Creates the rules. Throws ``PackageValidationError`` where a tag is given twice.
  public init(_ rules: [Rule]) throws(PackageValidationError) {
    var tags: Set<SectionTag> = []
    let twice = rules.filter { !tags.insert($0.section.tag).inserted }
    guard twice.isEmpty else {
      throw PackageValidationError(
        twice.map { PackageValidationIssue(.sectionInvalid, "the section \($0.section.tag) is given twice") })
    }
    self.rules = rules
  }

  /// The section of each of the files that belongs to one. Throws ``PackageValidationError`` with each file that fits two sections, and
  /// each pattern and section that no file fits.
  public func assignment(of files: [PackagePath]) throws(PackageValidationError) -> [PackagePath: SectionTag]
  {
    var tags: [PackagePath: SectionTag] = [:]
    var faults: [PackageValidationIssue] = []
    for rule in rules {
      var isEmpty = true
      for pattern in rule.patterns {
        var fits = false
        for file in files where pattern.matches(file) {
          (fits, isEmpty) = (true, false)
          if let other = tags.updateValue(rule.section.tag, forKey: file), other != rule.section.tag {
            faults.append(
              PackageValidationIssue(
                .sectionInvalid, path: file.text,
                "the file belongs to two sections, \(other) and \(rule.section.tag)"))
          }
        }
        if !fits {
          faults.append(
            PackageValidationIssue(
              .sectionInvalid,
              "no file fits \(pattern.text), which belongs to the section \(rule.section.tag)"))
        }
      }
      if isEmpty, rule.patterns.isEmpty {
        faults.append(PackageValidationIssue(.sectionInvalid, "the section \(rule.section.tag) has no files"))
      }
    }
    guard faults.isEmpty else { throw PackageValidationError(faults) }
    return tags
  }
}
