import CoreTypes
import PullboxAPI
import ServiceAPI

/// One request of the doctor, and what it is for. The probes are sent in the order of their cases, of which
/// each may rest on those before it (``needs``).
public enum ServerProbe: String, CaseIterable, Sendable {
  /// The report of a plain request as it arrives.
  case report
  /// The report of a request with all fields that agents send.
  case dressedReport
  /// A refusal by the server.
  case refusal
  /// The head of a body of a MiB.
  case head
  /// The body of a MiB.
  case whole
  /// The same, by a client that takes gzip.
  case coded
  /// A thousand bytes of it.
  case range
  /// Its last bytes, by an offset alone.
  case openRange
  /// Its last bytes, by their number.
  case suffixRange
  /// A range behind its end.
  case unsatisfiableRange
  /// A range if the entity tag is the server's.
  case ifRange
  /// A range if the entity tag is one that it is not.
  case ifRangeOfOther
  /// The body unless the entity tag is the server's.
  case ifNoneMatch
  /// The head of 8 GiB.
  case longHead
  /// A thousand bytes behind 2^31.
  case rangeBeyond2GiB
  /// A thousand bytes behind 2^32.
  case rangeBeyond4GiB
  /// A body that rests after its first KiB.
  case paused
  /// A file, sent in the way of packages.
  case file
  /// A range of that.
  case fileRange
  /// Whether they are open.
  case metrics
  /// A body of more than 2 GiB; only if asked for.
  case longBody
  /// A body of more than 1 GiB that is read slowly at first; only if asked for.
  case slowBody

  /// Bytes of the body that most probes ask for.
  static let length: Int64 = 1 << 20
  /// Bytes of the body that rests.
  static let pausedLength: Int64 = 65_536
  /// Bytes of it that are sent before the rest.
  static let pauseAfter: Int64 = 1024
  /// A MiB beyond 2^31.
  static let longLength: Int64 = 1 << 31 | 1 << 20
  /// Beyond the GiB after which nginx stops to gather a body (`proxy_max_temp_file_size`).
  static let slowLength: Int64 = 1 << 30 | 64 << 20
  /// Bytes of most ranges that are asked for.
  static let rangeLength: Int64 = 1000

  /// Whether it is asked only with `--deep`.
  public var isDeep: Bool { self == .longBody || self == .slowBody }

  /// The bytes that a right answer brings; nil for an answer that is not of the diagnostic content.
  var range: Range<Int64>? {
    switch self {
    case .whole, .coded, .ifRangeOfOther: 0..<Self.length
    case .range, .ifRange: 1000..<1000 + Self.rangeLength
    case .openRange: Self.length - 500..<Self.length
    case .suffixRange: Self.length - 300..<Self.length
    case .rangeBeyond2GiB: 1 << 31 + 5..<1 << 31 + 5 + Self.rangeLength
    case .rangeBeyond4GiB: 1 << 32 + 70_000..<1 << 32 + 70_000 + Self.rangeLength
    case .paused: 0..<Self.pausedLength
    case .file: 0..<DiagnosticContent.fileLength
    case .fileRange: 70_000..<71_000
    case .longBody: 0..<Self.longLength
    case .slowBody: 0..<Self.slowLength
    case .report, .dressedReport, .refusal, .head, .unsatisfiableRange, .ifNoneMatch, .longHead, .metrics: nil
    }
  }

  /// Bytes of the representation that it asks about.
  var completeLength: Int64 {
    switch self {
    case .longHead, .rangeBeyond2GiB, .rangeBeyond4GiB: DiagnosticContent.maximumLength
    case .file, .fileRange: DiagnosticContent.fileLength
    case .paused: Self.pausedLength
    case .longBody: Self.longLength
    case .slowBody: Self.slowLength
    default: Self.length
    }
  }

  /// HEAD for the two probes that want a length alone.
  var method: String { self == .head || self == .longHead ? "HEAD" : "GET" }

  /// Path and query.
  ///
  /// - Parameter pause: used by ``paused`` alone, in whole seconds and at least one.
  func target(pause: Duration) -> String {
    switch self {
    case .report: return "/v1/diagnostics"
    case .dressedReport: return "/v1/diagnostics?ticket=diagnostics"
    case .refusal: return "/v1/diagnostics/none"
    case .metrics: return "/metrics"
    case .file, .fileRange: return DiagnosticContent.filePath
    default: break
    }
    let query = "length=\(completeLength)"
    guard self == .paused else { return "\(DiagnosticContent.path)?\(query)" }
    let seconds = max(1, pause.components.seconds)
    return "\(DiagnosticContent.path)?\(query)&pause=\(seconds)&pauseAfter=\(Self.pauseAfter)"
  }

  /// The fields that the request has besides those of every request. The values of ``dressedReport`` are no
  /// credential and no tag of anything.
  var fields: [(String, String)] {
    let tag = DiagnosticContent.entityTag(length: completeLength)
    func range(_ text: String) -> (String, String) { ("Range", "bytes=\(text)") }
    switch self {
    case .dressedReport:
      return [
        ("Authorization", "Bearer diagnostics"), range("0-0"), ("If-Range", "\"diagnostics\""),
        ("If-None-Match", "\"diagnostics\""),
      ]
    case .coded: return [("Accept-Encoding", "gzip, deflate, br, zstd")]
    case .openRange: return [range("\(Self.length - 500)-")]
    case .suffixRange: return [range("-300")]
    case .unsatisfiableRange: return [range("\(completeLength)-")]
    case .ifRange: return [range(Self.ends(self.range)), ("If-Range", tag)]
    case .ifRangeOfOther: return [range("1000-1999"), ("If-Range", "\"other\"")]
    case .ifNoneMatch: return [("If-None-Match", tag)]
    case .range, .rangeBeyond2GiB, .rangeBeyond4GiB, .fileRange: return [range(Self.ends(self.range))]
    default: return []
    }
  }

  /// The bounds in the words of `Range` (RFC 9110 section 14.1.2): the last byte is within.
  private static func ends(_ range: Range<Int64>?) -> String {
    range.map { "\($0.lowerBound)-\($0.upperBound - 1)" } ?? ""
  }

  /// Bytes after which the answer is cut off: a proxy that sends the whole instead of a range must not cost a download.
  var limit: ByteCount {
    guard let range else { return .mebibytes(1) }
    return ByteCount(max(range.upperBound - range.lowerBound, Self.length))
  }

  /// The probes that must have been answered rightly before this one is worth sending.
  var needs: [ServerProbe] {
    switch self {
    case .report: []
    case .openRange, .suffixRange, .unsatisfiableRange, .ifRange, .ifRangeOfOther: [.report, .range]
    case .longHead, .rangeBeyond2GiB, .rangeBeyond4GiB: [.report, .range]
    case .fileRange: [.report, .range, .file]
    case .longBody, .slowBody: [.report, .whole]
    default: [.report]
    }
  }
}
