public import CoreTypes
public import Crypto
import FoundationEssentials

/// A token that says who calls (OpenID Connect Core §2), as Pub/Sub puts it before what it pushes: RS256, by one of the keys
/// that its issuer publishes. Its claims come out only through ``init(text:keys:expected:at:)``.
public struct IdentityToken: Hashable, Sendable {
  /// The values that the claims of a token must have.
  public struct Expectation: Hashable, Sendable {
    /// The audience that the token is made for.
    public var audience: String
    /// The account that calls.
    public var email: String

    /// Both are compared as they are written.
    public init(audience: String, email: String) {
      self.audience = audience
      self.email = email
    }
  }

  /// The issuers whose tokens are accepted.
  public static let issuers: Set<String> = ["https://accounts.google.com", "accounts.google.com"]
  /// Bytes of a token, at most.
  public static let maximumLength = 16_384
  /// How far clocks may be apart.
  public static let skew: Duration = .seconds(60)
  /// How long a token may count.
  public static let longestLifetime: Duration = .seconds(86_400)

  private struct Header: Decodable {
    var alg: String
    var kid: String?
    var crit: [String]?
    var b64: Bool?
  }

  private struct Claims: Decodable {
    var iss: String
    var aud: String
    var exp: Int64
    var iat: Int64
    var email: String?
    var emailVerified: Bool?

    private enum CodingKeys: String, CodingKey {
      case iss
      case aud
      case exp
      case iat
      case email
      case emailVerified = "email_verified"
    }
  }

  /// The key that a token names; nil for what is no token of RS256. A claim.
  public static func keyIdentifier(of text: String) -> String? {
    guard text.utf8.count <= maximumLength, let segments = segments(of: text) else { return nil }
    return try? header(segments[0]).kid
  }

  /// Throws ``ReceiptError``: `malformed` for what is no token of RS256; `signatureInvalid` for one that none of the keys made, that is not
  /// what is expected, or that does not count at `now`.
  public init(
    text: String, keys: IdentityKeys, expected: Expectation, at now: Timestamp
  ) throws {
    guard text.utf8.count <= Self.maximumLength, let segments = Self.segments(of: text),
      let payload = Base64.decode(segments[1], .url), let signature = Base64.decode(segments[2], .url)
    else { throw ReceiptError.malformed("this is no compact JSON Web Token") }
    let header = try Self.header(segments[0])
    guard let key = header.kid.flatMap({ keys[$0] }),
      key.isValid(signature: signature, for: Array(text.utf8[..<segments[1].endIndex]))
    else { throw ReceiptError(.signatureInvalid, "no key of the issuer made the token") }
    try Self.check(claims: payload, against: expected, at: now)
  }

  /// Throws as ``init(text:keys:expected:at:)`` does for a token with a good signature.
  static func check(claims payload: [UInt8], against expected: Expectation, at now: Timestamp) throws {
    guard JSONMembers.areUnique(in: payload) else {
      throw ReceiptError.malformed("the token has a claim twice")
    }
    let claims = try GoogleDocument.decode(
      Claims.self, from: payload, upTo: maximumLength, "token's payload")
    let seconds = -9_000_000_000_000...9_000_000_000_000
    guard seconds.contains(Int(clamping: claims.iat)), seconds.contains(Int(clamping: claims.exp)) else {
      throw ReceiptError.malformed("the token's dates are none")
    }
    let (issued, end) = (
      Timestamp(millisecondsSinceEpoch: claims.iat * 1000),
      Timestamp(millisecondsSinceEpoch: claims.exp * 1000)
    )
    guard issued <= now + skew, now < end + skew, end - issued <= longestLifetime else {
      throw ReceiptError(.signatureInvalid, "the token does not count at this moment")
    }
    guard issuers.contains(claims.iss), claims.aud == expected.audience else {
      throw ReceiptError(.signatureInvalid, "the token is of another issuer, or for another receiver")
    }
    guard claims.email == expected.email, claims.emailVerified == true else {
      throw ReceiptError(.signatureInvalid, "the token is of another account")
    }
  }

