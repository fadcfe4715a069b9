import HTTPServer

/// Which of the answers RFC 9110 knows a request for content gets, once its ticket was checked. Pure.
enum ContentAnswer: Hashable, Sendable {
  case whole
  case part(Range<Int64>)
  case parts([Range<Int64>])
  case unsatisfiable
  case notModified
  case preconditionFailed

  /// Whether bytes of the content are sent.
  var hasBody: Bool {
    switch self {
    case .whole, .part, .parts: true
    case .unsatisfiable, .notModified, .preconditionFailed: false
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
