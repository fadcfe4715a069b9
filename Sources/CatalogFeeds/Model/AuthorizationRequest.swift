import Crypto
import HTTPParsing
import HTTPServer

/// A refusal of OAuth 2 (RFC 6749 §4.1.2.1, §5.2).
struct AuthorizationError: Error, Hashable, Sendable {
  enum Code: String, Sendable {
    case accessDenied = "access_denied"
    case invalidGrant = "invalid_grant"
    case invalidRequest = "invalid_request"
    case temporarilyUnavailable = "temporarily_unavailable"
    case unsupportedGrantType = "unsupported_grant_type"
    case unsupportedResponseType = "unsupported_response_type"
  }

  let code: Code
  /// A sentence for the application's developer, in ASCII.
  let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

/// A question of an application for a code: who asks, to where the code is sent, and what its verifier will be compared with (RFC 6749
/// §4.1.1, RFC 7636 §4.3).
struct AuthorizationRequest: Hashable, Sendable {
  /// The outcome of a reading of parameters.
  enum Reading: Sendable {
    case request(AuthorizationRequest)
    /// The application is told so by its address.
    case refused(AuthorizationError, to: RedirectAddress, state: String?)
    /// There is no address to which anything may be sent: the reader is told so.
    case unusable(String)
  }

  /// The method of RFC 7636 that is taken.
  static let method = "S256"
  static let maximumClient = 255
  static let maximumState = 1024

  let client: String
  let redirect: RedirectAddress
  let challenge: SHA256Digest
  /// The application's own, which goes back as it came.
  let state: String?

  /// Reads the parameters of a query or a form. Those of other names are ignored (RFC 6749 §3.1).
  static func read(_ parameters: [QueryParameter]) -> Reading {
    func values(_ name: String) -> [String] { parameters.filter { $0.name == name }.map(\.value) }
    let (clients, addresses) = (values("client_id"), values("redirect_uri"))
    guard clients.count == 1, let client = clients.first, isVisible(client, upTo: maximumClient) else {
      return .unusable("The application does not say which it is (client_id).")
    }
    guard addresses.count == 1, let address = addresses.first, let redirect = RedirectAddress(address) else {
      return .unusable(
        "The application does not say to where it is to be led back, or not to this device (redirect_uri).")
    }
    let states = values("state")
    guard states.count <= 1, states.allSatisfy({ isVisible($0, upTo: maximumState) }) else {
      return .refused(
        AuthorizationError(.invalidRequest, "state is at most \(maximumState) printable characters, once"),
        to: redirect, state: nil)
    }
    func refusal(_ code: AuthorizationError.Code, _ message: String) -> Reading {
      .refused(AuthorizationError(code, message), to: redirect, state: states.first)
    }
    let types = values("response_type")
    guard types.count == 1 else { return refusal(.invalidRequest, "response_type is there once") }
    guard types == ["code"] else { return refusal(.unsupportedResponseType, "response_type is code") }
    guard values("code_challenge_method") == [method] else {
      return refusal(.invalidRequest, "code_challenge_method is \(method)")
    }
    let challenges = values("code_challenge")
    guard challenges.count == 1, let text = challenges.first, text.utf8.count == 43,
      let bytes = Base64.decode(text, .url), let challenge = SHA256Digest(bytes)
    else {
      return refusal(
        .invalidRequest, "code_challenge is the SHA-256 of the verifier, in 43 characters of base64url")
    }
    return .request(
      AuthorizationRequest(client: client, redirect: redirect, challenge: challenge, state: states.first))
  }

  /// The same as the fields of a form.
  var fields: [(name: String, value: String)] {
    [
      ("response_type", "code"), ("client_id", client), ("redirect_uri", redirect.text),
      ("code_challenge", Base64.encode(challenge.array, .url)), ("code_challenge_method", Self.method),
    ] + (state.map { [("state", $0)] } ?? [])
  }

  /// The SHA-256 of what has to be the same when the code is exchanged.
  static func digest(client: String, redirect: String) -> SHA256Digest {
    SHA256Digest.of("\(client.utf8.count) \(client) \(redirect)".utf8)
  }

  /// Printable characters of ASCII (RFC 6749 A.1, A.5).
  private static func isVisible(_ text: String, upTo length: Int) -> Bool {
    (1...length).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }
}
