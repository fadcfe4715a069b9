// Purchases, and the prices of subscriptions.
extension NotificationPlan {
  mutating func process(_ name: AgentObject, _ title: String, _ reason: String, _ step: String) {
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

  /// Each price is told once. One that no agent has among its prices any more was agreed to, or is not to come: its notice goes.
  mutating func process(_ new: [NewPrice], at place: AgentPlace) {
    let before = prices[place] ?? [:]
    let told = prices.values.flatMap(\.values)
    prices[place] = Dictionary(new.prefix(Self.bound).map { ($0.product, $0) }) { $1 }
    for price in (prices[place] ?? [:]).values
    where !told.contains(where: {
      $0.product == price.product && $0.price == price.price && $0.needsConsent == price.needsConsent
    }) {
      put(
        Notice(
          .price(price.product), Notice.text(price.title),
          words.newPrice(Notice.quoted(price.price), consent: price.needsConsent),
          isQuestion: price.needsConsent))
    }
    for product in before.keys where !prices.values.contains(where: { $0[product] != nil }) {
      notices[.price(product)] = nil
    }
  }
}
