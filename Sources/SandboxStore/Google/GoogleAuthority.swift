import CoreTypes
import Crypto
import PullboxAPI
import ServiceRuntime
import Synchronization

/// The keys of the Google-like interface. The key of a service account signs the assertions that clients
/// exchange for access tokens. A key of the store's own signs the identity tokens of the notifications that
/// it posts.
final class GoogleAuthority: Sendable {
  /// The service account: `client_email` of the key file, which is the issuer that assertions must name.
  static let account = "pullbox@sandbox-store.iam.gserviceaccount.com"
  /// The account that identity tokens say posted the notification.
  static let pusher = "push@sandbox-store.iam.gserviceaccount.com"
  /// The scope that an assertion must ask for, alone or among others.
  static let scope = "https://www.googleapis.com/auth/androidpublisher"
  /// `expires_in` of an access token: a second less than an hour, as Google has it.
  static let tokenLifetime: Duration = .seconds(3599)
  private static let identityLifetime: Duration = .seconds(3600)
  /// Access tokens that count at the same time. Another one takes the place of the one that would end first.
  private static let maximumTokens = 1000
  /// Bytes of an assertion.
  private static let maximumLength = 8192
  /// How far the clock of a client may be from this one.
  private static let skew: Duration = .seconds(60)
  /// From `iat` to `exp` of an assertion, at most.
  private static let assertionLifetime: Duration = .seconds(3600)
  /// The audience that Google's own libraries name, whatever the key file's `token_uri` is.
  private static let documentedAudience = "https://oauth2.googleapis.com/token"

  /// The key of the service account. The key file gives its private half to clients.
  let serviceKey: RS256Key
  /// `kid` of assertions that name their key: the first forty hexadecimal digits of the SHA-256 of the
  /// modulus.
  let serviceKeyName: String
  /// The store's own key, whose public half is at `GET /oauth2/v3/certs`.
  let identityKey: RS256Key
  /// `kid` of identity tokens, made as ``serviceKeyName`` is.
  let identityKeyName: String
  private let clock: any WallClock
  /// Where tokens are given, which is known once the store listens.
  private let address = Mutex("")
  /// The access tokens with their ends, in memory alone.
  private let tokens = Mutex<[String: Timestamp]>([:])

  init(serviceKey: RS256Key, identityKey: RS256Key, clock: any WallClock) {
    self.serviceKey = serviceKey
    self.identityKey = identityKey
    serviceKeyName = Self.name(of: serviceKey)
    identityKeyName = Self.name(of: identityKey)
    self.clock = clock
  }

  private static func name(of key: RS256Key) -> String {
    String(SHA256Digest.of(key.publicKey.modulus).description.prefix(40))
  }

  /// The URL of the token endpoint; empty until ``adopt(tokenAddress:)``.
  var tokenAddress: String { address.locked { $0 } }

  /// Sets the URL that key files name, and that assertions may have as their audience.
  func adopt(tokenAddress: String) { address.locked { $0 = tokenAddress } }

  /// The JSON of a key file, with the member names of Google's.
  struct KeyFile: Encodable {
    var type = "service_account"
    var projectId = "sandbox-store"
    var privateKeyId: String
    var privateKey: String
    var clientEmail = GoogleAuthority.account
    var clientId = "100000000000000000000"
    var authUri: String
    var tokenUri: String

    private enum CodingKeys: String, CodingKey {
      case type
      case projectId = "project_id"
      case privateKeyId = "private_key_id"
      case privateKey = "private_key"
      case clientEmail = "client_email"
      case clientId = "client_id"
      case authUri = "auth_uri"
      case tokenUri = "token_uri"
    }
  }

  /// The key file that clients are given, as Google makes them. It holds the private key as PEM.
  var keyFile: KeyFile {
    let address = tokenAddress
    return KeyFile(
      privateKeyId: serviceKeyName, privateKey: serviceKey.pem, authUri: address, tokenUri: address)
  }

  // MARK: Access tokens

  private struct Header: Codable {
    var alg: String
    var kid: String?
    var typ: String?
    var crit: [String]?
  }

  /// `iat` and `exp` are seconds since the epoch, and `scope` has spaces between its names.
  private struct Claims: Decodable {
    var iss: String
    var aud: String
    var scope: String?
    var iat: Double
    var exp: Double
  }

  /// Why no token is given for an assertion, as RFC 6749 §5.2 names it.
  struct Refusal: Error, Sendable {
    var error: String
    var description: String
  }

