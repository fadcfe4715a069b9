public import Commerce
public import CoreTypes

/// One entry of the append-only audit log.
public struct AuditEntry: Codable, Sendable {
  /// When it was done, by the server's clock.
  public var at: Timestamp
  /// The name of the operator key.
  public var actor: String
  /// The action, as a word such as `version.release`.
  public var action: String
  /// The product, version or grant that the action changed, by its name.
  public var subject: String
  /// Further information about the action; absent for most actions.
  public var detail: String?
  /// The environment of the purchase that it is about, `Production` or `Sandbox`; absent for what is about none.
  public var environment: String?
  /// The product, or the version as `PRODUCT VERSION`, that the action concerns where its subject is something else: of requests for a
  /// second operator. Absent otherwise.
  public var about: String?

  /// Creates the document from its members.
  public init(
    at: Timestamp, actor: String, action: String, subject: String, detail: String? = nil,
    environment: String? = nil, about: String? = nil
  ) {
    self.at = at
    self.actor = actor
    self.action = action
    self.subject = subject
    self.detail = detail
    self.environment = environment
    self.about = about
  }
}

/// The scope of an operator key, which says what it may do; `admin` includes the others.
public enum OperatorScope: String, ListedWords, Sendable {
  case read
  case publish
  case review
  case admin

  /// Throws an error that names the scopes there are for a word that is none of them, and does not repeat it: it may stand
  /// beside a secret.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let scope = OperatorScope(rawValue: try container.decode(String.self)) else {
      let words = Self.allCases.map(\.rawValue).joined(separator: ", ")
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "one of the scopes is expected here: \(words)")
    }
    self = scope
  }
}
