import CoreTypes
import Crypto
import HTTPClient

/// The meaning of a content response for the requested pieces. Only their digests make bytes trusted; this decides only
/// where the bytes would belong.
enum RangeResponse: Hashable, Sendable {
  /// The body starts at this byte of the package and ends before `end`, or with the package where that is
  /// nil.
  case body(start: Int64, end: Int64?)
  /// Other content than the grant's, or bytes from another place than asked: not one of them may be used.
  case mismatched
  /// A page of something between here and the server: a log-in page, a filter's.
  case foreign
  /// A refusal, or something that is no answer to a ranged request; its body may say why.
  case refusal

  /// `asked` is the range of the request; it is not empty. A 206 must contain the first byte that was asked
  /// for (RFC 9110 section 15.3.7); it may begin before that.
  static func classify(
    _ head: ResponseHead, asked: Range<Int64>, length: ByteCount, digest: SHA256Digest
  ) -> RangeResponse {
    switch head.status {
    case 200, 206: break
    case 416: return .mismatched
    default: return .refusal
    }
    guard !isPage(head) else { return .foreign }
    // A content coding would move every offset. The digests of the pieces replace a missing validator.
    guard isIdentity(head.headers["Content-Encoding"]), isOurs(head.headers["ETag"], digest: digest) else {
      return .mismatched
    }
    guard head.status == 206 else {
      // Without our validator nothing says that this is the server's answer at all.
      guard head.contentLength.map({ $0 == length }) ?? true else {
        return head.headers["ETag"] == nil ? .foreign : .mismatched
      }
      return .body(start: 0, end: nil)
    }
    guard let contentRange = head.contentRange, let range = contentRange.range,
      contentRange.completeLength.map({ $0 == length.rawValue }) ?? true,
      range.upperBound <= length.rawValue, range.contains(asked.lowerBound),
      head.contentLength.map({ $0.rawValue == range.upperBound - range.lowerBound }) ?? true
    else { return .mismatched }
    return .body(start: range.lowerBound, end: range.upperBound)
  }

  /// A package is never sent as HTML.
  private static func isPage(_ head: ResponseHead) -> Bool {
    let type = head.headers["Content-Type"]?.lowercased() ?? ""
    return type.hasPrefix("text/html") || type.hasPrefix("application/xhtml")
  }

  /// Nil stands for a head without a coding.
  private static func isIdentity(_ coding: String?) -> Bool {
    coding.map { $0.lowercased() == "identity" } ?? true
  }

  /// A weak tag may be what a compressing proxy made of ours: it promises nothing, so it is not ours.
  private static func isOurs(_ entityTag: String?, digest: SHA256Digest) -> Bool {
    entityTag.map { $0 == entityTagText(digest) } ?? true
  }

  /// The strong entity tag of a package: its digest in quotes.
  static func entityTagText(_ digest: SHA256Digest) -> String { "\"\(digest.hexadecimal)\"" }
}
