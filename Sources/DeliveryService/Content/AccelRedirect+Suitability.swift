import CoreTypes
import HTTPServer

extension AccelRedirect {
  /// Whether nginx would answer this request as it is to be answered. nginx decides ranges and conditions by itself: only a
  /// request that leaves it no choice is redirected, the rest is sent from here. `length` is the package's, in bytes.
  func suits(_ request: HTTPRequest, _ decision: RangeDecision, of length: Int64) -> Bool {
    if let longest, let body = decision.bodyLength(of: length), body > longest.rawValue { return false }
    let conditions = ["If-Match", "If-Unmodified-Since", "If-Modified-Since", "If-None-Match"]
    guard conditions.allSatisfy({ !request.headers.contains($0) }) else { return false }
    return switch decision {
    case .whole: !request.headers.contains("Range")
    case .part: request.method == .get && Self.isPlainRange(request.headers["Range"] ?? "")
    case .parts, .unsatisfiable, .notModified, .preconditionFailed: false
    }
  }

  /// One range in numbers that nginx can hold.
  private static func isPlainRange(_ field: String) -> Bool {
    guard field.hasPrefix("bytes=") else { return false }
    let sides = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    return sides.count == 2
      && sides.allSatisfy { $0.utf8.count <= 15 && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
  }
}
