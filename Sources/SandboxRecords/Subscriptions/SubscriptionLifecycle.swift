package import Commerce
package import CoreTypes

/// The course of one subscription: a pure value that says when it is due and what becomes of it then.
///
/// It is active until the end of what was paid for, and is then renewed, ends, or, when the payment fails, is tried
/// again for a while. ``RenewalRun`` persists it with the transaction that a step brings:
///
/// ```swift
/// while let due = life.due, due <= now {
///   if case .renewed(let period) = life.advance(by: calendar) { … }
/// }
/// ```
///
/// Invariants: ``due`` is nil exactly where it is over; `graceEnd` and `retryEnd` are there exactly while a
/// payment is tried again, and `pauseEnd` while it is paused; a subscription that is over is not renewed. It
/// is kept as JSON in one column, so that a member that came later is optional.
package struct SubscriptionLifecycle: Hashable, Sendable, Codable {
  package private(set) var phase: Phase
  package private(set) var plan: SubscriptionPlan
  /// The plan of the next renewal; nil where it is ``plan``.
  package private(set) var nextPlan: SubscriptionPlan?
  /// False once it is over.
  package private(set) var autoRenews: Bool
  /// The beginning of the period that runs or ran last.
  package private(set) var start: Timestamp
  /// The end of that period; an extension moves it.
  package private(set) var expires: Timestamp
  /// The day of the month on which its months end, also behind one that is too short for it; nil where that is ``expires``' day.
  package private(set) var anniversary: Int?
  /// Renewals that are still made by themselves; at 0 it ends as if its customer had ended it.
  package private(set) var renewalsLeft: Int
  /// While a payment is tried again: until when the customer is served all the same.
  package private(set) var graceEnd: Timestamp?
  /// While a payment is tried again: when that ends.
  package private(set) var retryEnd: Timestamp?
  /// When one that is paused goes on by itself.
  package private(set) var pauseEnd: Timestamp?
  /// Why it ended; nil while it is not over.
  package private(set) var intent: ExpirationIntent?
  /// Whether payments fail, until a test lets them succeed.
  package private(set) var failsRenewals = false
  package private(set) var increase: PriceIncrease?
  /// The offer that the payments after the present one are under; nil for the plan's own price.
  package private(set) var offerRun: OfferRun?
  /// An offer that was redeemed while this runs: the next renewal begins it.
  package private(set) var nextOffer: OfferRun?
  /// True once there was an introduction to the group: there is no other one.
  package private(set) var hasHadIntroduction: Bool?
  /// True once there was a bonus: there is no other one.
  package private(set) var hasHadBonus: Bool?
  /// True where a refund, and not the customer, switched renewal off.
  package private(set) var isStoppedByRefund: Bool?
  /// True where a pause takes the place of the next renewal.
  package private(set) var pausesNext: Bool?

  /// Begins with a first payment, and goes on under `offerRun`.
  ///
  /// - Parameters:
  ///   - renewals: how many follow by themselves.
  ///   - hasBonus: whether the period is longer by a bonus.
  init(_ period: Period, renewals: Int, offerRun: OfferRun? = nil, hasBonus: Bool = false) {
    phase = .active
    plan = period.plan
    self.offerRun = offerRun
    if period.offer?.kind == .introductory { hasHadIntroduction = true }
    if hasBonus { hasHadBonus = true }
    autoRenews = true
    start = period.start
    expires = period.end
    anniversary = StoreCalendar.anniversary(of: period.start, endingAt: period.end)
    renewalsLeft = renewals
  }

  /// One that was sold before there were renewals: it ends with its period.
  init(withoutRenewals period: Period) {
    self.init(period, renewals: 0)
    autoRenews = false
  }

  /// When ``advance(by:)`` has something to do. Nil once it is over.
  var due: Timestamp? {
    switch phase {
    case .active: expires
    case .retrying: retryEnd
    case .paused: pauseEnd
    case .expired: nil
    }
  }

  /// The offer that the next renewal is under. Nil for the plan's own price.
  package var renewalOffer: OfferRun? { nextOffer ?? (nextPlan == nil ? offerRun : nil) }

  /// Whether an offer that was redeemed waits for the next renewal.
  package var awaitsOffer: Bool { phase != .expired && nextOffer != nil }

  /// The product of the next renewal.
  package var renewalProduct: ProductIdentifier { (nextPlan ?? plan).product }

  /// Whether it is paid for.
  package var isRunning: Bool { phase == .active }

  /// Takes the step that is due at ``due``, dated by it. One that is active or paused is checked in this
  /// order: renewal is off or used up, a pause is scheduled, a price waits for consent, the product is not
  /// sold, the payment fails. The first that holds decides; else it is renewed. One whose payment was tried
  /// in vain ends. Nothing happens to one that is over.
  ///
  /// - Parameter isForSale: whether the catalog still sells ``renewalProduct``.
  mutating func advance(by calendar: StoreCalendar, isForSale: Bool = true) -> Step {
    switch phase {
    case .expired: return .changed
    case .retrying:
      end(autoRenews ? .billing : .cancelled)
      return .changed
    case .active, .paused:
      guard autoRenews, renewalsLeft > 0 else {
        end(.cancelled)
        return .changed
      }
      if phase == .active, pausesNext == true { return pause(by: calendar) }
      if let increase, increase.needsConsent, !increase.isAccepted {
        end(.priceIncrease)
        return .changed
      }
      guard isForSale else {
        end(.productUnavailable)
        return .changed
      }
      let date = pauseEnd ?? expires
      if failsRenewals {
        // What was paused is not served meanwhile.
        graceEnd = phase == .paused ? date : calendar.graceEnd(after: plan.period, from: date)
        retryEnd = calendar.retryEnd(from: date)
        phase = .retrying
        pauseEnd = nil
        return .changed
      }
      return renew(at: date, by: calendar)
    }
  }

  /// A pause lasts a month of the store's.
  private mutating func pause(by calendar: StoreCalendar) -> Step {
    pausesNext = nil
    guard let end = calendar.end(of: .month, from: expires, onDay: anniversary) else {
      self.end(.cancelled)
      return .changed
    }
    phase = .paused
    pauseEnd = end
    return .changed
  }

  /// At the end of the period that runs it pauses, for a month. False for one that does not run, or ends there anyway.
  package mutating func schedulePause() -> Bool {
    guard phase == .active, autoRenews else { return false }
    pausesNext = true
    return true
  }

  /// A pause that is scheduled is not made; one that runs ends with a payment at `now`. Nil where there is none that runs.
  ///
  /// - Parameter now: in whole seconds.
  package mutating func resume(at now: Timestamp, by calendar: StoreCalendar) -> Step? {
    pausesNext = nil
    guard phase == .paused else { return nil }
    return renew(at: now, by: calendar)
  }

  /// The payment succeeds at `now`: within the grace it pays for the time since the end, after it for the time from now. Nil
  /// when nothing is tried, or its customer wants no more of it. Payments succeed from then on in any case.
  package mutating func recover(at now: Timestamp, by calendar: StoreCalendar) -> Step? {
    failsRenewals = false
    guard phase == .retrying, autoRenews, let graceEnd else { return nil }
    phase = .active
    let isInGrace = now < graceEnd
    self.graceEnd = nil
    retryEnd = nil
    return renew(at: isInGrace ? expires : now, by: calendar)
  }

  /// A payment of its own begins a period: of another plan, or after a lapse. What is left of the old one is given up;
  /// what an account gets once, it has had.
  mutating func begin(
    _ period: Period, renewals: Int, offerRun: OfferRun? = nil, hasBonus: Bool = false
  ) {
    let earlier = (hasHadIntroduction, hasHadBonus)
    self = SubscriptionLifecycle(period, renewals: renewals, offerRun: offerRun, hasBonus: hasBonus)
    hasHadIntroduction = hasHadIntroduction ?? earlier.0
    hasHadBonus = hasHadBonus ?? earlier.1
  }

  /// Sets the plan of the next renewal, and its offer; one that was redeemed earlier stays where the product does. Renewals
  /// are switched on by that, and there is one at least where an offer waits for it.
  package mutating func schedule(_ plan: SubscriptionPlan, under offer: OfferRun? = nil, renewals: Int) {
    let earlier = plan.product == renewalProduct ? nextOffer : nil
    nextPlan = plan.product == self.plan.product ? nil : plan
    nextOffer = offer ?? earlier
    setAutoRenews(true, renewals: nextOffer == nil ? renewals : max(1, renewals))
  }

  /// Switches renewals on or off. Switching them on gives as many renewals as a new purchase, once they are
  /// used up. After that the reversal of a refund does not switch them on.
  package mutating func setAutoRenews(_ value: Bool, renewals: Int) {
    if value && renewalsLeft == 0 { renewalsLeft = renewals }
    autoRenews = value
    isStoppedByRefund = nil
  }

  /// The period that runs was given back: it is not renewed.
  package mutating func refund() {
    guard phase == .active, autoRenews else { return }
    autoRenews = false
    isStoppedByRefund = true
  }

  /// Takes back the refund: the date of the renewal stands.
  package mutating func reinstate() {
    guard isStoppedByRefund == true else { return }
    isStoppedByRefund = nil
    if phase == .active { autoRenews = true }
  }

  /// Every renewal from now on fails, until ``recover(at:by:)``.
  package mutating func failRenewals() { failsRenewals = true }

  /// Takes the place of an increase that is still to come.
  package mutating func raisePrice(to price: Price, needsConsent: Bool) {
    increase = PriceIncrease(price: price, needsConsent: needsConsent, isAccepted: false)
  }

  /// Nothing happens without an increase.
  package mutating func acceptPriceIncrease() { increase?.isAccepted = true }

  /// The customer's will, and at once. The period ends at `now`, if it had not ended before. It has a second at least, as at every store: one
  /// without any time would have opened what nothing was paid for.
  package mutating func expire(at now: Timestamp) {
    guard phase != .expired else { return }
    expires = min(expires, max(start + .seconds(1), now))
    end(.cancelled)
  }

  /// Puts off the renewal of what runs. Months are counted from the new end from then on.
  package mutating func extend(by duration: Duration) {
    expires = expires + duration
    anniversary = nil
  }

  /// Begins the next period at `date` with all that waits for it: the higher price, the other plan, the
  /// offer. A period that would end after the last date ends the subscription.
  private mutating func renew(at date: Timestamp, by calendar: StoreCalendar) -> Step {
    // The new price is the plan's, and another plan has its own.
    if let increase { plan.price = increase.price }
    if let nextPlan {
      plan = nextPlan
      offerRun = nil
    }
    if let nextOffer { offerRun = nextOffer }
    increase = nil
    nextPlan = nil
    nextOffer = nil
    let run = offerRun
    // What begins anew has an anniversary of its own.
    let day = date == expires || date == pauseEnd ? anniversary : nil
    guard let end = calendar.end(of: run?.period ?? plan.period, from: date, onDay: day) else {
      self.end(.cancelled)
      return .changed
    }
    phase = .active
    pauseEnd = nil
    start = date
    expires = end
    anniversary = StoreCalendar.anniversary(of: date, endingAt: end, before: day)
    renewalsLeft = max(0, renewalsLeft - 1)
    offerRun?.paymentsLeft -= 1
    if offerRun?.paymentsLeft == 0 { offerRun = nil }
    return .renewed(
      Period(plan: plan, start: date, end: end, offer: run?.offer, offerPrice: run?.price))
  }

  /// The plan, the offer and the price of a next renewal stay in the value, and count for nothing.
  private mutating func end(_ intent: ExpirationIntent) {
    phase = .expired
    self.intent = intent
    autoRenews = false
    graceEnd = nil
    retryEnd = nil
    pauseEnd = nil
    pausesNext = nil
  }
}
