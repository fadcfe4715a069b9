import Commerce
import CoreTypes
package import PullboxAPI

/// The terms that a subscription begins with: its plan, and the changes that an offer or a bonus makes to the
/// first payments.
struct SubscriptionTerms {
  var plan: SubscriptionPlan
  /// The offer with all its payments; nil for the plan's own price.
  var run: SubscriptionLifecycle.OfferRun?
  /// By how much the first period lasts longer.
  var bonus: BillingPeriod?

  init(plan: SubscriptionPlan) {
    self.plan = plan
  }

  /// The first period, and what the next payments are made under. Throws `request-malformed` for a period that would end
  /// after the last date.
  ///
  /// - Returns: the period with the bonus in it, what is left of the offer (nil for nothing), and whether
  ///   there is a bonus.
  func begin(
    from start: Timestamp, by calendar: StoreCalendar
  ) throws(Problem) -> (
    period: SubscriptionLifecycle.Period, rest: SubscriptionLifecycle.OfferRun?, hasBonus: Bool
  ) {
    let length = run?.period ?? plan.period
    var end = calendar.end(of: length, from: start)
    if let bonus { end = end.flatMap { calendar.end(of: bonus, from: $0) } }
    guard let end else {
      throw Problem(.requestMalformed, "a period of \(length) would end after the year 9999")
    }
    var rest = run
    rest?.paymentsLeft -= 1
    if rest?.paymentsLeft == 0 { rest = nil }
    return (
      SubscriptionLifecycle.Period(
        plan: plan, start: start, end: end, offer: run?.offer, offerPrice: run?.price),
      rest, bonus != nil
    )
  }
}

extension StoreOffer {
  /// The payments under it. Nil where it has no price for the territory. The price is that of the territory,
  /// and a free trial has none. `pay-as-you-go` has as many payments as the offer says, and the others have
  /// one.
  ///
  /// - Parameter territory: ISO 3166 alpha-3; nil has prices nowhere.
  package func run(_ kind: SaleOffer.Kind, in territory: String?) -> SubscriptionLifecycle.OfferRun? {
    let price = territory.flatMap { prices?[$0] }
    guard payment == .freeTrial || price != nil else { return nil }
    return SubscriptionLifecycle.OfferRun(
      offer: SaleOffer(kind: kind, payment: payment, name: name, period: period), period: period,
      price: payment == .freeTrial ? nil : price,
      paymentsLeft: payment == .payAsYouGo ? payments ?? 1 : 1)
  }

  /// Checks an offer that a test sets. Throws `request-malformed` where one that is paid for has no prices,
  /// or more than 300, for payments outside of 1 to 12, and for a name that is empty or longer than 100
  /// bytes.
  package func check() throws(Problem) {
    guard payment == .freeTrial || prices?.isEmpty == false else {
      throw Problem(.requestMalformed, "an offer that is paid for has prices")
    }
    guard (1...12).contains(payments ?? 1), (prices?.count ?? 0) <= 300,
      (1...100).contains(name?.utf8.count ?? 1)
    else {
      throw Problem(
        .requestMalformed, "payments is from 1 to 12, name has 1 to 100 bytes, prices at most 300 territories"
      )
    }
  }
}
