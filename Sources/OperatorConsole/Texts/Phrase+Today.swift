/// The page of today.
extension Phrase {
  static let needsSomebody = Phrase("What needs somebody", "Was jemanden braucht")
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
    "{0} stored packages are damaged or missing.", "{0} gespeicherte Pakete sind beschädigt oder fehlen.")
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
    "{0} purchases that {1} takes back within a day are not delivered.",
    "{0} Käufe, die {1} binnen eines Tages zurücknimmt, sind nicht ausgeliefert.")
  static let callsParked = Phrase(
    "{0} calls to {1} are parked until somebody decides.", "{0} Aufrufe an {1} sind geparkt, bis jemand entscheidet.")
  static let manyDevices = Phrase(
    "{0} customers were seen with more devices than their store allows.",
    "{0} Kunden wurden mit mehr Geräten gesehen, als ihr Shop erlaubt.")
  static let manyPayers = Phrase(
    "{0} times several store accounts bought for one customer within a day.",
    "{0}-mal kauften mehrere Shop-Konten binnen eines Tages für einen Kunden.")
  static let namedByMany = Phrase(
    "{0} times one customer was named for purchases of several store accounts.",
    "{0}-mal wurde ein Kunde bei Käufen mehrerer Shop-Konten genannt.")
  static let otherAccount = Phrase(
    "{0} purchases were claimed by another account than their own.",
    "{0} Käufe wurden von einem fremden Konto beansprucht.")
  static let otherIrregularity = Phrase("{0} other irregularities.", "{0} andere Auffälligkeiten.")
  static let lastDayAndMonth = Phrase("The last 24 hours and 30 days", "Die letzten 24 Stunden und 30 Tage")
  static let grantsOfDay = Phrase("Grants in 24 hours", "Bewilligungen in 24 Stunden")
  static let bytesOfDay = Phrase("Bytes delivered for them", "Dafür ausgelieferte Bytes")
  static let salesOfDay = Phrase("Units today (UTC)", "Stück heute (UTC)")
  static let salesOfMonth = Phrase("Units in 30 days", "Stück in 30 Tagen")
  static let unitsByDay = Phrase("Units sold by day (UTC)", "Verkaufte Stück nach Tag (UTC)")
  static let day = Phrase("Day", "Tag")
  static let units = Phrase("Units", "Stück")
}
