/// The order in which people number pages: runs of digits count as numbers (`page2` before `page10`), the rest by
/// lower-case text; paths that are the same to that are ordered by their bytes.
enum NaturalOrder {
  static func precedes(_ left: PackagePath, _ right: PackagePath) -> Bool {
    let (first, second) = (parts(of: left.text), parts(of: right.text))
    for (one, other) in zip(first, second) where one != other { return one < other }
    return first.count == second.count ? left < right : first.count < second.count
  }

  private enum Part: Comparable {
    /// By length, then digit by digit: no number is too large.
    case number(digits: Int, text: String)
    case text(String)
  }

  private static func parts(of text: String) -> [Part] {
    var parts: [Part] = []
    var rest = text.lowercased()[...]
    while let character = rest.first {
      let isDigit = character.isASCII && character.isNumber
      let run = rest.prefix { ($0.isASCII && $0.isNumber) == isDigit }
      rest = rest[run.endIndex...]
      if isDigit {
        let significant = String(run.drop { $0 == "0" })
        parts.append(.number(digits: significant.count, text: significant))
      } else {
        parts.append(.text(String(run)))
      }
    }
    return parts
  }
}
