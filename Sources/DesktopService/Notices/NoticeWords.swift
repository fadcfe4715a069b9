/// The words of notices in the reader's language: German for `de`, English for all others.
public struct NoticeWords: Hashable, Sendable {
  private let isGerman: Bool

  /// The language of a locale as `LANG` has it, such as `de_DE.UTF-8`.
  public init(locale: String) {
    isGerman = locale == "de" || locale.hasPrefix("de_") || locale.hasPrefix("de-") || locale.hasPrefix("de.")
  }

  private func choose(_ english: String, _ german: String) -> String { isGerman ? german : english }

  var issueReady: String { choose("A new issue is here.", "Eine neue Ausgabe ist da.") }
  var correctionReady: String { choose("A corrected version is here.", "Eine korrigierte Fassung ist da.") }
  var downloaded: String { choose("It is downloaded.", "Es ist heruntergeladen.") }
  /// More than one that came; `withCorrections` where some of them were there before.
  func manyReady(_ count: Int, withCorrections: Bool) -> String {
    withCorrections
      ? choose(
        "\(count) new or corrected issues are here", "\(count) neue oder korrigierte Ausgaben sind da")
      : choose("\(count) new issues are here", "\(count) neue Ausgaben sind da")
  }
  var waitsForRoom: String {
    choose("It waits for room on this device.", "Es wartet auf Platz auf diesem Gerät.")
  }
  var waitsForWindow: String {
    choose(
      "It waits for a time when downloads may run.",
      "Es wartet auf eine Zeit, in der Downloads laufen dürfen.")
  }
  var waitsForBudget: String {
    choose(
      "It waits for the next budget: what may be downloaded now is spent.",
      "Es wartet auf das nächste Budget: Was jetzt heruntergeladen werden darf, ist verbraucht.")
  }
  /// `device` is the metered way's name as a text of others; nil where it is not told.
  func waitsForUnmetered(_ device: String?) -> String {
    let device = device.map { " (\($0))" } ?? ""
    return choose(
      "It waits for a network that is not metered\(device).",
      "Es wartet auf ein Netz ohne Volumenbegrenzung\(device).")
  }
  var waitsForPower: String {
    choose(
      "It waits for the battery to be charged, or for the mains.",
      "Es wartet, bis der Akku geladen ist oder Netzstrom da ist.")
  }
  var waitsForLogIn: String {
    choose(
      "The network wants a log-in: open a page in the browser.",
      "Das Netz verlangt eine Anmeldung: Öffnen Sie eine Seite im Browser.")
  }
  /// So many downloads wait for the same kind of thing.
  func manyWait(_ count: Int, for wait: Wait) -> String {
    switch wait {
    case .room:
      choose(
        "\(count) downloads wait for room on this device",
        "\(count) Downloads warten auf Platz auf diesem Gerät")
    case .limits:
      choose(
        "\(count) downloads wait for a network, a time or a budget that lets them",
        "\(count) Downloads warten auf ein Netz, eine Zeit oder ein Budget dafür")
    case .power:
      choose(
        "\(count) downloads wait for the battery or the mains",
        "\(count) Downloads warten auf Akku oder Netzstrom")
    case .logIn:
      choose(
        "\(count) downloads wait for a log-in to the network",
        "\(count) Downloads warten auf eine Anmeldung am Netz")
    }
  }
  var awaitsApproval: String { choose("It waits for an approval.", "Es wartet auf eine Genehmigung.") }
  var approved: String { choose("It was approved.", "Es wurde genehmigt.") }
  var paymentDeclined: String { choose("The payment was declined.", "Die Zahlung wurde abgelehnt.") }
  var subscriptionEnds: String { choose("The subscription ends soon.", "Das Abonnement endet bald.") }
  var subscriptionEnded: String { choose("The subscription has ended.", "Das Abonnement ist beendet.") }
  func newPrice(_ price: String, consent: Bool) -> String {
    consent
      ? choose(
        "It is to cost \(price), and ends unless you agree.",
        "Es soll \(price) kosten und endet, wenn Sie nicht zustimmen."
      ) : choose("It is to cost \(price).", "Es kostet künftig \(price).")
  }
  func buyQuestion(_ price: String) -> String {
    choose("Buy it for \(price)?", "Für \(price) kaufen?")
  }
  var alreadyHeld: String { choose("You have it already.", "Sie haben es bereits.") }
  var notForSale: String { choose("It is not for sale here.", "Es wird hier nicht verkauft.") }
  var restoreTitle: String { choose("Fetch what you own?", "Erneut laden, was Ihnen gehört?") }
  var restoreQuestion: String {
    choose(
      "Everything that was bought and is not on this device is downloaded.",
      "Alles Gekaufte, das nicht auf diesem Gerät ist, wird heruntergeladen.")
  }
  var notHere: String { choose("It is not on this device.", "Es ist nicht auf diesem Gerät.") }
  var noReader: String {
    choose("No program on this device opens it.", "Kein Programm auf diesem Gerät öffnet es.")
  }
  var refused: String { choose("The agent has refused that.", "Der Agent hat das abgelehnt.") }

  /// The words on an action's button.
  public func label(_ action: Notice.Action) -> String {
    switch action {
    case .read: choose("Read", "Lesen")
    case .later: choose("Later", "Später")
    case .downloadAnyway: choose("Download anyway", "Trotzdem herunterladen")
    case .makeRoom: choose("Make room", "Platz schaffen")
    case .buy: choose("Buy", "Kaufen")
    case .restore: choose("Download", "Herunterladen")
    }
  }
}
