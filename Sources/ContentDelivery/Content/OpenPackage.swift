import ContentPackage
import CoreTypes
package import Crypto
package import HTTPServer

/// A package that is open for sending: its descriptor, and the head lines that every response about it carries.
package final class OpenPackage: Sendable {
  /// The fields that responses about a package have in common, by what they carry.
  package enum FieldSet: Hashable, Sendable {
    /// A 200 or a single part: the common fields and the media type.
    case content
    /// A 304, or several parts.
    case common
    /// A 412 or a 416.
    case refusal
  }

  package let digest: SHA256Digest
  package let file: SharedDescriptor
  /// The value of `ETag`, with quotes.
  package let entityTag: String
  let entityTagBytes: [UInt8]
  /// The digest's hexadecimal digits.
  private let digits: InlineArray<64, UInt8>
  package let mediaType: String
  /// `name: value` lines with their ends, made once for every set of fields.
  private let contentLines: [UInt8]
  private let commonLines: [UInt8]
  private let refusalLines: [UInt8]

  package init(digest: SHA256Digest, file: SharedDescriptor, mediaType: String) {
    self.digest = digest
    self.file = file
    self.mediaType = mediaType
    entityTag = "\"\(digest.hexadecimal)\""
    let tag = Array(entityTag.utf8)
    entityTagBytes = tag
    digits = InlineArray { tag[$0 + 1] }
    contentLines = Self.lines(Self.fields(.content, of: digest, mediaType: mediaType))
    commonLines = Self.lines(Self.fields(.common, of: digest, mediaType: mediaType))
    refusalLines = Self.lines(Self.fields(.refusal, of: digest, mediaType: mediaType))
  }

  /// The fields as lines that a head is made of, each with its end.
  @inline(__always)
  package func lines(_ set: FieldSet) -> [UInt8] {
    switch set {
    case .content: contentLines
    case .common: commonLines
    case .refusal: refusalLines
    }
  }

  /// The fields by name and value.
  package func fields(_ set: FieldSet) -> [(name: String, value: String)] {
    Self.fields(set, of: digest, mediaType: mediaType)
  }

  /// Bytes of the package.
  package var length: Int64 { file.length.rawValue }

  /// Whether these are the digest's hexadecimal digits.
  func isNamed(_ name: Span<UInt8>) -> Bool {
    let digits = digits
    // Nothing here is secret, but a comparison of all bytes at once is also the fastest one.
    return equalInConstantTime(name, digits.span)
  }

  private static func lines(_ fields: [(name: String, value: String)]) -> [UInt8] {
    Array(fields.map { "\($0.name): \($0.value)\r\n" }.joined().utf8)
  }

  /// The bytes behind a digest never change, so a device may keep them for ever; `private`, since they need a ticket.
  /// `X-Accel-Buffering` keeps proxies from cutting long bodies.
  ///
  /// A 412 and a 416 say which content was meant, but nothing that belongs to its bytes. A cache may keep any response
  /// that says for how long (RFC 9111 §3), and would send it to requests without the condition; a digest in a refusal is
  /// that of the refusal's own content (RFC 9530 §3).
  private static func fields(
    _ set: FieldSet, of digest: SHA256Digest, mediaType: String
  ) -> [(name: String, value: String)] {
    let identity = [("Accept-Ranges", "bytes"), ("ETag", "\"\(digest.hexadecimal)\"")]
    guard set != .refusal else { return identity + [("Cache-Control", "no-store")] }
    let common =
      identity + [
        ("Repr-Digest", "sha-256=:\(Base64.encode(digest.array)):"),
        ("Cache-Control", "private, max-age=31536000, immutable"), ("X-Accel-Buffering", "no"),
      ]
    return set == .content ? common + [("Content-Type", mediaType)] : common
  }
}
