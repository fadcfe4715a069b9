public import Commerce

/// The price that a reader was shown before a purchase. Its text is `2.99 EUR` or `free`, followed by the offer if there
/// is one: `4.99 USD; free-trial P1W` or `4.99 USD; pay-as-you-go P1M 3 0.99 USD`; and by the bonus if there is one:
/// `4.99 USD; bonus P1M`.
public struct ShownPrice: Hashable, Sendable, LosslessStringCodable {
  /// An offer under which the first payments are made.
  public struct Offer: Hashable, Sendable {
    /// How it is paid for.
    public let payment: StoreOffer.Payment
    /// How long one payment of it lasts.
    public let period: BillingPeriod
    /// How many payments are made under it.
    public let payments: Int
    /// The price of each payment; nil for a free trial.
    public let price: Price?

    /// Creates the offer.
    public init(payment: StoreOffer.Payment, period: BillingPeriod, payments: Int, price: Price?) {
      self.payment = payment
      self.period = period
      self.payments = payments
      self.price = price
    }

    fileprivate init?(_ words: [Substring]) {
      guard words.count == 2 || words.count == 5,
        let payment = StoreOffer.Payment(rawValue: String(words[0])),
        let period = BillingPeriod(String(words[1])), (payment == .freeTrial) == (words.count == 2)
      else { return nil }
      guard words.count == 5 else {
        self.init(payment: payment, period: period, payments: 1, price: nil)
        return
      }
      guard let payments = Int(words[2]), (1...12).contains(payments), "\(payments)" == words[2],
        let price = Price(amount: String(words[3]), currency: String(words[4]))
      else { return nil }
      self.init(payment: payment, period: period, payments: payments, price: price)
    }

    fileprivate var text: String {
      "\(payment.rawValue) \(period)" + (price.map { " \(payments) \($0.amount) \($0.currency)" } ?? "")
    }
  }

  private static let free = "free"
  private static let bonusWord = "bonus "

  /// Nil for what was shown as free.
  public let price: Price?
  /// The offer that was shown beside the price; nil for none.
  public let offer: Offer?
  /// By how much the first period was shown to last longer; nil for no bonus.
  public let bonus: BillingPeriod?

  /// Creates the price that `listing` shows, with the offer and the bonus that were shown beside it.
  public init(
    of listing: ProductListing, under offer: AccountOffer? = nil, with bonus: BillingPeriod? = nil
  ) {
    self.init(
      price: listing.price.flatMap { Price(amount: $0.amount, currency: $0.currency) },
      offer: offer.map {
        Offer(payment: $0.payment, period: $0.period, payments: $0.payments, price: $0.price)
      }, bonus: bonus)
  }

  /// A price, an offer and a bonus.
  public init(price: Price?, offer: Offer?, bonus: BillingPeriod? = nil) {
    self.price = price
    self.offer = offer
    self.bonus = bonus
  }

  /// Nil for a text of another form.
  public init?(_ text: String) {
    let parts = text.split(separator: "; ", omittingEmptySubsequences: false)
    var rest = parts.dropFirst()
    var bonus: BillingPeriod?
    if let part = rest.last, part.hasPrefix(Self.bonusWord) {
      bonus = BillingPeriod(String(part.dropFirst(Self.bonusWord.count)))
      guard bonus != nil else { return nil }
      rest = rest.dropLast()
    }
    var offer: Offer?
    if let part = rest.first {
      offer = Offer(part.split(separator: " ", omittingEmptySubsequences: false))
      guard rest.count == 1, offer != nil else { return nil }
    }
    self.offer = offer
    self.bonus = bonus
    guard parts[0] != Self.free else {
      price = nil
      return
    }
    let words = parts[0].split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2, let price = Price(amount: String(words[0]), currency: String(words[1])) else {
      return nil
    }
    self.price = price
  }

  /// Its text.
  public var description: String {
    (price.map { "\($0.amount) \($0.currency)" } ?? Self.free) + (offer.map { "; " + $0.text } ?? "")
      + (bonus.map { "; \(Self.bonusWord)\($0)" } ?? "")
  }
}
