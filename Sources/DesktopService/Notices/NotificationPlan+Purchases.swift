// Purchases, and the prices of subscriptions.
extension NotificationPlan {
  mutating func process(
    purchase name: AgentObject, title: String, reason: String, step: String
  ) {
    let subject = Notice.Subject.transaction(name)
    let title = Notice.text(title)
    switch (reason, step) {
    case ("awaiting-approval", _):
      guard awaiting.count < Self.bound, awaiting.insert(name).inserted else { return }
      put(Notice(subject, title, words.awaitsApproval))
    case ("payment-failed", _):
      awaiting.remove(name)
      put(Notice(subject, title, words.paymentDeclined))
    default:
      guard awaiting.remove(name) != nil else { return }
      notices[subject] = nil
      if step != "failed" { put(Notice(subject, title, words.approved)) }
    }
  }

  /// Each of the last ``maximumToldPrices`` prices is told once, whatever agents said meanwhile. One that no agent has among its prices any
  /// more was agreed to, or is not to come: its notice goes. So does that of one in whose place an agent says an earlier one.
  mutating func process(_ new: [NewPrice], at place: AgentPlace) {
    let before = prices[place] ?? [:]
    let now = Dictionary(new.prefix(Self.bound).map { ($0.product, $0) }) { $1 }
    prices[place] = now
    for price in now.values {
      let told = ToldPrice(price)
      guard !toldPrices.contains(told) else {
        if let former = before[price.product], ToldPrice(former) != told,
          notices[.price(price.product)]?.body == notice(of: former).body
        {
          notices[.price(price.product)] = nil
        }
        continue
      }
      if toldPrices.count == Self.maximumToldPrices { toldPrices.removeFirst() }
      toldPrices.append(told)
      put(notice(of: price))
    }
    for product in before.keys where !prices.values.contains(where: { $0[product] != nil }) {
      notices[.price(product)] = nil
    }
  }

  private func notice(of price: NewPrice) -> Notice {
    Notice(
      .price(price.product), Notice.text(price.title),
      words.newPrice(Notice.quoted(price.price), consent: price.needsConsent), isQuestion: price.needsConsent)
  }
}
