/// The distance between two spellings.
public enum EditDistance {
  /// Levenshtein's distance: insertions, deletions and replacements from one to the other.
  public static func distance(_ left: String, _ right: String) -> Int {
    let right = Array(right)
    var row = Array(0...right.count)
    for (index, character) in left.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in right.indices {
        let replaced = diagonal + (right[column] == character ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
      }
    }
    return row[right.count]
  }

  /// The candidate nearest to `name`, the first among equals, by the rule of ``near(to:among:within:)``; nil where none is near.
  public static func nearest<Candidate: CustomStringConvertible>(
    to name: String, among candidates: some Sequence<Candidate>, within limit: Int = 2
  ) -> Candidate? {
    near(to: name, among: candidates, within: limit).first
  }

  /// The candidates within `limit` of `name`, the nearest first, and equals in their order. The limit is 2 unless given, and no more
  /// than half of the name's length: else every short word would be near another.
  public static func near<Candidate: CustomStringConvertible>(
    to name: String, among candidates: some Sequence<Candidate>, within limit: Int = 2
  ) -> [Candidate] {
    let limit = min(limit, name.count / 2)
    var found: [[Candidate]] = Array(repeating: [], count: limit + 1)
    for candidate in candidates {
      let spelling = candidate.description
      // Each letter that one has more than the other is a step.
      guard abs(spelling.utf8.count - name.utf8.count) <= limit * 4 else { continue }
      let distance = distance(spelling, name)
      if distance <= limit { found[distance].append(candidate) }
    }
    return found.flatMap(\.self)
  }
}
