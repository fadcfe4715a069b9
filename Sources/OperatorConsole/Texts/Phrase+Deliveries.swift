/// Deliveries, customers, stores and the audit log.
extension Phrase {
  static let product = Phrase("Product", "Produkt")
  static let version = Phrase("Version", "Version")
  static let transaction = Phrase("Transaction", "Transaktion")
  static let transactionOrOrder = Phrase("Transaction or order", "Transaktion oder Bestellung")
  static let device = Phrase("Device", "Gerät")
  static let store = Phrase("Store", "Shop")
  static let state = Phrase("State", "Zustand")
  static let grant = Phrase("Grant", "Bewilligung")
  static let grantNamed = Phrase("Grant {0}", "Bewilligung {0}")
  static let delivered = Phrase("Delivered", "Ausgeliefert")
  static let granted = Phrase("Granted", "Bewilligt")
  static let noDeliveries = Phrase("There are no such deliveries.", "Solche Lieferungen gibt es nicht.")
  static let stateGranted = Phrase("granted", "bewilligt")
  static let stateCompleted = Phrase("placed", "abgelegt")
  static let stateFinished = Phrase("finished", "abgeschlossen")
  static let stateRevoked = Phrase("revoked", "widerrufen")
  static let unconfirmedSince = Phrase("Not confirmed by its store since", "Vom Shop nicht bestätigt seit")
  static let steps = Phrase("Steps", "Schritte")
  static let step = Phrase("Step", "Schritt")
  static let when = Phrase("When", "Wann")
  static let why = Phrase("Why", "Warum")
  static let revoke = Phrase("Revoke", "Widerrufen")
  static let reinstate = Phrase("Reinstate", "Wieder einsetzen")
  static let revokeTitle = Phrase("Revoke the grant {0}?", "Die Bewilligung {0} widerrufen?")
  static let reinstateTitle = Phrase("Reinstate the grant {0}?", "Die Bewilligung {0} wieder einsetzen?")
  static let revokeConsequence = Phrase(
    "1 device, {0}, may fetch {1} no more: its running download ends within a second. It has been sent {2}; what it has placed already stays there.",
    "1 Gerät, {0}, darf {1} nicht mehr holen: Sein laufender Download endet binnen einer Sekunde. Ihm wurden {2} gesendet; was es schon abgelegt hat, bleibt dort."
  )
  static let reinstateConsequence = Phrase(
    "1 device, {0}, may fetch {1} again.", "1 Gerät, {0}, darf {1} wieder holen.")
  static let revokeAll = Phrase("Revoke all of them", "Alle widerrufen")
  static let revokeAllTitle = Phrase("Revoke all grants of {0}?", "Alle Bewilligungen von {0} widerrufen?")
  static let revokeAllConsequence = Phrase(
    "Grants that end: {0}, on devices: {1}; downloads among them that have begun: {2}. What was placed already stays there.",
    "Bewilligungen, die enden: {0}, auf Geräten: {1}; begonnene Downloads darunter: {2}. Was schon abgelegt ist, bleibt dort."
  )
  static let onlyTheNewest = Phrase(
    "There are more: these are of the newest 1,000.", "Es gibt mehr: Dies sind die der neuesten 1.000.")
  static let noticeRevoked = Phrase("It is revoked.", "Es ist widerrufen.")
  static let noticeReinstated = Phrase("The grant is reinstated.", "Die Bewilligung ist wieder eingesetzt.")

