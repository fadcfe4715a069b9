import Crypto

/// A JSON Web Signature in compact form (RFC 7515) as a store makes it of transactions, renewals and notifications: ES256,
/// with the certificates of its key in the header (`x5c`). Its shape was read and its signature was not checked, so it
/// holds ``claims``; ``SignedDataVerifier`` makes facts of them, which then have a type of their own.
public struct SignedData: Hashable, Sendable {
  /// The three segments as they were received.
  public let text: String
  /// The payload. Fit for refusing early and for finding the date at which the chain must hold, for nothing else.
  public let claims: [UInt8]

  /// The header's segment, which is still encoded.
  let header: Substring
  let signature: [UInt8]

  /// Bytes of ``text`` that are read, at most, unless another bound is given.
  public static let maximumLength = 65_536
  /// Bytes of the header's segment, at most: three certificates have some 4,000.
  public static let maximumHeaderLength = 16_384
  /// How deep arrays and objects may lie in each other in header and payload.
  public static let maximumDepth = 16

  /// Reads three segments of base 64 without padding, with 64 bytes of signature. Throws ``ReceiptError`` `malformed`.
  public init(text: String, maximumLength: Int = maximumLength) throws {
    let segments = text.utf8.split(separator: 0x2E, maxSplits: 3, omittingEmptySubsequences: false)
      .map { Substring($0) }
    guard text.utf8.count <= maximumLength, segments.count == 3, !text.utf8.contains(0x3D),
      segments[0].utf8.count <= Self.maximumHeaderLength, !segments[0].isEmpty,
      let claims = Base64.decode(segments[1], .url),
      let signature = Base64.decode(segments[2], .url), signature.count == 64
    else { throw ReceiptError.malformed("this is no compact JSON Web Signature") }
    guard JSONNesting.depth(of: claims) <= Self.maximumDepth else {
      throw ReceiptError.malformed("the signed data is nested too deep")
    }
    self.text = text
    self.claims = claims
    self.signature = signature
    header = segments[0]
  }

  /// What the signature covers: header and payload with the stop between them.
  var signingInput: [UInt8] {
    let end = text.utf8.lastIndex(of: 0x2E) ?? text.utf8.endIndex
    return Array(text.utf8[..<end])
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
