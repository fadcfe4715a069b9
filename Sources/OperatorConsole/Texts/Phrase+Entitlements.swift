import Commerce
import Entitlements

/// The rules that speak for and against an entitlement, in words. In English the interface's own sentence says it.
extension EntitlementRule {
  var phrase: Phrase {
    switch self {
    case .purchased: Phrase("It was bought.", "Es wurde gekauft.")
    case .publishedDuringSubscription:
      Phrase("It appeared while a subscription ran.", "Es erschien, während ein Abonnement lief.")
    case .releasedDuringSubscription:
      Phrase(
        "It was dated before, and released while a subscription ran.",
        "Es war früher datiert und wurde freigegeben, während ein Abonnement lief.")
    case .publishedInToleratedGap:
      Phrase(
        "It appeared in a gap that the publication tolerates.",
        "Es erschien in einer Lücke, die die Publikation duldet.")
    case .publishedInPaidGrace:
      Phrase(
        "It appeared in a grace in which the payment came.",
        "Es erschien in einer Nachfrist, in der gezahlt wurde.")
    case .unlockedAtStart:
      Phrase(
        "It was the latest issue when a subscription began.",
        "Es war die neueste Ausgabe, als ein Abonnement begann.")
    case .backIssue:
      Phrase(
        "It is a back issue that the publication gives with a subscription.",
        "Es ist eine ältere Ausgabe, die die Publikation zum Abonnement gibt.")
    case .publishedInGrace:
      Phrase(
        "It appeared in a grace, and the publication gives it.",
        "Es erschien in einer Nachfrist, und die Publikation gibt es.")
    case .grantedBefore:
      Phrase("It was granted for this purchase before.", "Es wurde für diesen Kauf früher bewilligt.")
    case .inGrace: Phrase("The store gives a grace.", "Der Shop gewährt eine Nachfrist.")
    case .inBillingRetry:
      Phrase(
        "The store still tries to charge, and the publication waits.",
        "Der Shop versucht noch abzubuchen, und die Publikation wartet.")
    case .ownedWithApplication:
      Phrase("It came with the application.", "Es gehörte zur gekauften Anwendung.")
    case .notBought: Phrase("Nothing was bought that leads to it.", "Nichts Gekauftes führt dazu.")
    case .notInCatalog:
      Phrase("The catalog has no such product.", "Der Katalog hat dieses Produkt nicht.")
    case .revoked: Phrase("The store took the purchase back.", "Der Shop nahm den Kauf zurück.")
    case .licenseEnded:
      Phrase("The license of a volume purchase is over.", "Die Lizenz eines Sammelkaufs ist zu Ende.")
    case .periodWithoutEnd:
      Phrase(
        "The payment for a subscription names no end.", "Die Zahlung für ein Abonnement nennt kein Ende.")
    case .periodAhead: Phrase("The period begins later.", "Der Zeitraum beginnt später.")
    case .periodOver:
      Phrase("The period of the subscription is over.", "Der Zeitraum des Abonnements ist vorbei.")
    case .graceNotServed:
      Phrase(
        "There is a grace, and the publication gives nothing in it.",
        "Es gibt eine Nachfrist, in der die Publikation nichts gibt.")
    case .billingRetryNotServed:
      Phrase(
        "The store still tries to charge, and the publication does not wait.",
        "Der Shop versucht noch abzubuchen, und die Publikation wartet nicht.")
    case .notYetPublished:
      Phrase("The issue's date is not here yet.", "Das Datum der Ausgabe ist noch nicht da.")
    case .publishedOutsidePeriods:
      Phrase("It appeared while no subscription ran.", "Es erschien, als kein Abonnement lief.")
    case .publishedInUnpaidGrace:
      Phrase(
        "It appeared in a grace that was not paid.",
        "Es erschien in einer Nachfrist, die nicht bezahlt wurde.")
    case .closedByLapse:
      Phrase(
        "The publication closes issues with the subscription.",
        "Die Publikation schließt Ausgaben mit dem Abonnement.")
    case .applicationBoughtLater:
      Phrase(
        "The application was bought too late for it.", "Die Anwendung wurde dafür zu spät gekauft.")
    }
  }
}
