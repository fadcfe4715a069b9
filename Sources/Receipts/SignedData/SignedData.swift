import Crypto

/// A JSON Web Signature in compact form (RFC 7515) as a store makes it of transactions, renewals and notifications: ES256,
/// with the certificates of its key in the header (`x5c`). Its shape was read and its signature was not checked, so it
/// holds ``claims``; ``SignedDataVerifier`` makes facts of them, which then have a type of their own.
public struct SignedData: Hashable, Sendable {
  /// The three segments as they were received.
  public let text: String
  /// The payload. Fit for refusing early and for finding the date at which the chain must hold, for nothing else.
  public let claims: [UInt8]

  let signature: [UInt8]
  /// Where header and payload, which are still encoded, stand in ``text``.
  private let segments: CompactSegments

  /// Bytes of ``text`` that are read, at most, unless another bound is given.
  public static let maximumLength = 65_536
  /// Bytes of the header's segment, at most: three certificates have some 4,000.
  public static let maximumHeaderLength = 16_384
  /// How deep arrays and objects may lie in each other in header and payload.
  public static let maximumDepth = 16

  /// Reads three segments of base 64 without padding, with 64 bytes of signature. Throws ``ReceiptError`` `malformed`.
  public init(text: String, maximumLength: Int = maximumLength) throws {
    let bytes = text.utf8.span
    guard bytes.count <= maximumLength, let segments = CompactSegments(bytes),
      1...Self.maximumHeaderLength ~= segments.header.count,
      let claims = Base64.decode(bytes.extracting(segments.payload), .url),
      let signature = Base64.decode(bytes.extracting(segments.signature), .url), signature.count == 64
    else { throw ReceiptError.malformed("this is no compact JSON Web Signature") }
    guard JSONNesting.depth(of: claims) <= Self.maximumDepth else {
      throw ReceiptError.malformed("the signed data is nested too deep")
    }
    self.text = text
    self.claims = claims
    self.signature = signature
    self.segments = segments
  }

  /// The header in JSON; nil where it is no base 64.
  var header: [UInt8]? { Base64.decode(text.utf8.span.extracting(segments.header), .url) }

  /// The digests of the header's segment, and of what the signature covers: header and payload with the stop between them.
  var digests: (header: SHA256Digest, signed: SHA256Digest) {
    let bytes = text.utf8.span
    var hasher = SHA256Hasher()
    hasher.update(bytes.extracting(segments.header))
    let header = hasher.finalize()
    hasher.update(bytes.extracting(segments.header.upperBound..<segments.signed.upperBound))
    return (header, hasher.finalize())
  }
}

extension SignedData: CustomStringConvertible {
  /// The length alone: what is signed works like a key.
  public var description: String { "signed data of \(text.utf8.count) bytes" }
}

/// The payload of signed data whose signature leads to a trusted root. Only this module makes one.
public struct VerifiedSignedData: Sendable {
  /// The octets that were signed.
  public let payload: [UInt8]
  /// The certificates that vouch for it.
  public let chain: SignedDataChain

  init(payload: [UInt8], chain: SignedDataChain) {
    self.payload = payload
    self.chain = chain
  }
}

/// How deep JSON goes, found without reading it.
enum JSONNesting {
  /// The most arrays and objects that lie in each other in `text`; for what is not JSON, some number.
  static func depth(of text: [UInt8]) -> Int {
    var (depth, deepest) = (0, 0)
    var (isInString, isEscaped) = (false, false)
    for byte in text {
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == 0x5C {
          isEscaped = true
        } else if byte == 0x22 {
          isInString = false
        }
        continue
      }
      switch byte {
      case 0x22: isInString = true
      case 0x5B, 0x7B:
        depth += 1
        deepest = max(deepest, depth)
      case 0x5D, 0x7D: depth -= 1
      default: break
      }
    }
    return deepest
  }
}
