import Crypto
import HTTPServer
import CoreTypes

/// Leaves the sending of a body to the nginx in front, which reads the package from the blobs' directory
/// (`X-Accel-Redirect`). Gate, limits and conditions stay here.
struct AccelRedirect: Sendable {
  /// The internal location that nginx maps to the blobs' directory; begins and ends with a slash.
  let prefix: String
  /// Bodies that are longer are sent from here, where a revocation ends them; nil for no bound.
  let longest: ByteCount?

  /// Nil unless `prefix` is a path.
  init?(prefix: String, longest: ByteCount? = nil) {
    guard prefix.hasPrefix("/"), prefix.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
    self.prefix = prefix.hasSuffix("/") ? prefix : prefix + "/"
    self.longest = longest
  }

  /// Whether nginx would answer this request just as it is to be answered. It makes up its own mind about ranges and
  /// conditions: only what leaves it no choice is handed off, the rest is sent from here. `length` is the package's.
  func suits(_ request: HTTPRequest, _ answer: RangeDecision, of length: Int64) -> Bool {
    if let longest, let body = answer.bodyLength(of: length), body > longest.rawValue { return false }
    let conditions = ["If-Match", "If-Unmodified-Since", "If-Modified-Since", "If-None-Match"]
    guard conditions.allSatisfy({ !request.headers.contains($0) }) else { return false }
    return switch answer {
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

  /// Where nginx finds the package.
  func location(of digest: SHA256Digest) -> String {
    let name = digest.hexadecimal
    return "\(prefix)\(name.prefix(2))/\(name.dropFirst(2))"
  }
}
