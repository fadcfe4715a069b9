import CoreTypes

/// Where a file lies inside a package: a relative path of safe segments, separated by `/`. Two paths are the same when
/// their UTF-8 bytes are; they are ordered by these bytes.
///
/// Safe means: 1 to 1024 bytes of UTF-8; segments of 1 to 255 bytes, none of them `.` or `..`; at most
/// 64 folders inside one another; no backslash, no control character, nothing invisible (`hasInvisibleFormatting`); no name that
/// another system reserves for a device (`CON`, `nul.txt`, …).
public struct PackagePath: Sendable {
  /// The path, segments separated by `/`.
  public let text: String

  /// Bytes of a path in UTF-8, at most.
  public static let maximumLength = 1024
  /// Bytes of one segment in UTF-8, at most.
  public static let maximumSegmentLength = 255
  /// Folders inside folders, at most; the file lies in the last.
  public static let maximumDepth = 64

  /// Throws ``PackagePathFault`` when `text` is no such path.
  public init(_ text: String) throws(PackagePathFault) {
    if let fault = PackagePathFault.first(in: text) { throw fault }
    self.text = text
  }

  /// The names between the slashes, at least one. A slash ends a name whatever follows it, also a mark that would make one character
  /// with it.
  public var segments: [Substring] {
    text.utf8.split(separator: 0x2F, omittingEmptySubsequences: false).map { Substring($0) }
  }

  /// The last segment.
  public var name: Substring { segments.last ?? Substring(text) }

  /// After the last dot of the name, in lower case; empty when there is none.
  public var fileExtension: String {
    let name = name
    guard let dot = name.utf8.lastIndex(of: 0x2E), dot != name.startIndex else { return "" }
    return name[name.utf8.index(after: dot)...].lowercased()
  }
}

extension PackagePath: Hashable {
  /// Paths are equal when their bytes are: no Unicode normalization happens.
  public static func == (left: PackagePath, right: PackagePath) -> Bool {
    left.text.utf8.elementsEqual(right.text.utf8)
  }

  /// Hashes the path's bytes.
  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

extension PackagePath: Comparable {
  /// Orders paths by their bytes, which is the order of a manifest's files.
  public static func < (left: PackagePath, right: PackagePath) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}

extension PackagePath: CustomStringConvertible {
  /// The text itself.
  public var description: String { text }
}

/// Why a text is no ``PackagePath``.
public enum PackagePathFault: Error, Hashable, Sendable {
  case empty
  case tooLong
  case absolute
  case emptySegment
  case dotSegment
  case segmentTooLong
  case backslash
  case controlCharacter
  case invisibleCharacter
  case tooDeep
  case reservedName
  case notUnicode

  /// A clause for people: "the path …".
  public var reason: String {
    switch self {
    case .empty: "the path is empty"
    case .tooLong: "the path is longer than \(PackagePath.maximumLength) bytes"
    case .absolute: "the path is absolute"
    case .emptySegment: "the path has an empty segment"
    case .dotSegment: "the path has a segment that is . or .."
    case .segmentTooLong: "a name in the path is longer than \(PackagePath.maximumSegmentLength) bytes"
    case .backslash: "the path has a backslash"
    case .controlCharacter: "the path has a control character"
    case .invisibleCharacter: "the path has a character that is not to be seen and changes how it reads"
    case .tooDeep: "folders lie at most \(PackagePath.maximumDepth) deep"
    case .reservedName: "the path has a name that some systems reserve for a device"
    case .notUnicode: "the path is not UTF-8"
    }
  }

  package var code: PackageValidationIssue.Code { self == .tooDeep ? .folderTooDeep : .pathUnsafe }

  /// The first rule that `text` breaks, nil for a safe path.
  static func first(in text: String) -> PackagePathFault? {
    if text.isEmpty { return .empty }
    if text.utf8.count > PackagePath.maximumLength { return .tooLong }
    if text.utf8.first == 0x2F { return .absolute }
    if text.utf8.contains(0x5C) { return .backslash }
    if text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
      return .controlCharacter
    }
    if text.hasInvisibleFormatting { return .invisibleCharacter }
    if text.utf8.lazy.filter({ $0 == 0x2F }).count > PackagePath.maximumDepth { return .tooDeep }
    for segment in text.utf8.split(separator: 0x2F, omittingEmptySubsequences: false) {
      if let fault = first(inSegment: segment) { return fault }
    }
    return nil
  }

  private static func first(inSegment segment: Substring.UTF8View) -> PackagePathFault? {
    if segment.isEmpty { return .emptySegment }
    if segment.elementsEqual([0x2E]) || segment.elementsEqual([0x2E, 0x2E]) { return .dotSegment }
    if segment.count > PackagePath.maximumSegmentLength { return .segmentTooLong }
    return isReserved(Substring(segment)) ? .reservedName : nil
  }

  /// The device names of DOS and Windows count with any extension and trailing spaces, in any case.
  private static func isReserved(_ segment: Substring) -> Bool {
    var stem = segment.unicodeScalars.prefix { $0 != "." }
    while stem.last == " " { stem.removeLast() }
    let name = String(stem).uppercased()
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"].contains(name) { return true }
    guard name.count == 4, name.hasPrefix("COM") || name.hasPrefix("LPT"), let last = name.last else {
      return false
    }
    return "0123456789¹²³".contains(last)
  }
}

/// Takes the paths of one package in any order and finds those that cannot live side by side: the same path twice, two
/// spellings that differ only by case or Unicode normalization (in any segment), a file where another path needs a
/// folder.
package struct PathConflictDetector {
  private enum Role {
    case file
    case folder
  }

  // Keys are case-folded; String compares and hashes by canonical equivalence, which takes care of normalization.
  private var known: [String: (spelling: String, role: Role)] = [:]

  package init() {}

  /// Nil when `path` is fine beside those before it.
  package mutating func register(_ path: PackagePath) -> PackageValidationIssue? {
    let segments = path.segments
    var prefix = ""
    for (index, segment) in segments.enumerated() {
      let role = index == segments.count - 1 ? Role.file : .folder
      if role == .file {
        // The path's own text, which is in memory already: a package may have many.
        prefix = path.text
      } else {
        prefix += index == 0 ? String(segment) : "/" + segment
      }
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
        "\(later.spelling) differs from \(earlier.spelling) only by case or Unicode normalization")
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
