import HTTPServer

/// The response to a request for content with a valid ticket: status, fields and bytes. It is a pure value, made in one
/// place and rendered twice: on a loop by ``ContentHandler``, off the loops by ``ContentRoutes``.
///
/// Preconditions come before ranges (RFC 9110 §13.2.2), and a range counts only if the whole would have been answered
/// 200 (§14.2).
///
///     let decision = RangeDecision(.proceed, .single(0..<500))  // .part(0..<500)
///     decision.status                                           // 206
///     decision.bodyLength(of: 200_000)                          // 500
///     RangeDecision(.notModified, .ignore).fields               // .common
enum RangeDecision: Hashable, Sendable {
  /// 200.
  case whole
  /// 206 with one range of bytes.
  case part(Range<Int64>)
  /// 206 with a multipart document of several ranges.
  case parts([Range<Int64>])
  /// 416.
  case unsatisfiable
  /// 304.
  case notModified
  /// 412.
  case preconditionFailed

  package init(_ verdict: Preconditions.Verdict, _ range: RangeSet) {
    switch (verdict, range) {
    case (.failed, _): self = .preconditionFailed
    case (.notModified, _): self = .notModified
    case (.proceedWithoutRange, _), (.proceed, .ignore): self = .whole
    case (.proceed, .single(let range)): self = .part(range)
    case (.proceed, .several(let ranges)): self = .parts(ranges)
    case (.proceed, .unsatisfiable): self = .unsatisfiable
    }
  }

  package var status: HTTPStatus {
    switch self {
    case .whole: .ok
    case .part, .parts: .partialContent
    case .unsatisfiable: .rangeNotSatisfiable
    case .notModified: .notModified
    case .preconditionFailed: .preconditionFailed
    }
  }

  /// Which of an ``OpenPackage``'s prepared fields the response carries.
  package var fields: OpenPackage.FieldSet {
    switch self {
    case .whole, .part: .content
    // Each part names its media type; the whole is a multipart document.
    case .parts, .notModified: .common
    case .unsatisfiable, .preconditionFailed: .refusal
    }
  }

  /// How many bytes of content that is `length` long are sent; nil for a response that carries none.
  func bodyLength(of length: Int64) -> Int64? {
    switch self {
    case .whole: length
    case .part(let range): range.upperBound - range.lowerBound
    case .parts(let ranges): ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    case .unsatisfiable, .notModified, .preconditionFailed: nil
    }
  }

  /// Whether the limits admit the body. A response without one is always admitted, and not paced.
  package func admission(
    of length: Int64, to meter: GrantMeter, under limits: RateLimits, now: () -> UInt64
  ) -> GrantMeter.Admission {
    guard let length = bodyLength(of: length) else { return .begin(bytesPerSecond: nil) }
    return meter.admission(of: length, under: limits, now: now)
  }
}
