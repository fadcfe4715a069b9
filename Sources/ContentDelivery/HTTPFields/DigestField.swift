package import Crypto
import HTTPParsing
import HTTPServer

/// `Content-Digest` and `Repr-Digest` (RFC 9530).
package enum DigestField {
  /// The strongest digest whose algorithm is supported. Nil if the field is absent, malformed, or has other
  /// algorithms only: then it is ignored (§2).
  package static func checksum(_ lines: [String]) -> Checksum? {
    let members = StructuredField.dictionary(lines) ?? [:]
    let supported: [(String, ChecksumAlgorithm)] = [("sha-512", .sha512), ("sha-256", .sha256)]
    return supported.lazy.compactMap { name, algorithm in
      guard case .bytes(let bytes)? = members[name] else { return nil }
      return Checksum(algorithm, bytes)
    }.first
  }

  /// The SHA-256 alone: the one digest of a whole upload that is computed here.
  package static func sha256(_ lines: [String]) -> SHA256Digest? {
    guard case .bytes(let bytes)? = StructuredField.dictionary(lines)?["sha-256"] else { return nil }
    return SHA256Digest(bytes)
  }
}

/// Which digest fields a response with content carries: `Repr-Digest` unless the request's `Want-Repr-Digest`
/// (RFC 9530 §4) gives sha-256 the weight 0, and the older `Digest` (RFC 3230) if its `Want-Digest` asks for
/// SHA-256. No other digest of a package is on record.
struct DigestPreference: Hashable, Sendable {
  var wantsReprDigest = true
  var wantsDigest = false

  package init(_ request: HTTPRequest) {
    let want = request.headers.values(of: "Want-Repr-Digest")
    // A malformed field is ignored.
    if case .integer(0)? = StructuredField.dictionary(want)?["sha-256"] { wantsReprDigest = false }
    let legacy = request.headers.values(of: "Want-Digest").joined(separator: ",")
    for part in legacy.lowercased().split(separator: ",") {
      let pieces = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
      guard pieces.first == "sha-256" else { continue }
      let weight = pieces.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
      wantsDigest = (weight ?? 1) > 0
    }
  }
}

extension RequestHead {
  /// Whether the request has a `Want-Digest` or `Want-Repr-Digest`, which the loops leave to ``ContentRoutes``.
  func wantsDigests(_ bytes: Span<UInt8>) -> Bool {
    for index in 0..<fieldCount {
      let name = field(at: index).name
      guard name.count == 11 || name.count == 16, bytes[name.lowerBound] | 0x20 == UInt8(ascii: "w"),
        bytes[name.upperBound - 6] | 0x20 == UInt8(ascii: "d")
      else { continue }
      return true
    }
    return false
  }
}
