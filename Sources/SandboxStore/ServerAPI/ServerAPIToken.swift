import CoreTypes
import Crypto
import PullboxAPI

/// The check of the tokens of the App Store Server API, which clients sign with the store's API key.
///
/// A token is a JWT (RFC 7519) signed with ES256. It names the key, its issuer and the application, and ends within an hour of
/// its making; where it does not say when it was made, within an hour from now.
struct ServerAPIAuthority: Sendable {
  /// The key's name: ten characters.
  let keyIdentifier: String
  /// `iss` of the tokens, the value of `--api-issuer`.
  let issuer: String
  /// `bid` of the tokens.
  let bundleIdentifier: String
  /// Verifies the tokens. Clients sign with the private half, which lies in the state directory.
  let key: ES256Key
  let clock: any WallClock

  static let audience = "appstoreconnect-v1"
  /// From `iat` to `exp` at most.
  static let longestLife = Duration.seconds(3600)
  /// How far the clock of a client may be from the store's.
  static let skew = Duration.seconds(60)
  /// Bytes of a token.
  private static let maximumLength = 4096

  private struct Header: Decodable {
    var alg: String
    var kid: String
    /// Extensions that must be understood; none is.
    var crit: [String]?
  }

  private struct Claims: Codable {
    var iss: String
    /// Seconds since the epoch.
    var iat: Double?
    var exp: Double
    var aud: String
    var bid: String
  }

  /// Whether `token` is such a token. What it has besides is ignored. The segments are base 64 without
  /// padding, as RFC 7515 section 2 has it. Nil counts as none.
  func accepts(_ token: String?) -> Bool {
    guard let token, token.utf8.count <= Self.maximumLength else { return false }
    let segments = token.utf8.split(separator: 0x2E, omittingEmptySubsequences: false).map { Substring($0) }
    guard segments.count == 3, !token.utf8.contains(0x3D),
      let header = segments[0].decoded(Header.self), header.alg == "ES256", header.kid == keyIdentifier,
      header.crit == nil, let signature = Base64.decode(segments[2], .url),
      key.isValid(signature: signature, for: Array("\(segments[0]).\(segments[1])".utf8)),
      let claims = segments[1].decoded(Claims.self)
    else { return false }
    return claims.iss == issuer && claims.aud == Self.audience && claims.bid == bundleIdentifier
      && isInTime(claims)
  }

  /// Skew is allowed on either side of now, and not on the length of the token's life.
  private func isInTime(_ claims: Claims) -> Bool {
    let now = Double(clock.now().millisecondsSinceEpoch) / 1000
    let skew = Self.skew.inSeconds
    guard claims.exp > now - skew else { return false }
    guard let issued = claims.iat else { return claims.exp <= now + Self.longestLife.inSeconds + skew }
    return issued <= now + skew && claims.exp <= issued + Self.longestLife.inSeconds
  }
}

extension Substring {
  /// Nil for what is not base 64 in the alphabet of URLs, or not such JSON.
  fileprivate func decoded<Value: Decodable>(_ type: Value.Type) -> Value? {
    Base64.decode(self, .url).flatMap { try? APIJSON.decode(type, from: $0) }
  }
}
