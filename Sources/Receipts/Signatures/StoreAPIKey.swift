public import CoreTypes
import Crypto
import FoundationEssentials

/// The key by which a store's programming interface knows an application's server: P-256, in a `.p8` file (PKCS#8 in
/// PEM).
public struct StoreAPIKey: Sendable {
  private let key: ES256Key
  /// The account that made the key: a UUID.
  private let issuer: String
  /// The key's name of ten characters.
  private let keyIdentifier: String
  private let bundle: String

  /// How long a token counts: a store takes at most an hour.
  public static let lifetime: Duration = .seconds(300)

  /// Throws ``ReceiptError`` `malformed` unless `pem` holds an unencrypted private key on P-256.
  public init(pem: String, issuer: String, keyIdentifier: String, bundle: String) throws {
    guard let key = ES256Key(pem: pem) else {
      throw ReceiptError.malformed("this is no private key on the curve P-256")
    }
    self.key = key
    self.issuer = issuer
    self.keyIdentifier = keyIdentifier
    self.bundle = bundle
  }

  private struct Header: Encodable {
    var alg = "ES256"
    var kid: String
    var typ = "JWT"
  }

  private struct Claims: Encodable {
    var iss: String
    var iat: Int64
    var exp: Int64
    var aud = "appstoreconnect-v1"
    var bid: String
  }

  /// A bearer token (RFC 7519) that counts from `now` on for ``lifetime``.
  public func token(at now: Timestamp) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let claims = Claims(
      iss: issuer, iat: now.secondsSinceEpoch, exp: (now + Self.lifetime).secondsSinceEpoch, bid: bundle)
    let header = try encoder.encode(Header(kid: keyIdentifier))
    let input = Base64.encode(header, .url) + "." + Base64.encode(try encoder.encode(claims), .url)
    return input + "." + Base64.encode(key.sign(Array(input.utf8)), .url)
  }
}

extension StoreAPIKey: CustomStringConvertible {
  /// The key's name alone.
  public var description: String { "store API key \(keyIdentifier)" }
}
