public import Commerce
public import CoreTypes
public import PullboxAPI

/// A step of an operator's that waits for another operator's approval, or did (`secondOperator`).
public struct Approval: Codable, Sendable {
  /// How it stands with the request.
  public enum State: String, ListedWords, Sendable {
    /// Another operator may approve or decline it.
    case waiting
    /// It was approved, and is being carried out; it stays so where the server ended meanwhile.
    case approved
    /// It was approved and carried out.
    case done
    /// Another operator declined it, or who asked took it back.
    case declined
    /// It was approved and could not be carried out, or not to its end, as ``Approval/outcome`` says.
    case refused
    /// Its time is over.
    case expired
  }

  /// Its number, by which it is approved and declined.
  public var id: Int64
  /// How it stands.
  public var state: State
  /// The step, as the audit log names it: `version.withdraw`.
  public var action: String
  /// The thing that the step is about.
  public var subject: String
  /// The reason that was given with the request.
  public var reason: String?
  /// How many devices, or grants, it is about, as of when it was asked for; absent where that is not counted.
  public var affected: Int64?
  /// The request: its method and its address.
  public var request: String
  /// The scope that who approves needs, as who asked did.
  public var scope: OperatorScope
  /// When it was asked for.
  public var asked: Timestamp
  /// The name of the key that asked for it.
  public var askedBy: String
  /// Until when it may be approved.
  public var expires: Timestamp
  /// When it was approved or declined.
  public var decided: Timestamp?
  /// The name of the key that approved or declined it.
  public var decidedBy: String?
  /// Why it was declined, or could not be carried out; how many grants were revoked, and whether more stand.
  public var outcome: String?

  /// Creates the document from its members.
  public init(
    id: Int64, state: State, action: String, subject: String, reason: String? = nil, affected: Int64? = nil,
    request: String, scope: OperatorScope, asked: Timestamp, askedBy: String, expires: Timestamp,
    decided: Timestamp? = nil, decidedBy: String? = nil, outcome: String? = nil
  ) {
    self.id = id
    self.state = state
    self.action = action
    self.subject = subject
    self.reason = reason
    self.affected = affected
    self.request = request
    self.scope = scope
    self.asked = asked
    self.askedBy = askedBy
    self.expires = expires
    self.decided = decided
    self.decidedBy = decidedBy
    self.outcome = outcome
  }
}

/// The grants of a transaction, or of a device, that stand, before they are revoked together.
public struct RevocationPlan: Codable, Sendable {
  /// Grants that would be revoked.
  public var grants: Int64
  /// The devices that have them.
  public var devices: Int64
  /// Grants among them whose download has begun, and is not confirmed.
  public var begun: Int64
  /// Whether these are not all: of more than 1,000 the newest are looked at.
  public var hasMore: Bool

  /// Creates the document from its members.
  public init(grants: Int64, devices: Int64, begun: Int64, hasMore: Bool) {
    self.grants = grants
    self.devices = devices
    self.begun = begun
    self.hasMore = hasMore
  }
}

/// `POST /v1/operator/revocations`: revokes the grants that stand of a transaction, or of a device.
public struct RevocationRequest: Codable, Sendable, OperatorWritten {
  /// The transaction; exactly one of it and ``device``.
  public var transaction: String?
  /// The device.
  public var device: String?
  /// Kept with each grant, and in the audit log.
  public var reason: String?

  /// Creates the document from its members.
  public init(transaction: String? = nil, device: String? = nil, reason: String? = nil) {
    self.transaction = transaction
    self.device = device
    self.reason = reason
  }
}

/// The answer to ``RevocationRequest``.
public struct RevocationReport: Codable, Sendable {
  /// Grants that were revoked.
  public var revoked: Int64
  /// Whether there are more, which another request revokes.
  public var hasMore: Bool

  /// Creates the document from its members.
  public init(revoked: Int64, hasMore: Bool) {
    self.revoked = revoked
    self.hasMore = hasMore
  }
}
