public import ContentPackage

/// A pattern of paths: `*` stands for any characters of one segment, `?` for one character, and a segment `**` for any folders,
/// also none. A pattern that ends with `/` stands for everything in that folder. Case counts; every other character stands for itself.
///
/// ```swift
/// PathPattern("fr/**")?.matches(try PackagePath("fr/pages/001.jpg"))  // true
/// ```
public struct PathPattern: Hashable, Sendable {
  /// The pattern as it was given.
  public let text: String
  private let segments: [Segment]

  /// Bytes of a pattern, at most: as many as of a path.
  static let maximumLength = PackagePath.maximumLength

  private enum Segment: Hashable, Sendable {
    /// `**`.
    case folders
    /// The characters of one segment, where nil is `*`.
    case name([Mark])
  }

  private enum Mark: Hashable, Sendable {
    case literal(Unicode.Scalar)
    case one
    case any
  }

  /// Nil for an empty pattern, one that is longer than a path, begins with a slash, or has an empty segment.
  public init?(_ text: String) {
    guard !text.isEmpty, text.utf8.count <= Self.maximumLength else { return nil }
    var parts = text.utf8.split(separator: 0x2F, omittingEmptySubsequences: false).map {
      String(Substring($0))
    }
    if parts.last?.isEmpty == true, parts.count > 1 { parts[parts.count - 1] = "**" }
    guard !parts.contains(where: \.isEmpty) else { return nil }
    self.text = text
    segments = parts.map { part in
      part == "**"
        ? .folders : .name(part.unicodeScalars.map { $0 == "*" ? .any : $0 == "?" ? .one : .literal($0) })
    }
  }

  /// Whether the whole path fits. Takes time in the product of both lengths at most.
  public func matches(_ path: PackagePath) -> Bool {
    let names = path.segments.map { Array($0.unicodeScalars) }
    return Self.matches(segments, names) { segment in
      if case .folders = segment { return true }
      return false
    } step: { segment, name in
      guard case .name(let marks) = segment else { return true }
      return Self.matches(marks, name) {
        $0 == .any
      } step: { mark, scalar in
        mark == .one || mark == .literal(scalar)
      }
    }
  }

  /// Compares a pattern with a sequence, where elements that are `any` stand for any run of elements: on a mismatch the last of these
  /// takes one element more.
  private static func matches<Pattern, Element>(
    _ pattern: [Pattern], _ elements: [Element], isAny: (Pattern) -> Bool, step: (Pattern, Element) -> Bool
  ) -> Bool {
    var (place, position) = (0, 0)
    var retry: (place: Int, position: Int)?
    while position < elements.count {
      if place < pattern.count, isAny(pattern[place]) {
        retry = (place, position)
        place += 1
      } else if place < pattern.count, step(pattern[place], elements[position]) {
        place += 1
        position += 1
      } else if let last = retry {
        retry = (last.place, last.position + 1)
        place = last.place + 1
        position = last.position + 1
      } else {
        return false
      }
    }
    return pattern[place...].allSatisfy(isAny)
  }
}
