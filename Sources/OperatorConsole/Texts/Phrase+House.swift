/// Money and the house.
extension Phrase {
  static let fromDay = Phrase("From (UTC)", "Von (UTC)")
  static let toDay = Phrase("To (UTC)", "Bis (UTC)")
  static let environment = Phrase("Environment", "Umgebung")
  static let by = Phrase("By", "Nach")
  static let paid = Phrase("Paid and given back", "Gezahlt und erstattet")
  static let soldUnits = Phrase("Sold", "Verkauft")
  static let asCSV = Phrase("The same as CSV", "Dasselbe als CSV")
  static let nothingPaid = Phrase("Nothing was paid.", "Es wurde nichts gezahlt.")
  static let nothingSold = Phrase("Nothing was sold.", "Es wurde nichts verkauft.")
  static let sales = Phrase("Sales", "Verkäufe")
  static let soldFor = Phrase("Sold for", "Erlös")
  static let refunds = Phrase("Refunds", "Erstattungen")
  static let givenBack = Phrase("Given back", "Erstattet")
  static let withoutPrice = Phrase(
    "Of {0} further transactions the store told no price.",
    "Von {0} weiteren Transaktionen nannte der Shop keinen Preis.")
  static let moreRows = Phrase(
    "{0} of {1} rows; the file has all.", "{0} von {1} Zeilen; die Datei hat alle.")
  static let whatIsCounted = Phrase("What is counted", "Was gezählt wird")
  static let newSubscribers = Phrase("New subscribers", "Neue Abonnenten")
  static let lapsed = Phrase("Lapsed", "Abgelaufen")
  static let active = Phrase("Active at the end", "Am Ende laufend")

  static let server = Phrase("The server", "Der Server")
  static let program = Phrase("Version", "Version")
  static let node = Phrase("Node", "Knoten")
  static let started = Phrase("Started", "Gestartet")
  static let room = Phrase("Room on its disk", "Platz auf seiner Platte")
  static let freeOf = Phrase("{0} free of {1}", "{0} frei von {1}")
  static let lastBackup = Phrase("Last backup", "Letzte Sicherung")
  static let neverBackedUp = Phrase("never", "nie")
  static let certificateEnds = Phrase("Its certificate ends", "Sein Zertifikat endet")
  static let diskFilling = Phrase(
    "The disk is filling up: {0} of {1} are free.", "Die Platte läuft voll: {0} von {1} sind frei.")
  static let certificateEnding = Phrase("The certificate ends: {0}.", "Das Zertifikat endet: {0}.")
  static let backupOld = Phrase(
    "There is no backup of the last two days; the last one: {0}.",
    "Aus den letzten zwei Tagen gibt es keine Sicherung; die letzte: {0}.")
  static let packagesRead = Phrase(
    "{0} packages; {1} are still to be read in this round.",
    "{0} Pakete; {1} sind in dieser Runde noch zu lesen.")
  static let allWhole = Phrase("all are whole", "alle sind heil")
  static let damagedPackages = Phrase(
    "Packages that cannot be delivered", "Pakete, die nicht ausgeliefert werden können")
  static let fault = Phrase("Fault", "Fehler")
  static let faultMissing = Phrase("missing", "fehlt")
  static let faultDamaged = Phrase("damaged", "beschädigt")
  static let scrubNow = Phrase("Read all packages now", "Alle Pakete jetzt lesen")
  static let collection = Phrase("What nothing needs", "Was nichts mehr braucht")
  static let collectionPlan = Phrase(
    "{0} packages and {1} uploads would be removed, {2} in all; {3} more packages are not unneeded for long enough.",
    "{0} Pakete und {1} Uploads würden entfernt, zusammen {2}; {3} weitere Pakete sind noch nicht lange genug unnötig."
  )
  static let collectNow = Phrase("Remove them for good", "Endgültig entfernen")
  static let uploadsLeft = Phrase("Uploads that are kept", "Aufbewahrte Uploads")
  static let noUploads = Phrase("There are none.", "Es gibt keine.")
  static let file = Phrase("File", "Datei")
  static let arrived = Phrase("Arrived", "Angekommen")
  static let begun = Phrase("Begun", "Begonnen")
  static let forgotten = Phrase("Forgotten", "Vergessen")
  static let configurationInEffect = Phrase("Configuration in effect", "Geltende Konfiguration")
  static let configurationKey = Phrase("Key", "Schlüsselwort")
  static let value = Phrase("Value", "Wert")
  static let origin = Phrase("Comes from", "Kommt aus")
  static let originDefault = Phrase("the default", "der Vorgabe")
  static let secretSet = Phrase("set, and not shown", "gesetzt und nicht gezeigt")
  static let waitsForRestart = Phrase(
    "another value counts from the next start on", "ein anderer Wert gilt ab dem nächsten Start")
  static let keysNotSet = Phrase(
    "Further keys that are not set: {0}.", "Weitere Schlüsselwörter, die nicht gesetzt sind: {0}.")
  static let noticeScrubbing = Phrase("All packages are read again.", "Alle Pakete werden neu gelesen.")
  static let noticeCollected = Phrase("What nothing needed is removed.", "Was nichts brauchte, ist entfernt.")
}
