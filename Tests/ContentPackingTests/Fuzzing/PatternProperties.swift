import ContentPackage

@testable import ContentPacking

/// The patterns of sections: a line with a pattern, and lines with paths. What fits is what a reading of the pattern by its definition,
/// which tries everything, calls fitting.
enum PatternProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    let lines = String(decoding: bytes.prefix(200), as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false)
    guard let pattern = lines.first.flatMap({ PathPattern(String($0)) }) else { return nil }
    for line in lines.dropFirst().prefix(4) {
      guard let path = try? PackagePath(String(line)) else { continue }
      let expected = fits(
        segments(pattern.text)[...], path.segments.map { Array($0.unicodeScalars) }[...])
      if pattern.matches(path) != expected {
        return "\(pattern.text) \(expected ? "does not fit" : "fits") \(path.text)"
      }
    }
    return nil
  }

  private static func segments(_ text: String) -> [[Unicode.Scalar]] {
    var parts = text.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map { Array($0) }
    if parts.last?.isEmpty == true, parts.count > 1 { parts[parts.count - 1] = ["*", "*"] }
    return parts
  }

  private static func fits(_ pattern: ArraySlice<[Unicode.Scalar]>, _ path: ArraySlice<[Unicode.Scalar]>)
    -> Bool
  {
    guard let first = pattern.first else { return path.isEmpty }
    if first == ["*", "*"] {
      // Repeated, it means the same as once; and what is left grows no more.
      if pattern.dropFirst().first == first { return fits(pattern.dropFirst(), path) }
      return fits(pattern.dropFirst(), path) || !path.isEmpty && fits(pattern, path.dropFirst())
    }
    guard let name = path.first else { return false }
    return fitsName(first[...], name[...]) && fits(pattern.dropFirst(), path.dropFirst())
  }

  private static func fitsName(_ pattern: ArraySlice<Unicode.Scalar>, _ name: ArraySlice<Unicode.Scalar>)
    -> Bool
  {
    // By columns: the places of the pattern that the name so far can have led to.
    var places: Set<Int> = closure([0], pattern)
    for scalar in name {
      var next: Set<Int> = []
      for place in places where place < pattern.count {
        let mark = pattern[pattern.startIndex + place]
        if mark == "*" { next.insert(place) } else if mark == "?" || mark == scalar { next.insert(place + 1) }
      }
      places = closure(next, pattern)
    }
    return places.contains(pattern.count)
  }

  private static func closure(_ places: Set<Int>, _ pattern: ArraySlice<Unicode.Scalar>) -> Set<Int> {
    var all = places
    for place in places.sorted() {
      var end = place
      while end < pattern.count, pattern[pattern.startIndex + end] == "*" {
        end += 1
        all.insert(end)
      }
    }
    return all
  }
}
