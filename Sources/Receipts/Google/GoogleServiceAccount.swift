public import CoreTypes
import Crypto
import FoundationEssentials

/// The account and the private key of a key file, by which Google's interfaces know a server. It signs the
/// assertion that it gets access tokens for (RFC 7523) with that key.
///
/// ```swift
/// let account = try GoogleServiceAccount(keyFile: bytes)
/// let form = try account.tokenRequest(at: now)       // POST to account.tokenAddress
/// let token = try GoogleAccessToken(response: body, askedAt: now)
/// ```
public struct GoogleServiceAccount: Sendable {
  /// The account's name, an address.
  public let email: String
  /// Where the key file says that tokens are given.
  public let tokenAddress: String
  private let key: RS256Key
  private let keyIdentifier: String

  /// Bytes of a key file, at most.
  public static let maximumLength = 65_536
  /// How long an assertion counts: a token endpoint takes at most an hour.
  public static let assertionLifetime: Duration = .seconds(3600)
  /// The scope that access tokens are requested for.
  public static let scope = "https://www.googleapis.com/auth/androidpublisher"

  private struct KeyFile: Decodable {
    var type: String
    var clientEmail: String
    var privateKey: String
    var privateKeyId: String
    var tokenUri: String

    private enum CodingKeys: String, CodingKey {
      case type
      case clientEmail = "client_email"
      case privateKey = "private_key"
      case privateKeyId = "private_key_id"
      case tokenUri = "token_uri"
    }
  }

  /// Reads a key file as Google makes them: JSON of the type `service_account`. Throws ``ReceiptError`` `malformed`.
  public init(keyFile bytes: [UInt8]) throws {
    let file = try GoogleDocument.decode(KeyFile.self, from: bytes, upTo: Self.maximumLength, "key file")
    guard file.type == "service_account" else {
      throw ReceiptError.malformed("this is no key file of a service account")
    }
    guard let key = RS256Key(pem: file.privateKey) else {
      throw ReceiptError.malformed("the key file holds no private key of RSA")
    }
    self.key = key
    keyIdentifier = file.privateKeyId
    email = file.clientEmail
    tokenAddress = file.tokenUri
  }

  private struct Header: Encodable {
    var alg = "RS256"
    var kid: String
    var typ = "JWT"
  }

  private struct Claims: Encodable {
    var iss: String
    var scope: String
    var aud: String
    var iat: Int64
    var exp: Int64
  }

  /// A signed assertion that counts from `now` on for ``assertionLifetime``.
  public func assertion(at now: Timestamp) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let claims = Claims(
      iss: email, scope: Self.scope, aud: tokenAddress, iat: now.secondsSinceEpoch,
      exp: (now + Self.assertionLifetime).secondsSinceEpoch)
    let header = try encoder.encode(Header(kid: keyIdentifier))
    let input = Base64.encode(header, .url) + "." + Base64.encode(try encoder.encode(claims), .url)
    return input + "." + Base64.encode(key.sign(Array(input.utf8)), .url)
  }

  /// The form (`application/x-www-form-urlencoded`) that a token is asked for with.
  public func tokenRequest(at now: Timestamp) throws -> String {
    "grant_type=\(GoogleTokenGrant.formValue)&assertion=\(try assertion(at: now))"
  }
}

extension GoogleServiceAccount: CustomStringConvertible {
  /// The account's name alone.
  public var description: String { "service account \(email)" }
}

/// How a token is asked for with an assertion (RFC 7523 §2.1).
public enum GoogleTokenGrant {
  /// The value of `grant_type`.
  public static let name = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  /// The same in a form.
  static let formValue = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
}

/// A bearer token from a token endpoint, with the end of its validity.
public struct GoogleAccessToken: Sendable {
  /// Secret.
  public let value: String
  /// A little before the endpoint's own end of it, so that no call is made with one that ends on its way.
  public let end: Timestamp

  /// Bytes of an answer, at most.
  public static let maximumLength = 65_536
  private static let margin: Duration = .seconds(60)
  private static let lifetimes: ClosedRange<Int64> = 1...86_400

  private struct Response: Decodable {
    var accessToken: String
    var expiresIn: Int64
    var tokenType: String

    private enum CodingKeys: String, CodingKey {
      case accessToken = "access_token"
      case expiresIn = "expires_in"
      case tokenType = "token_type"
    }
  }

  /// Throws ``ReceiptError`` `malformed` for what is no bearer token in visible ASCII.
  public init(response: [UInt8], askedAt moment: Timestamp) throws {
    let answer = try GoogleDocument.decode(
      Response.self, from: response, upTo: Self.maximumLength, "answer of the token endpoint")
    guard answer.tokenType.lowercased() == "bearer", Self.lifetimes.contains(answer.expiresIn),
      (1...8192).contains(answer.accessToken.utf8.count),
      answer.accessToken.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { throw ReceiptError.malformed("the answer of the token endpoint holds no bearer token") }
    value = answer.accessToken
    let lifetime = Duration.seconds(answer.expiresIn)
    end = moment + (lifetime > Self.margin * 2 ? lifetime - Self.margin : lifetime / 2)
  }
}

extension GoogleAccessToken: CustomStringConvertible {
  /// Its end alone.
  public var description: String { "access token until \(end)" }
}

/// How JSON of Google's is read.
enum GoogleDocument {
  /// How deep arrays and objects may lie in each other.
  static let maximumDepth = 16

  /// Unknown members are passed over. Throws ``ReceiptError`` `malformed`; `what` is named in its sentence.
  static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: [UInt8], upTo maximumLength: Int, _ what: String
  ) throws -> Value {
    guard bytes.count <= maximumLength, JSONNesting.depth(of: bytes) <= maximumDepth else {
      throw ReceiptError.malformed("the \(what) is too long, or nested too deep")
    }
    do {
      return try JSONDecoder().decode(type, from: Data(bytes))
    } catch {
      throw ReceiptError.malformed("the \(what) is not what it should be")
    }
  }
}
