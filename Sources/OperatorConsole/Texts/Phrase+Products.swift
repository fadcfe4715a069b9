/// Products, publications and versions.
extension Phrase {
  static let title = Phrase("Title", "Titel")
  static let description = Phrase("Description", "Beschreibung")
  static let publication = Phrase("Publication", "Publikation")
  static let identifier = Phrase("Identifier", "Kennung")
  static let sale = Phrase("Sale", "Verkauf")
  static let hasVersion = Phrase("Has a version that is", "Hat eine Version, die … ist")
  static let nextDate = Phrase("Next date", "Nächster Termin")
  static let released = Phrase("Released", "Freigegeben")
  static let noProducts = Phrase("There are no such products.", "Solche Produkte gibt es nicht.")
  static let uploadPackage = Phrase("Upload a package", "Paket hochladen")
  static let saleDraft = Phrase("draft", "Entwurf")
  static let saleSubmitted = Phrase("submitted", "eingereicht")
  static let saleRejected = Phrase("rejected", "zurückgewiesen")
  static let saleCleared = Phrase("for sale", "im Verkauf")
  static let saleWithdrawn = Phrase("off sale", "nicht im Verkauf")
  static let versionDraft = Phrase("draft", "Entwurf")
  static let versionSubmitted = Phrase("submitted", "eingereicht")
  static let versionApproved = Phrase("approved", "genehmigt")
  static let versionRejected = Phrase("rejected", "zurückgewiesen")
  static let versionReleased = Phrase("released", "freigegeben")
  static let versionSuperseded = Phrase("superseded", "abgelöst")
  static let versionWithdrawn = Phrase("withdrawn", "zurückgezogen")
  static let typeConsumable = Phrase("consumable", "Verbrauchsartikel")
  static let typeNonConsumable = Phrase("single issue", "Einzelheft")
  static let typeAutoRenewable = Phrase("subscription that renews", "Abonnement mit Verlängerung")
  static let typeNonRenewing = Phrase("subscription that ends", "Abonnement mit Ende")
  static let typeFree = Phrase("free subscription", "kostenloses Abonnement")

  static let submit = Phrase("Submit for review", "Zur Prüfung einreichen")
  static let approve = Phrase("Approve", "Genehmigen")
  static let reject = Phrase("Reject", "Zurückweisen")
  static let takeOffSale = Phrase("Take off sale", "Aus dem Verkauf nehmen")
  static let release = Phrase("Release", "Freigeben")
  static let cancelRelease = Phrase("Cancel the planned release", "Geplante Freigabe absagen")
  static let withdraw = Phrase("Withdraw for good", "Endgültig zurückziehen")
  static let typedNameDiffers = Phrase(
    "The name that was typed is another one.", "Der eingegebene Name ist ein anderer.")
  static let typeName = Phrase("Type {0} to confirm", "Zur Bestätigung {0} eingeben")
  static let offSaleConsequence = Phrase(
    "It is taken from all lists at once. Those who bought it keep what they own.",
    "Es verschwindet sofort aus allen Listen. Wer es gekauft hat, behält, was ihm gehört.")
  static let coverOf = Phrase("Cover of {0}", "Titelbild von {0}")
  static let cover = Phrase("Cover", "Titelbild")
  static let publicationDate = Phrase("Date of the issue", "Datum der Ausgabe")
  static let availableFrom = Phrase("For sale from", "Im Verkauf von")
  static let availableUntil = Phrase("For sale until", "Im Verkauf bis")
  static let application = Phrase("Application", "Anwendung")
  static let changed = Phrase("Changed", "Geändert")
  static let texts = Phrase("Texts", "Texte")
  static let clearedForAll = Phrase("For sale to all devices", "Für alle Geräte im Verkauf")
  static let submittedBy = Phrase("Submitted by", "Eingereicht von")
  static let approvedBy = Phrase("Approved by", "Genehmigt von")
  static let decidedBy = Phrase("Decided by", "Entschieden von")
  static let notes = Phrase("Notes", "Anmerkungen")
  static let noVersions = Phrase("Nothing of it was uploaded.", "Davon wurde nichts hochgeladen.")
  static let releasedTo = Phrase("Released to", "Freigegeben für")
  static let size = Phrase("Size", "Größe")
  static let created = Phrase("Uploaded", "Hochgeladen")
  static let prices = Phrase("Prices", "Preise")
  static let price = Phrase("Price", "Preis")
  static let priceTier = Phrase("Price tier", "Preisstufe")
  static let freeEverywhere = Phrase("Free everywhere.", "Überall kostenlos.")
  static let byTierAlone = Phrase(
    "Every territory has the price of the tier.", "Jedes Gebiet hat den Preis der Stufe.")
  static let free = Phrase("free", "kostenlos")
  static let territory = Phrase("Territory", "Gebiet")
  static let territoryHint = Phrase("Three letters, as FRA", "Drei Buchstaben, wie FRA")
  static let territories = Phrase("Territories", "Gebiete")
  static let territoriesHint = Phrase("Three letters each, as FRA, DEU", "Je drei Buchstaben, wie FRA, DEU")
  static let languages = Phrase("Languages", "Sprachen")
  static let localesHint = Phrase("As fr-FR, de-DE", "Wie fr-FR, de-DE")
  static let noneNamed = Phrase("none named", "ohne Angabe")
  static let firstLooks = Phrase("The first {0} pairs.", "Die ersten {0} Paare.")
  static let listOrder = Phrase("Order", "Reihenfolge")
  static let byIdentifier = Phrase("by identifier", "nach Kennung")
  static let latestChangeFirst = Phrase("latest change first", "letzte Änderung zuerst")
  static let asCounted = Phrase("by what is counted", "nach dem, was gezählt wird")
  static let mostUnitsFirst = Phrase("most units first", "meiste Stück zuerst")
  static let mostRefundsFirst = Phrase("most refunds first", "meiste Erstattungen zuerst")
  static let shopWindow = Phrase("What an application sees", "Was eine Anwendung sieht")
  static let notForSaleThere = Phrase("It is not for sale there.", "Dort ist es nicht im Verkauf.")
  static let history = Phrase("History", "Verlauf")
  static let meanwhile = Phrase("Meanwhile:", "Inzwischen:")

