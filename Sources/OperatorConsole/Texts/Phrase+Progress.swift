/// How deliveries and releases go.
extension Phrase {
  static let howDeliveriesGo = Phrase("How the deliveries go", "Wie die Lieferungen laufen")
  static let progress = Phrase("How it goes", "Verlauf")
  static let progressWaiting = Phrase("waiting", "wartet")
  static let progressFetching = Phrase("under way", "unterwegs")
  static let progressStuck = Phrase("stuck: no byte for 10 minutes", "steckt: seit 10 Minuten kein Byte")
  static let progressUnverified = Phrase(
    "failed: the content is not what its manifest says",
    "gescheitert: Der Inhalt ist nicht, was sein Manifest sagt")
  static let revokedBeforePlaced = Phrase(
    "revoked before it was placed", "widerrufen, bevor es abgelegt war")
  static let failures = Phrase("Failures by reason and application", "Fehlschläge nach Grund und Anwendung")
  static let noFailures = Phrase("Nothing fails.", "Nichts schlägt fehl.")
  static let failuresOfNewest = Phrase(
    "There are more: these are among the newest {0}.", "Es gibt mehr: Dies sind die unter den neuesten {0}.")
  static let noneAmongThese = Phrase(
    "There are none among those of this page; the next may have some.",
    "Unter denen dieser Seite sind keine; die nächste kann welche haben.")
  static let notTold = Phrase("not told", "nicht genannt")
  static let grants = Phrase("Grants", "Bewilligungen")
  static let newestOfThem = Phrase("The newest of them", "Die neueste davon")
  static let lastByte = Phrase("Last byte", "Letztes Byte")

  static let releaseNamed = Phrase("Release of {0} {1}", "Freigabe von {0} {1}")
  static let releaseMore = Phrase(
    "What fails, when it pauses itself, further and back",
    "Was fehlschlägt, wann sie sich anhält, weiter und zurück")
  static let devicesThatHaveIt = Phrase("Devices that have it: {0}.", "Geräte, die sie haben: {0}.")
  static let courseOfSome = Phrase("There are more: these are some.", "Es gibt mehr: Dies sind einige.")
  static let pausing = Phrase("When it pauses itself", "Wann sie sich anhält")
  static let pauseRule = Phrase(
    "It pauses itself once the devices of more than {0} of the purchases could not verify it, of at least {1}.",
    "Sie hält sich an, sobald die Geräte von mehr als {0} der Käufe sie nicht prüfen konnten, von mindestens {1}."
  )
  static let pauseStanding = Phrase(
    "Purchases whose devices could not: {0}, of those looked at: {1}.",
    "Käufe, deren Geräte es nicht konnten: {0}, von den betrachteten: {1}.")
  static let neverPauses = Phrase("It never does.", "Sie tut es nie.")
  static let raiseShare = Phrase("Raise the share", "Den Anteil erhöhen")
  static let goBack = Phrase("Go back", "Zurück")
  static let goBackTo = Phrase("Release {0} to all again", "{0} wieder für alle freigeben")
  static let goBackConsequence = Phrase(
    "All devices are offered {0} again, and {1} no more. What was placed already stays there.",
    "Allen Geräten wird wieder {0} angeboten, und {1} nicht mehr. Was schon abgelegt ist, bleibt dort.")
}
