import CatalogDocuments

/// The addresses and abilities of a server by which an application signs in by OAuth 2 (RFC 8414).
struct AuthorizationMetadata: Encodable, Sendable {
  private let issuer: String
  private let authorizationEndpoint: String
  private let tokenEndpoint: String
  private let responseTypes = ["code"]
  private let grantTypes = ["authorization_code"]
  private let methods = [AuthorizationRequest.method]
  private let authentications = ["none"]
  private let tellsIssuer = true

  /// `base` is put before addresses at this server.
  init(base: String) {
    issuer = base
    authorizationEndpoint = AuthenticationDocument.authorization(at: base)
    tokenEndpoint = AuthenticationDocument.exchange(at: base)
  }

  private enum CodingKeys: String, CodingKey {
    case issuer
    case authorizationEndpoint = "authorization_endpoint"
    case tokenEndpoint = "token_endpoint"
    case responseTypes = "response_types_supported"
    case grantTypes = "grant_types_supported"
    case methods = "code_challenge_methods_supported"
    case authentications = "token_endpoint_auth_methods_supported"
    case tellsIssuer = "authorization_response_iss_parameter_supported"
  }
}