  static let customerHint = Phrase(
    "A customer is found by a transaction or an order of a store, or by a device; with a product it is explained why it may be had or not.",
    "Einen Kunden findet man über eine Transaktion oder Bestellung eines Shops oder über ein Gerät; mit einem Produkt wird erklärt, warum er es haben darf oder nicht."
  )
  static let explainHint = Phrase("May be left out.", "Kann leer bleiben.")
  static let mayHave = Phrase("May {0} be had?", "Darf man {0} haben?")
  static let mayBeHad = Phrase("yes", "ja")
  static let mayNotBeHad = Phrase("no", "nein")
  static let until = Phrase("until", "bis")
  static let because = Phrase("Because", "Weil")
  static let against = Phrase("Against it", "Dagegen")
  static let customersLookedAt = Phrase("Customers looked at", "Betrachtete Kunden")
  static let withoutEnd = Phrase("without an end", "ohne Ende")
  static let grantsOfCustomer = Phrase("What was granted", "Was bewilligt wurde")
  static let whyEach = Phrase("Explain why each may be had:", "Erklären, warum jedes zu haben ist:")

  static let howStoresStand = Phrase("How the stores stand", "Wie es um die Shops steht")
  static let answers = Phrase("answers", "antwortet")
  static let away = Phrase("away", "fort")
  static let kind = Phrase("Kind", "Art")
  static let lastAnswer = Phrase("Last answer", "Letzte Antwort")
  static let lastFailure = Phrase("Last failure", "Letzter Fehlschlag")
  static let notSinceStart = Phrase("not since the server's start", "nicht seit dem Start des Servers")
  static let lastNotification = Phrase("Last notification", "Letzte Mitteilung")
  static let callsWaitingLabel = Phrase("Calls that wait", "Wartende Aufrufe")
  static let callsParkedLabel = Phrase("Calls that are parked", "Geparkte Aufrufe")
  static let oldestCall = Phrase("The oldest of them", "Der älteste davon")
  static let unacknowledgedLabel = Phrase("Purchases not acknowledged", "Nicht bestätigte Käufe")
  static let nextAcknowledgement = Phrase("The first is taken back", "Der erste wird zurückgenommen")
  static let calls = Phrase("Calls to the stores", "Aufrufe an die Shops")
  static let call = Phrase("Call", "Aufruf")
  static let callNumber = Phrase("Call {0}", "Aufruf {0}")
  static let attempts = Phrase("Attempts", "Versuche")
  static let lastError = Phrase("Last error", "Letzter Fehler")
  static let noCalls = Phrase("There are no such calls.", "Solche Aufrufe gibt es nicht.")
  static let callWaiting = Phrase("waits", "wartet")
  static let callParked = Phrase("parked", "geparkt")
  static let callDone = Phrase("done", "erledigt")
  static let callDropped = Phrase("dropped", "fallengelassen")
  static let retryChosen = Phrase("Retry the chosen calls", "Gewählte Aufrufe wiederholen")
  static let dropChosen = Phrase("Drop the chosen calls", "Gewählte Aufrufe fallen lassen")
  static let reasonOfDrop = Phrase("Reason for dropping", "Grund fürs Fallenlassen")
  static let dropQuestion = Phrase("Drop these calls?", "Diese Aufrufe fallen lassen?")
  static let dropConsequence = Phrase(
    "Calls that are made no more: {0}. Their store goes on to hold the transactions for unfinished.",
    "Aufrufe, die nicht mehr gemacht werden: {0}. Ihr Shop hält die Transaktionen weiter für unerledigt.")
  static let chooseCalls = Phrase("Choose at least one call.", "Wählen Sie mindestens einen Aufruf.")
  static let noticeRetried = Phrase(
    "The calls are made again at once.", "Die Aufrufe werden sofort wieder gemacht.")
  static let noticeDropped = Phrase("The calls are dropped.", "Die Aufrufe sind fallengelassen.")

  static let actor = Phrase("Who", "Wer")
  static let action = Phrase("What", "Was")
  static let actionHint = Phrase("As version.release", "Wie version.release")
  static let subject = Phrase("Subject", "Gegenstand")
  static let detail = Phrase("Detail", "Näheres")
  static let since = Phrase("Since", "Von")
  static let untilDay = Phrase("Before", "Vor dem")
  static let noEntries = Phrase("There are no such entries.", "Solche Einträge gibt es nicht.")
}
