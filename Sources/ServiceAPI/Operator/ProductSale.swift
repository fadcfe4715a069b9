public import Commerce
public import CoreTypes
public import PullboxAPI

/// Where a product stands between its description and the shop window.
public enum SaleState: String, ListedWords, Sendable {
  /// Described, and neither reviewed nor for sale.
  case draft
  /// Handed in for review.
  case submitted
  /// A reviewer has said no.
  case rejected
  /// For sale, as soon as something of it is released and within its dates.
  case cleared
  /// Taken off sale; those who bought it keep what they own.
  case withdrawn
}

/// The last review of a product: its submission and the decision.
public struct ProductReview: Codable, Hashable, Sendable {
  /// When it was handed in.
  public var submitted: Timestamp
  /// The name of the operator key that handed it in.
  public var submittedBy: String
  /// The submitter's notes for the reviewer; absent for none.
  public var notes: String?
  /// When it was decided; absent while it is not.
  public var decided: Timestamp?
  /// The name of the operator key that decided.
  public var decidedBy: String?
  /// Whether the product was approved; absent before the decision, and after the product was changed.
  public var isApproved: Bool?
  /// Why it was rejected; absent where no reason was given.
  public var reason: String?

  /// Creates the document from its members.
  public init(
    submitted: Timestamp, submittedBy: String, notes: String? = nil, decided: Timestamp? = nil,
    decidedBy: String? = nil, isApproved: Bool? = nil, reason: String? = nil
  ) {
    self.submitted = submitted
    self.submittedBy = submittedBy
    self.notes = notes
    self.decided = decided
    self.decidedBy = decidedBy
    self.isApproved = isApproved
    self.reason = reason
  }
}

/// `POST /v1/operator/products/{id}/submit`; the body may be left out.
public struct ProductSubmission: Codable, Sendable, OperatorWritten {
  /// The notes for the reviewer: 500 characters at most.
  public var notes: String?

  /// Creates the document from its member.
  public init(notes: String? = nil) {
    self.notes = notes
  }
}
