import HTTPServer

/// Which of the answers RFC 9110 knows a request for content gets, once its ticket was checked. Pure.
enum RangeDecision: Hashable, Sendable {
  case whole
  case part(Range<Int64>)
  case parts([Range<Int64>])
  case unsatisfiable
  case notModified
  case preconditionFailed

  /// How many bytes of content that is `length` long are sent; nil where the answer carries none.
  func bodyLength(of length: Int64) -> Int64? {
    switch self {
    case .whole: length
    case .part(let range): range.upperBound - range.lowerBound
    case .parts(let ranges): ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    case .unsatisfiable, .notModified, .preconditionFailed: nil
    }
  }

  /// Preconditions come before ranges (§13.2.2), and a range counts only where the whole would have been answered 200.
  init(_ verdict: Preconditions.Verdict, _ range: RangeSet) {
    switch (verdict, range) {
    case (.failed, _): self = .preconditionFailed
    case (.notModified, _): self = .notModified
    case (.proceedWithoutRange, _), (.proceed, .ignore): self = .whole
    case (.proceed, .single(let range)): self = .part(range)
    case (.proceed, .several(let ranges)): self = .parts(ranges)
    case (.proceed, .unsatisfiable): self = .unsatisfiable
    }
  }
}
