/// A path with placeholders: `/v1/grants/{grant}`, `/v1/content/{digest}.meta4`, `/files/{path...}`. A placeholder fills
/// one segment, or one up to a literal ending, or (last, with dots) all that remain.
struct RoutePattern: Sendable, Hashable {
  enum Segment: Sendable, Hashable {
    case literal(String)
    case placeholder(String, suffix: String)
    case rest(String)
  }

  let segments: [Segment]

  /// A malformed pattern is a defect and traps.
  init(_ pattern: String) {
    precondition(pattern.hasPrefix("/"), "a pattern starts with a slash: \(pattern)")
    let parts = pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    segments = parts.enumerated().map { index, part in
      guard part.hasPrefix("{") else { return .literal(String(part)) }
      guard let end = part.firstIndex(of: "}") else {
        preconditionFailure("a placeholder is not closed: \(pattern)")
      }
      let name = String(part[part.index(after: part.startIndex)..<end])
      let suffix = String(part[part.index(after: end)...])
      if name.hasSuffix("...") {
        precondition(index == parts.count - 1 && suffix.isEmpty, "only the end takes the rest: \(pattern)")
        return .rest(String(name.dropLast(3)))
      }
      return .placeholder(name, suffix: suffix)
    }
  }

  func match(_ path: [String]) -> [String: String]? {
    var values: [String: String] = [:]
    for (index, segment) in segments.enumerated() {
      if case .rest(let name) = segment {
        guard index < path.count else { return nil }
        values[name] = path[index...].joined(separator: "/")
        return values
      }
      guard index < path.count else { return nil }
      switch segment {
      case .literal(let text):
        guard text == path[index] else { return nil }
      case .placeholder(let name, let suffix):
        guard path[index].hasSuffix(suffix), path[index].utf8.count > suffix.utf8.count else { return nil }
        values[name] = String(path[index].dropLast(suffix.count))
      case .rest: return nil
      }
    }
    return path.count == segments.count ? values : nil
  }

  /// Of two patterns that match one path, the one whose first different segment is more particular goes first.
  func precedes(_ other: RoutePattern) -> Bool {
    for (mine, theirs) in zip(segments, other.segments) where mine.rank != theirs.rank {
      return mine.rank > theirs.rank
    }
    return segments.count > other.segments.count
  }
}

extension RoutePattern.Segment {
  fileprivate var rank: Int {
    switch self {
    case .literal: Int.max
    case .placeholder(_, let suffix): 1 + suffix.count
    case .rest: 0
    }
  }
}