  static let versionNamed = Phrase("{0}, version {1}", "{0}, Version {1}")
  static let scheduled = Phrase("Planned release", "Geplante Freigabe")
  static let downloadsStopped = Phrase("Downloads stopped", "Downloads angehalten")
  static let filesOf = Phrase("{0} files", "{0} Dateien")
  static let digest = Phrase("Digest", "Prüfsumme")
  static let nextStep = Phrase("What may be done", "Was getan werden kann")
  static let share = Phrase("Share of the devices, in percent", "Anteil der Geräte in Prozent")
  static let shareHint = Phrase(
    "A number from 1 to 100; the others keep the version before.",
    "Eine Zahl von 1 bis 100; die anderen behalten die Version davor.")
  static let releaseAt = Phrase("At a later time (UTC)", "Zu einer späteren Zeit (UTC)")
  static let atHint = Phrase(
    "As 2026-12-24 08:00; empty for at once.", "Wie 2026-12-24 08:00; leer für sofort.")
  static let releaseConsequence = Phrase(
    "Devices that hold another version: {0}. With 100 % they would fetch {1} together.",
    "Geräte mit anderer Version: {0}. Mit 100 % würden sie zusammen {1} holen.")
  static let withdrawConsequence = Phrase(
    "Devices that have it: {0}. Devices that fetch it, or may: {1}. It is granted no more and does not come back.",
    "Geräte, die sie haben: {0}. Geräte, die sie holen oder es dürfen: {1}. Sie wird nicht mehr bewilligt und kommt nicht wieder."
  )
  static let stopDownloads = Phrase(
    "Also end the downloads that run", "Auch laufende Downloads beenden")
  static let updateSizes = Phrase(
    "Devices by the version that they have, and what this one costs them",
    "Geräte nach der Version, die sie haben, und was diese sie kostet")
  static let noHolders = Phrase(
    "No device holds a version; a new one fetches {0}.", "Kein Gerät hat eine Version; ein neues holt {0}.")
  static let heldVersion = Phrase("Held version", "Vorhandene Version")
  static let devices = Phrase("Devices", "Geräte")
  static let toFetchEach = Phrase("To fetch, each", "Zu holen, je Gerät")
  static let filesChanged = Phrase("Files changed", "Dateien geändert")
  static let filesAdded = Phrase("added", "hinzugefügt")
  static let filesRemoved = Phrase("removed", "entfernt")
  static let pictures = Phrase("Pictures", "Bilder")
  static let course = Phrase("How the release goes", "Wie die Freigabe läuft")
  static let noCourse = Phrase("It was granted to no device yet.", "Sie wurde noch keinem Gerät bewilligt.")
  static let placedOverTime = Phrase(
    "Devices that have it, over time", "Geräte, die sie haben, im Lauf der Zeit")
  static let noPublications = Phrase("No publication is described.", "Keine Publikation ist beschrieben.")
  static let notDescribed = Phrase(
    "This publication has no description of its own.", "Diese Publikation hat keine eigene Beschreibung.")
  static let order = Phrase("Place in lists", "Platz in Listen")
  static let issues = Phrase("Issues and subscriptions", "Ausgaben und Abonnements")
  static let keepsIssues = Phrase("Issues stay open after a lapse", "Ausgaben bleiben nach Ablauf offen")
  static let latestIssue = Phrase(
    "The latest issue is opened at the start", "Zu Beginn öffnet sich die neueste Ausgabe")
  static let backIssues = Phrase("Back issues opened at the start", "Zu Beginn geöffnete ältere Ausgaben")
  static let servesInGrace = Phrase("Goes on in a store's grace", "Läuft in der Nachfrist des Shops weiter")

  static let noticeSubmitted = Phrase("It is submitted for review.", "Es ist zur Prüfung eingereicht.")
  static let noticeApproved = Phrase("It is approved.", "Es ist genehmigt.")
  static let noticeRejected = Phrase("It is rejected.", "Es ist zurückgewiesen.")
  static let noticeReleased = Phrase("The release is written down.", "Die Freigabe ist eingetragen.")
  static let noticeReleaseCancelled = Phrase(
    "The planned release is cancelled.", "Die geplante Freigabe ist abgesagt.")
  static let noticeWithdrawn = Phrase("It is withdrawn.", "Es ist zurückgezogen.")
  static let uploadHint = Phrase(
    "The file becomes a draft of that version. A comic book archive, an EPUB or a PDF is described by the server; packages with a signature are published by the command.",
    "Die Datei wird ein Entwurf dieser Version. Ein Comic-Archiv, ein EPUB oder ein PDF beschreibt der Server; signierte Pakete veröffentlicht der Befehl."
  )
  static let productHint = Phrase(
    "Of a product that is described already", "Eines Produkts, das schon beschrieben ist")
  static let versionHint = Phrase(
    "Whole numbers with points, as 1.10", "Ganze Zahlen mit Punkten, wie 1.10")
  static let packageFile = Phrase("File", "Datei")
  static let upload = Phrase("Upload", "Hochladen")
  static let noticeUploaded = Phrase(
    "The package is a version now, a draft.", "Das Paket ist nun eine Version, ein Entwurf.")
}