  private static func segments(of text: String) -> [Substring]? {
    let segments = text.utf8.split(separator: 0x2E, maxSplits: 3, omittingEmptySubsequences: false)
      .map { Substring($0) }
    return segments.count == 3 && !text.utf8.contains(0x3D) ? segments : nil
  }

  private static func header(_ segment: Substring) throws -> Header {
    guard let bytes = Base64.decode(segment, .url) else {
      throw ReceiptError.malformed("the token's header is no base 64")
    }
    let header = try GoogleDocument.decode(Header.self, from: bytes, upTo: 4096, "token's header")
    guard JSONMembers.areUnique(in: bytes) else {
      throw ReceiptError.malformed("the token's header has a member twice")
    }
    guard header.alg == "RS256", header.crit == nil, header.b64 == nil else {
      throw ReceiptError.malformed("the token is not of the kind RS256")
    }
    return header
  }
}

/// The keys that an issuer publishes (RFC 7517), by their names. Those that are not for RS256 are passed over.
public struct IdentityKeys: Sendable {
  private let keys: [String: RS256PublicKey]

  /// Bytes of a set, at most.
  public static let maximumLength = 65_536
  private static let maximumCount = 32

  private struct Set: Codable {
    struct Key: Codable {
      var kty: String
      var kid: String?
      var alg: String?
      var use: String?
      var n: String?
      var e: String?
    }
    var keys: [Key]
  }

  /// Reads a JSON Web Key Set. Throws ``ReceiptError`` `malformed`, also for one without a key for RS256.
  public init(document bytes: [UInt8]) throws {
    let set = try GoogleDocument.decode(Set.self, from: bytes, upTo: Self.maximumLength, "set of keys")
    var keys: [String: RS256PublicKey] = [:]
    for key in set.keys.prefix(Self.maximumCount) where key.kty == "RSA" {
      guard let name = key.kid, key.alg == nil || key.alg == "RS256", key.use == nil || key.use == "sig",
        let modulus = key.n.flatMap({ Base64.decode($0, .url) }),
        let exponent = key.e.flatMap({ Base64.decode($0, .url) }),
        let made = RS256PublicKey(subjectPublicKeyInfo: RSAKeyEncoding.encode(modulus, exponent))
      else { continue }
      keys[name] = made
    }
    guard !keys.isEmpty else { throw ReceiptError.malformed("the set of keys has none for RS256") }
    self.keys = keys
  }

  /// The key of that name.
  public subscript(name: String) -> RS256PublicKey? { keys[name] }

  /// The set that publishes one key.
  public static func document(publishing key: RS256PublicKey, named name: String) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(
      try encoder.encode(
        Set(keys: [
          .init(
            kty: "RSA", kid: name, alg: "RS256", use: "sig", n: Base64.encode(key.modulus, .url),
            e: Base64.encode(key.exponent, .url))
        ])))
  }
}

/// SubjectPublicKeyInfo of an RSA key (RFC 8017 appendix A.1.1).
enum RSAKeyEncoding {
  /// `rsaEncryption` with the parameter NULL.
  private static let algorithm: [UInt8] = [
    0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
  ]

  static func encode(_ modulus: [UInt8], _ exponent: [UInt8]) -> [UInt8] {
    let key = DERWriter.element(0x30, positive(modulus) + positive(exponent))
    return DERWriter.element(0x30, algorithm + DERWriter.element(0x03, [0] + key))
  }

  private static func positive(_ number: [UInt8]) -> [UInt8] {
    let digits = Array(number.drop { $0 == 0 })
    return DERWriter.element(
      DERTag.integer, (digits.first ?? 0) >= 0x80 || digits.isEmpty ? [0] + digits : digits)
  }
}
