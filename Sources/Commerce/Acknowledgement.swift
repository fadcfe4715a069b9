public import CoreTypes

/// A call that tells a store that a transaction's content was delivered. It is for stores that are not told that
/// a transaction is finished.
public struct Acknowledgement: Hashable, Sendable {
  /// A kind of acknowledgement.
  public enum Kind: String, ListedWords, Sendable {
    /// The purchase was delivered.
    case acknowledge
    /// It was delivered and is used up: the product can be bought again.
    case consume
  }

  /// The kind of this acknowledgement.
  public let kind: Kind
  /// The data that the store needs besides the transaction's name. Only the store's client reads it.
  public let reference: String
  /// The moment when the store takes the purchase back unless it was told; nil for a purchase that it was
  /// told of.
  public let deadline: Timestamp?

  /// Creates the acknowledgement from the store's answer about a purchase.
  public init(_ kind: Kind, reference: String, deadline: Timestamp?) {
    self.kind = kind
    self.reference = reference
    self.deadline = deadline
  }
}
