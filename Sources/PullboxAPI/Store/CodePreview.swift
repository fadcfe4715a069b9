public import Commerce
public import CoreTypes

/// `GET /store/v1/codes/{code}`: what a code gives the account that asks, if it is redeemed now.
public struct CodePreview: Codable, Hashable, Sendable {
  /// The kind of a code.
  public enum Kind: String, ListedWords, Sendable {
    /// For a product that is no subscription that renews, which costs nothing.
    case gift
    /// For a subscription under an offer of the code's own.
    case offer
    /// For a subscription whose first period costs nothing.
    case promotional
  }

  /// The product that the account gets.
  public var product: ProductIdentifier
  /// The kind of the code.
  public var kind: Kind
  /// The terms of the first payments of a subscription, behind which the product's price is paid; absent for a gift.
  public var terms: CodeTerms?
  /// When the terms begin: with the next renewal of a subscription that runs. Absent for at once.
  public var start: Timestamp?

  /// Creates the document from its members.
  public init(product: ProductIdentifier, kind: Kind, terms: CodeTerms? = nil, start: Timestamp? = nil) {
    self.product = product
    self.kind = kind
    self.terms = terms
    self.start = start
  }
}

/// The first payments of a subscription under a code, in the territory of the account.
public struct CodeTerms: Codable, Hashable, Sendable {
  /// How it is paid for.
  public var payment: StoreOffer.Payment
  /// How long one payment of it lasts.
  public var period: BillingPeriod
  /// After how many payments the product's price is asked: 1 to 12; 1 for a free trial.
  public var payments: Int
  /// The price of each payment; absent for a free trial.
  public var price: Price?

  /// Creates the document from its members.
  public init(payment: StoreOffer.Payment, period: BillingPeriod, payments: Int, price: Price? = nil) {
    self.payment = payment
    self.period = period
    self.payments = payments
    self.price = price
  }
}