  /// A new access token. Throws ``Refusal``. The assertion is a JWT (RFC 7523) signed with RS256. It lasts an
  /// hour at most, and clocks may differ by a minute. The refusal is `invalid_scope` for another scope and
  /// `invalid_grant` for everything else.
  func exchange(_ assertion: String) throws(Refusal) -> String {
    let segments = assertion.utf8.split(separator: 0x2E, omittingEmptySubsequences: false).map {
      Substring($0)
    }
    guard assertion.utf8.count <= Self.maximumLength, segments.count == 3,
      let header = Self.decoded(Header.self, segments[0]), header.alg == "RS256", header.crit == nil,
      let claims = Self.decoded(Claims.self, segments[1]),
      let signature = Base64.decode(segments[2], .url)
    else { throw Refusal(error: "invalid_grant", description: "Invalid JWT: it is not readable.") }
    guard header.kid == nil || header.kid == serviceKeyName,
      serviceKey.publicKey.isValid(
        signature: signature, for: Array("\(segments[0]).\(segments[1])".utf8))
    else { throw Refusal(error: "invalid_grant", description: "Invalid JWT Signature.") }
    guard claims.iss == Self.account, [tokenAddress, Self.documentedAudience].contains(claims.aud) else {
      throw Refusal(error: "invalid_grant", description: "Invalid JWT: another account or audience.")
    }
    let now = clock.now()
    guard claims.iat <= Self.seconds(now + Self.skew), claims.exp > Self.seconds(now - Self.skew),
      claims.exp - claims.iat <= Double(Self.assertionLifetime.components.seconds)
    else {
      throw Refusal(
        error: "invalid_grant", description: "Invalid JWT: Token must be a short-lived token (60 minutes).")
    }
    guard claims.scope?.split(separator: " ").contains(Substring(Self.scope)) == true else {
      throw Refusal(error: "invalid_scope", description: "The scope is not \(Self.scope).")
    }
    let token = "ya29." + Base64.encode(RandomBytes.make(48), .url)
    tokens.locked { tokens in
      tokens = tokens.filter { $0.value > now }
      if tokens.count >= Self.maximumTokens, let oldest = tokens.min(by: { $0.value < $1.value }) {
        tokens[oldest.key] = nil
      }
      tokens[token] = now + Self.tokenLifetime
    }
    return token
  }

  /// Seconds since the epoch, with their fraction, as claims have them.
  private static func seconds(_ moment: Timestamp) -> Double { Double(moment.millisecondsSinceEpoch) / 1000 }

  /// Whether an access token counts. None outlives the process. Nil counts as none.
  func accepts(_ token: String?) -> Bool {
    guard let token else { return false }
    let now = clock.now()
    return tokens.locked { $0[token].map { now < $0 } ?? false }
  }

  /// Every access token counts no more.
  func withdrawTokens() { tokens.locked { $0 = [:] } }

  // MARK: Identity tokens

  /// The claims of an identity token, as those of Google's push service have them.
  private struct Identity: Encodable {
    var iss = "https://accounts.google.com"
    var aud: String
    var azp = "100000000000000000001"
    var sub = "100000000000000000001"
    var email = GoogleAuthority.pusher
    var emailVerified = true
    var iat: Int64
    var exp: Int64

    private enum CodingKeys: String, CodingKey {
      case iss
      case aud
      case azp
      case sub
      case email
      case emailVerified = "email_verified"
      case iat
      case exp
    }
  }

  /// A token that says that this store posts to `audience`. It is a JWT signed with RS256 that lasts an hour.
  /// Each post gets a new one.
  func identityToken(for audience: String) throws -> String {
    let now = clock.now()
    let header = try APIJSON.encode(Header(alg: "RS256", kid: identityKeyName, typ: "JWT"))
    let claims = try APIJSON.encode(
      Identity(
        aud: audience, iat: now.secondsSinceEpoch, exp: (now + Self.identityLifetime).secondsSinceEpoch))
    let input = Base64.encode(header, .url) + "." + Base64.encode(claims, .url)
    return input + "." + Base64.encode(identityKey.sign(Array(input.utf8)), .url)
  }

  /// Nil for what is not base 64 in the alphabet of URLs (RFC 4648 section 5), or not such JSON.
  private static func decoded<Value: Decodable>(_ type: Value.Type, _ segment: Substring) -> Value? {
    Base64.decode(segment, .url).flatMap { try? APIJSON.decode(type, from: $0) }
  }
}
