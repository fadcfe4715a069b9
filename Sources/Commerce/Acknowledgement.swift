public import CoreTypes

/// How a store is told that what a transaction pays for was delivered, where it is not told that the transaction is
/// finished.
public struct Acknowledgement: Hashable, Sendable {
  /// What it is told.
  public enum Kind: String, Codable, Sendable, CaseIterable {
    /// The purchase was delivered.
    case acknowledge
    /// It was delivered and is used up: the product can be bought again.
    case consume
  }

  /// What the store is told.
  public let kind: Kind
  /// What the store needs besides the transaction's name: its client's alone.
  public let reference: String
  /// When the store takes back the purchase unless it was told; nil for one that it was told of.
  public let deadline: Timestamp?

  /// For those who have asked the store.
  public init(_ kind: Kind, reference: String, deadline: Timestamp?) {
    self.kind = kind
    self.reference = reference
    self.deadline = deadline
  }
}
