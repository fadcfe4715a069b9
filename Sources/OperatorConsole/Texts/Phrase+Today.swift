/// The page of today.
extension Phrase {
  static let needsAttention = Phrase("What needs attention", "Was Aufmerksamkeit braucht")
  static let nothingToDo = Phrase("Nothing.", "Nichts.")
  static let nothingKnownToDo = Phrase(
    "Nothing, as far as it is known.", "Nichts, soweit es bekannt ist.")
  static let unknownPart = Phrase("{0}: not known now.", "{0}: gerade nicht bekannt.")
  static let urgent = Phrase("Urgent", "Dringend")
  static let waits = Phrase("Waits", "Wartet")
  static let look = Phrase("Look", "Ansehen")
  static let review = Phrase("Review", "Prüfen")
  static let decide = Phrase("Decide", "Entscheiden")
  static let packages = Phrase("Packages", "Pakete")
  static let versions = Phrase("Versions", "Versionen")
  static let irregularPurchases = Phrase("Irregular purchases", "Auffällige Käufe")
  static let packagesDamaged = Phrase(
    "Stored packages that are damaged or missing: {0}.",
    "Gespeicherte Pakete, die beschädigt sind oder fehlen: {0}.")
  static let releasePaused = Phrase(
    "The release of {0} paused itself: too many devices could not verify it.",
    "Die Freigabe von {0} hat sich selbst angehalten: Zu viele Geräte konnten sie nicht prüfen.")
  static let versionWaits = Phrase(
    "{0}, version {1}, waits for a review.", "{0}, Version {1}, wartet auf eine Prüfung.")
  static let productWaits = Phrase("{0} waits for a review.", "{0} wartet auf eine Prüfung.")
  static let storeAway = Phrase(
    "The store {0} does not answer; it last did {1}.", "Der Shop {0} antwortet nicht; zuletzt {1}.")
  static let sinceStart = Phrase("before the server's start", "vor dem Start des Servers")
  static let unacknowledged = Phrase(
    "Purchases that {1} takes back within a day, since they are not delivered: {0}.",
    "Käufe, die {1} binnen eines Tages zurücknimmt, weil sie nicht ausgeliefert sind: {0}.")
  static let callsParked = Phrase(
    "Calls to {1} that are parked until an operator decides: {0}.",
    "Aufrufe an {1}, die geparkt sind, bis jemand entscheidet: {0}.")
  static let manyDevices = Phrase(
    "Customers who were seen with more devices than their store allows: {0}.",
    "Kunden, die mit mehr Geräten gesehen wurden, als ihr Shop erlaubt: {0}.")
  static let manyPayers = Phrase(
    "Customers for whom several store accounts bought within a day: {0}.",
    "Kunden, für die mehrere Shop-Konten binnen eines Tages kauften: {0}.")
  static let namedByMany = Phrase(
    "Customers who were named for purchases of several store accounts: {0}.",
    "Kunden, die bei Käufen mehrerer Shop-Konten genannt wurden: {0}.")
  static let otherAccount = Phrase(
    "Purchases that another account claimed than their own: {0}.",
    "Käufe, die ein fremdes Konto beanspruchte: {0}.")
  static let otherIrregularity = Phrase("Other irregularities: {0}.", "Andere Auffälligkeiten: {0}.")
  static let lastDayAndMonth = Phrase("The last 24 hours and 30 days", "Die letzten 24 Stunden und 30 Tage")
  static let grantsOfDay = Phrase("Grants in 24 hours", "Bewilligungen in 24 Stunden")
  static let bytesOfDay = Phrase("Bytes sent in 24 hours", "Gesendete Bytes in 24 Stunden")
  static let grantsOfMonth = Phrase("Grants in 30 days", "Bewilligungen in 30 Tagen")
  static let bytesOfMonth = Phrase("Bytes sent in 30 days", "Gesendete Bytes in 30 Tagen")
  static let salesOfDay = Phrase("Units today (UTC)", "Stück heute (UTC)")
  static let salesOfMonth = Phrase("Units in 30 days", "Stück in 30 Tagen")
  static let unitsByDay = Phrase("Units sold by day (UTC)", "Verkaufte Stück nach Tag (UTC)")
  static let day = Phrase("Day", "Tag")
  static let units = Phrase("Units", "Stück")
}
