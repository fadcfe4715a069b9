public import CoreTypes

/// One entry of the append-only audit log.
public struct AuditEntry: Codable, Sendable {
  public var at: Timestamp
  /// The name of the operator key.
  public var actor: String
  public var action: String
  public var subject: String
  public var detail: String?

  public init(at: Timestamp, actor: String, action: String, subject: String, detail: String? = nil) {
    self.at = at
    self.actor = actor
    self.action = action
    self.subject = subject
    self.detail = detail
  }
}

/// What an operator key may do; `admin` includes the others.
public enum OperatorScope: String, Codable, Sendable, CaseIterable {
  case read
  case publish
  case review
  case admin
}
