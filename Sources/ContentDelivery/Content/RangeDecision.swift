import HTTPParsing
import HTTPServer

/// The response to a request for content with a valid ticket: status, fields and bytes. It is a pure value, made in one
/// place and rendered twice: on a loop by ``ContentHandler``, off the loops by ``ContentRoutes``.
///
/// Preconditions come before ranges (RFC 9110 §13.2.2), and a range counts only if the whole would have been answered
/// 200 (§14.2).
///
///     let decision = RangeDecision(on: request, entityTag: package.entityTag, length: 200_000)
///     decision                           // .part(0..<500), with Range: bytes=0-499
///     decision.status                    // 206
///     decision.bodyLength(of: 200_000)   // 500
///     decision.contentRange(of: 200_000) // "bytes 0-499/200000"
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

  /// Decides on a request off the loops for content that is `length` bytes long. `entityTag` is its `ETag`, with quotes.
  init(on request: HTTPRequest, entityTag: String, length: Int64) {
    self.init(
      Preconditions(request, entityTag: entityTag).verdict, RangeSet.requested(request, length: length))
  }

  /// Decides on a request for the package that a loop has read; `bytes` is the input in which the head's fields stand. Nearly every
  /// request has no conditions, and then nothing but its range is looked at.
  @inline(__always)
  init(on head: borrowing RequestHead, bytes: Span<UInt8>, for package: OpenPackage) {
    self.init(on: head, bytes: bytes, entityTag: package.entityTagBytes, length: package.length)
  }

  /// The same for content that is `length` bytes long. `entityTag` is its `ETag`, with quotes.
  @inline(__always)
  init(on head: borrowing RequestHead, bytes: Span<UInt8>, entityTag: [UInt8], length: Int64) {
    let range = RangeSet.requested(head: head, bytes: bytes, length: length)
    guard head.hasConditions else {
      self.init(.proceed, range)
      return
    }
    self.init(Preconditions(head: head, bytes: bytes, entityTag: entityTag.span).verdict, range)
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

  /// The value of `Content-Range` for content that is `length` bytes long: that of a single part, or of a 416 (RFC 9110 §14.4). Nil for
  /// a response without one. Several parts have each their own within the document (§15.3.7.2).
  func contentRange(of length: Int64) -> String? {
    switch self {
    case .part(let range): "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
    case .unsatisfiable: "bytes */\(length)"
    case .whole, .parts, .notModified, .preconditionFailed: nil
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

  /// The first run of bytes of content that is `length` long; nil for a response that carries none.
  func firstRange(of length: Int64) -> Range<Int64>? {
    switch self {
    case .whole: 0..<length
    case .part(let range): range
    case .parts(let ranges): ranges.first
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
