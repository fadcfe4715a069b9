import CoreTypes

extension EntitlementFinding {
  /// The finding for people, in English; dates are in UTC.
  public var sentence: String {
    switch rule {
    case .purchased: "It was bought\(span(prefix: ", for the time "))\(end(", and the license ends "))."
    case .publishedDuringSubscription: "It appeared while a subscription ran\(span(prefix: ": "))."
    case .releasedDuringSubscription:
      "Its date is earlier, and it was released while a subscription ran\(span(prefix: ": "))."
    case .publishedInToleratedGap:
      "It appeared between two periods, in a gap that the publication tolerates\(span(prefix: ": "))."
    case .publishedInPaidGrace:
      "It appeared before a late payment, which came in the grace\(span(prefix: ": "))."
    case .unlockedAtStart: "It was the latest issue when a subscription began\(span(prefix: ": "))."
    case .backIssue: "The publication gives it to subscribers who begin after it\(span(prefix: ": "))."
    case .publishedInGrace: "It appeared in a grace, which the publication counts in\(span(prefix: ": "))."
    case .grantedBefore: "It was granted for this transaction before."
    case .inGrace: "The payment is late, and there is a grace\(span(prefix: ": "))."
    case .inBillingRetry: "The store still tries to charge, and the publication waits\(span(prefix: ": "))."
    case .ownedWithApplication: "The application was bought before it was sold otherwise."
    case .applicationBoughtLater: "The application was bought too late to own it with."
    case .notBought: "Nothing was bought that leads to it."
    case .notInCatalog: "The catalog has no such product."
    case .revoked: "The store took the purchase back\(end(" on "))."
    case .licenseEnded: "The license of the volume purchase ended\(end(" on "))."
    case .periodWithoutEnd: "The store told no end of what was paid for."
    case .periodAhead: "What was paid for begins later\(span(prefix: ": "))."
    case .periodOver: "The period that was paid for is over\(span(prefix: ": "))."
    case .graceNotServed: "There is a grace, in which the publication gives nothing\(span(prefix: ": "))."
    case .billingRetryNotServed:
      "The store still tries to charge, and the publication does not wait\(span(prefix: ": "))."
    case .notYetPublished: "The issue appears later\(end(", on "))."
    case .publishedOutsidePeriods: "It appeared while no subscription ran; the nearest\(span(prefix: ": "))."
    case .publishedInUnpaidGrace:
      "It appeared in a grace, whose issues open only with a payment made in it\(span(prefix: ": "))."
    case .closedByLapse: "The publication closes its issues when a subscription ends\(end(": it ended on "))."
    }
  }

  private func span(prefix: String) -> String {
    guard let period else { return "" }
    return "\(prefix)\(period.start) to \(period.end.map { "\($0)" } ?? "no end")"
  }

  private func end(_ prefix: String) -> String {
    // A period says its end itself.
    guard let until, period == nil || !rule.isInFavor else { return "" }
    return "\(prefix)\(until)"
  }
}
