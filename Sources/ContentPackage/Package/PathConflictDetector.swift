/// Takes the paths of one package in any order and finds those that cannot live side by side: the same path twice, two
/// spellings that differ only by case or Unicode normalisation (in any segment), a file where another path needs a
/// folder.
struct PathConflictDetector {
  private enum Role {
    case file
    case folder
  }

  // Keys are case-folded; String compares and hashes by canonical equivalence, which settles the normalisation.
  private var known: [String: (spelling: String, role: Role)] = [:]

  /// Nil when `path` is fine beside those before it.
  mutating func register(_ path: PackagePath) -> PackageValidationIssue? {
    let segments = path.segments
    var prefix = ""
    for (index, segment) in segments.enumerated() {
      prefix += index == 0 ? String(segment) : "/" + segment
      let role = index == segments.count - 1 ? Role.file : .folder
      let key = prefix.uppercased().lowercased()
      guard let earlier = known[key] else {
        known[key] = (prefix, role)
        continue
      }
      if let fault = fault(between: earlier, and: (prefix, role), path: path.text) { return fault }
    }
    return nil
  }

  private func fault(
    between earlier: (spelling: String, role: Role), and later: (spelling: String, role: Role), path: String
  ) -> PackageValidationIssue? {
    guard earlier.spelling.utf8.elementsEqual(later.spelling.utf8) else {
      return PackageValidationIssue(
        .pathAmbiguous, path: path,
        "\(later.spelling) differs from \(earlier.spelling) only by case or Unicode normalisation")
    }
    switch (earlier.role, later.role) {
    case (.folder, .folder): return nil
    case (.file, .file): return PackageValidationIssue(.pathDuplicate, path: path, "the path occurs twice")
    case (.file, .folder), (.folder, .file):
      return PackageValidationIssue(
        .pathInsideFile, path: path, "\(later.spelling) is both a file and a folder")
    }
  }
}
