import ContentGrants
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import HTTPParsing
import HTTPServer
import PullboxAPIServer

/// Gives applications codes for readers' keys, and tokens for codes. Both lie in the database as digests, so that any node takes what
/// another one gave. A code begins with the name of its key, and so does a token, which is shown as `NAME.PASSWORD` is.
struct ReaderTokens: Sendable {
  /// The time in which a code is to be exchanged.
  static let lifetime: Duration = .seconds(60)
  private static let verifierLength = 43...128
  private static let verifierCharacters = Set(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)

  let grants: GrantService
  let signIn: ReaderSignIn

  /// A new code, in place of the key's last one. Throws `access_denied` for a key that has been removed, and what the database throws.
  func code(for key: ReaderKey, _ request: AuthorizationRequest) async throws -> String {
    let secret = RandomBytes.token(bits: 256)
    let now = grants.grantStore.clock.now()
    let code = ReaderCode(
      name: key.name, digest: SecretDigest(of: secret).digest, challenge: request.challenge,
      request: AuthorizationRequest.digest(client: request.client, redirect: request.redirect.text),
      expires: now + Self.lifetime)
    let isThere = try await grants.grantStore.database.write(locking: []) { connection in
      _ = try CustomerTable.lockCurrent(key.customer, in: connection)
      guard try ReaderKeyTable.find(key.name, in: connection) != nil else { return false }
      try ReaderTokenTable.put(code, in: connection)
      return true
    }
    guard isThere else { throw AuthorizationError(.accessDenied, "the key has been removed") }
    return "\(key.name).\(secret)"
  }

  /// A token for a code. A code is taken once, whatever comes of it; one that is shown again ends the tokens that were given for it (RFC
  /// 6749 §4.1.2). One that was never given counts as a wrong password. Throws ``AuthorizationError``, `too-many-requests`, and what
  /// the database throws.
  func token(for form: [QueryParameter], _ request: HTTPRequest) async throws -> String {
    func value(_ name: String) throws(AuthorizationError) -> String {
      let values = form.filter { $0.name == name }.map(\.value)
      guard values.count == 1, let value = values.first, !value.isEmpty else {
        throw AuthorizationError(.invalidRequest, "\(name) is there once")
      }
      return value
    }
    guard try value("grant_type") == "authorization_code" else {
      throw AuthorizationError(.unsupportedGrantType, "grant_type is authorization_code")
    }
    let verifier = try value("code_verifier")
    guard Self.verifierLength.contains(verifier.utf8.count),
      verifier.utf8.allSatisfy(Self.verifierCharacters.contains)
    else {
      throw AuthorizationError(.invalidRequest, "code_verifier is 43 to 128 letters, digits and -._~")
    }
    let asked = AuthorizationRequest.digest(
      client: try value("client_id"), redirect: try value("redirect_uri"))
    let refusal = AuthorizationError(.invalidGrant, "the code is none, or of another request, or too old")
    guard let shown = ReaderCredentials(try value("code"), separatedBy: ".") else { throw refusal }
    let (name, secret) = (shown.name, shown.password)
    let (token, now) = (RandomBytes.token(bits: 256), grants.grantStore.clock.now())
    let digest = SecretDigest(of: secret).digest
    let database = grants.grantStore.database
    try signIn.checkAttempts(for: name, request)
    let (found, isKnown) = try await database.read { connection in
      (
        try ReaderKeyTable.find(name, in: connection),
        try ReaderTokenTable.knows(code: digest, of: name, in: connection)
      )
    }
    guard let key = found, isKnown else {
      try signIn.chargeAttempt(for: name, request)
      throw refusal
    }
    let isGiven = try await database.write(locking: []) { connection in
      _ = try CustomerTable.lockCurrent(key.customer, in: connection)
      guard let code = try ReaderTokenTable.take(digest, of: name, in: connection) else {
        _ = try ReaderTokenTable.remove(givenFor: digest, of: name, in: connection)
        return false
      }
      guard now < code.expires, code.request == asked,
        SecretDigest(digest: code.challenge).matches(verifier),
        try ReaderKeyTable.find(name, in: connection) != nil
      else { return false }
      try ReaderTokenTable.insert(SecretDigest(of: token).digest, for: code, at: now, in: connection)
      return true
    }
    guard isGiven else { throw refusal }
    return "\(name).\(token)"
  }
}
