import PullboxAPI

/// Writes how an application for reading shows who it is, as *Authentication for OPDS 1.0* has it. Pure.
package struct AuthenticationDocument: Sendable {
  package static let mediaType = "application/opds-authentication+json"
  /// One realm for everything below `/opds`.
  package static let realm = "Pullbox catalog"

  /// Put before addresses at this server.
  package let base: String
  /// The name of the catalog.
  package let name: String

  /// The command that shows a customer a key.
  package let command: String
  /// Whether an application may lead its reader to a page to sign in.
  package let hasPage: Bool

  package init(base: String, name: String, command: String = "pullbox readers add", hasPage: Bool) {
    self.base = base
    self.name = name
    self.command = command
    self.hasPage = hasPage
  }

  /// A name and four words, which the specification has.
  static let basicFlow = "http://opds-spec.org/auth/basic"
  /// `Bearer`, and the code of OAuth 2 with a verifier: the specification has neither, and wants an address as the name of an extension.
  static let bearerFlow = "https://www.rfc-editor.org/rfc/rfc6750"
  static let codeFlow = "https://www.rfc-editor.org/rfc/rfc7636"
  /// The relation to the address at which a code is exchanged.
  static let exchangeRelation = "https://www.rfc-editor.org/rfc/rfc6749#section-3.2"
  /// Where an application is asked to go for a sign-in by OAuth 2.
  package static func authorization(at base: String) -> String { "\(base)/opds/oauth/authorize" }
  /// Where it exchanges a code for a token.
  package static func exchange(at base: String) -> String { "\(base)/opds/oauth/token" }

  private struct Document: Encodable {
    struct Link: Encodable {
      var rel: String
      var href: String
      var type: String
    }

    struct Flow: Encodable {
      var type: String
      var labels: [String: String]?
      var links: [Link]?
    }

    var id: String
    var title: String
    var description: String
    var links: [Link]
    var authentication: [Flow]
  }

  /// Returns the document. Throws what the encoder throws.
  package func document() throws -> [UInt8] {
    let start = FeedAddresses(base: base, form: .json).address(of: CatalogPage(.start))
    return try APIJSON.encode(
      Document(
        id: "\(base)/opds/authentication", title: name,
        description: "Sign in with the name and the four words of a reader's key: \(command)",
        links: [
          Document.Link(
            rel: "start", href: start, type: FeedForm.json.mediaType(of: .navigation) ?? "")
        ],
        authentication: [
          Document.Flow(type: Self.basicFlow, labels: ["login": "Name", "password": "Four words"]),
          Document.Flow(type: Self.bearerFlow),
        ] + (hasPage ? [codeFlow] : [])))
  }

  private var codeFlow: Document.Flow {
    Document.Flow(
      type: Self.codeFlow,
      links: [
        Document.Link(rel: "authenticate", href: Self.authorization(at: base), type: "text/html"),
        Document.Link(rel: Self.exchangeRelation, href: Self.exchange(at: base), type: "application/json"),
      ])
  }
}
