import CoreTypes
public import Crypto
import FoundationEssentials

/// A JSON Web Signature in compact form (RFC 7515): three segments in base64url, for header, payload and signature. It is
/// made with Ed25519 (RFC 8037) and with nothing else: the algorithm is never the sender's choice. The payload comes out
/// only through ``payload(verifiedWith:)``.
///
/// ```swift
/// let signature = try JSONWebSignature(signing: report, with: deviceKey)
/// let received = try JSONWebSignature(text: signature.text)
/// let report = try received.payload(verifiedWith: knownKey)
/// ```
public struct JSONWebSignature: Hashable, Sendable {
  /// The three segments, as they were received or made.
  public let text: String
  /// The key identifier in the header. It is a claim, like all of the header.
  public let keyIdentifier: String?

  private let signingInput: [UInt8]
  private let payload: [UInt8]
  private let signature: [UInt8]

  /// Bytes of ``text`` that are read, at most.
  public static let maximumLength = 65_536

  private struct Header: Codable {
    var alg: String
    var kid: String?
    /// Extensions that must be understood; this version understands none.
    var crit: [String]?
    /// RFC 7797: whether the payload is in base 64.
    var b64: Bool?
  }

  /// Reads three segments of base 64 without padding whose header asks for `EdDSA`. Throws ``ReceiptError``
  /// `malformed`.
  public init(text: String, maximumLength: Int = maximumLength) throws {
    let bytes = Array(text.utf8)
    guard bytes.count <= maximumLength, let segments = CompactSegments(bytes.span),
      let header = Base64.decode(bytes.span.extracting(segments.header), .url),
      let payload = Base64.decode(bytes.span.extracting(segments.payload), .url),
      let signature = Base64.decode(bytes.span.extracting(segments.signature), .url), signature.count == 64
    else { throw ReceiptError.malformed("this is no compact JSON Web Signature") }
    let parsed: Header
    do {
      parsed =
        try JSONDocumentReader.value(Header.self, in: header)
        ?? JSONDecoder().decode(Header.self, from: Data(header))
    } catch {
      throw ReceiptError.malformed("the signature's header is not readable")
    }
    guard JSONMembers.areUnique(in: header) else {
      throw ReceiptError.malformed("the signature's header has a member twice")
    }
    guard parsed.alg == "EdDSA", parsed.crit == nil, parsed.b64 == nil else {
      throw ReceiptError.malformed("the signature is not of the kind EdDSA")
    }
    self.text = text
    keyIdentifier = parsed.kid
    signingInput = Array(bytes[segments.signed])
    self.payload = payload
    self.signature = signature
  }

  /// Signs `payload`. Throws ``ReceiptError`` `malformed` when the result would be longer than `maximumLength`.
  public init(
    signing payload: [UInt8], with key: SigningKey, keyIdentifier: String? = nil,
    maximumLength: Int = maximumLength
  ) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let header = try encoder.encode(Header(alg: "EdDSA", kid: keyIdentifier))
    let input = Base64.encode(header, .url) + "." + Base64.encode(payload, .url)
    try self.init(
      text: input + "." + Base64.encode(key.sign(Array(input.utf8)), .url), maximumLength: maximumLength)
  }

  /// The payload, once the signature fits `key`. Throws ``ReceiptError`` `signatureInvalid`.
  public func payload(verifiedWith key: VerificationKey) throws -> [UInt8] {
    guard key.isValid(signature: signature, for: signingInput) else {
      throw ReceiptError(.signatureInvalid, "the signature does not fit the key")
    }
    return payload
  }
}

extension JSONWebSignature: CustomStringConvertible {
  /// The key that the header names; the payload is left out.
  public var description: String { "JSON Web Signature of \(keyIdentifier ?? "an unnamed key")" }
}
