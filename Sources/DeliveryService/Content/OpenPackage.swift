import ContentPackage
import Crypto
import HTTPServer
import CoreTypes

/// A package that is open for sending: its descriptor, and the head lines that every answer about it carries.
final class OpenPackage: Sendable {
  let digest: SHA256Digest
  let file: SharedDescriptor
  /// As it stands in `ETag`, with quotes.
  let entityTag: String
  let entityTagBytes: [UInt8]
  /// The digest's hexadecimal digits.
  private let digits: InlineArray<64, UInt8>
  let mediaType: String
  /// `name: value` lines with their ends, made once: those of a 304, and with `Content-Type` those of one that
  /// carries content.
  let commonLines: [UInt8]
  /// The same for 412 and 416.
  let refusalLines: [UInt8]
  let contentLines: [UInt8]

  init(digest: SHA256Digest, file: SharedDescriptor, mediaType: String) {
    self.digest = digest
    self.file = file
    self.mediaType = mediaType
    entityTag = "\"\(digest.hexadecimal)\""
    let tag = Array(entityTag.utf8)
    entityTagBytes = tag
    digits = InlineArray { tag[$0 + 1] }
    let common = Self.commonFields(digest)
    commonLines = Self.lines(common)
    refusalLines = Self.lines(Self.refusalFields(digest))
    contentLines = Self.lines(common + [("Content-Type", mediaType)])
  }

  var length: Int64 { file.length.rawValue }

  /// Whether these are the digest's hexadecimal digits.
  func isNamed(_ name: Span<UInt8>) -> Bool {
    let digits = digits
    // Nothing here is secret, but to compare all bytes at once is also the fastest way.
    return equalInConstantTime(name, digits.span)
  }

  private static func lines(_ fields: [(String, String)]) -> [UInt8] {
    Array(fields.map { "\($0.0): \($0.1)\r\n" }.joined().utf8)
  }

  /// What a 200, 206 and 304 alike say about the content. The bytes behind a digest never change, so a device may
  /// keep them for ever; `private`, since they are gated. `X-Accel-Buffering` keeps proxies from cutting long bodies.
  static func commonFields(_ digest: SHA256Digest) -> [(String, String)] {
    [
      ("Accept-Ranges", "bytes"), ("ETag", "\"\(digest.hexadecimal)\""),
      ("Repr-Digest", "sha-256=:\(Base64.encode(digest.array)):"),
      ("Cache-Control", "private, max-age=31536000, immutable"), ("X-Accel-Buffering", "no"),
    ]
  }

  /// What a 412 and 416 say: which content was meant, but nothing that belongs to its bytes. A cache may keep any answer
  /// that says for how long (RFC 9111 §3), and would give it to requests without the condition; a digest in a refusal is
  /// that of the refusal's own content (RFC 9530 §3).
  static func refusalFields(_ digest: SHA256Digest) -> [(String, String)] {
    [
      ("Accept-Ranges", "bytes"), ("ETag", "\"\(digest.hexadecimal)\""),
      ("Cache-Control", "private, no-store"),
    ]
  }
}
