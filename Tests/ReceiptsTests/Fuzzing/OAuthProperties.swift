import CoreTypes
import Crypto
import FoundationEssentials

@testable import Receipts

/// The bytes of token endpoints, key files and callers: an access token can be put into a header and ends, no token is genuine
/// without a key that made it, and claims count only as they are expected.
enum OAuthProperties {
  private static let now = Timestamp(millisecondsSinceEpoch: 1_800_000_000_000)
  private static let expected = IdentityToken.Expectation(audience: "https://a.example", email: "push@a.b")
  /// Another party's: no input is signed with it.
  private static let keys: IdentityKeys? = {
    let key = RS256Key()
    return (try? IdentityKeys.document(publishing: key.publicKey, named: "k1")).flatMap {
      try? IdentityKeys(document: $0)
    }
  }()

  private struct Claims: Decodable {
    var iss: String
    var aud: String
    var email: String
    var iat: Double
    var exp: Double
  }

  static func check(_ bytes: [UInt8]) -> String? {
    if let token = try? GoogleAccessToken(response: bytes, askedAt: now) {
      if !token.value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
        return "a token of other bytes than a header has"
      }
      if token.end <= now || token.end > now + .seconds(86_400) { return "a token counts until \(token.end)" }
      if token.value.utf8.count > 30, "\(token)".contains(token.value) { return "a token shows itself" }
    }
    if let account = try? GoogleServiceAccount(keyFile: bytes), (try? account.tokenRequest(at: now)) == nil {
      return "a key file is taken that signs nothing"
    }
    _ = try? IdentityKeys(document: bytes)
    let text = String(decoding: bytes, as: UTF8.self)
    guard let keys else { return "a key that was made is not read" }
    if (try? IdentityToken(text: text, keys: keys, expected: expected, at: now)) != nil {
      return "a token is genuine that no key made"
    }
    if IdentityToken.keyIdentifier(of: text) != nil, text.utf8.count(where: { $0 == 0x2E }) != 2 {
      return "a token of other than three parts"
    }
    guard (try? IdentityToken.check(claims: bytes, against: expected, at: now)) != nil else { return nil }
    guard let claims = try? JSONDecoder().decode(Claims.self, from: Data(bytes)) else {
      return "claims count that are not all there"
    }
    let seconds = Double(now.millisecondsSinceEpoch) / 1000
    guard claims.aud == expected.audience, claims.email == expected.email,
      claims.iss.hasSuffix("accounts.google.com"),
      claims.iat <= seconds + 60, claims.exp > seconds - 60
    else { return "claims of another count" }
    return nil
  }
}
