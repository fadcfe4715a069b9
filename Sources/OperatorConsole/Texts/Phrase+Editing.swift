/// Products and publications as they are edited.
extension Phrase {
  static let noSuchPublication = Phrase(
    "There is no publication {0}: none is described by that name, and no product belongs to it.",
    "Es gibt keine Publikation {0}: Keine ist unter diesem Namen beschrieben, und kein Produkt gehört zu ihr."
  )
  static let samples = Phrase("Samples", "Leseproben")
  static let samplesHint = Phrase(
    "Paths of pages in the package, one a line; they are shown to all once a version is released.",
    "Pfade von Seiten im Paket, einer je Zeile; sie werden allen gezeigt, sobald eine Version freigegeben ist."
  )
  static let sampleOf = Phrase("Sample {0} of {1}", "Leseprobe {0} von {1}")
  static let edit = Phrase("Edit", "Bearbeiten")
  static let editNamed = Phrase("Edit {0}", "{0} bearbeiten")
  static let titleIn = Phrase("Title ({0})", "Titel ({0})")
  static let descriptionIn = Phrase("Description ({0})", "Beschreibung ({0})")
  static let titleMissing = Phrase(
    "The texts in {0} need a title.", "Die Texte in {0} brauchen einen Titel.")
  static let newLanguage = Phrase("Another language", "Eine weitere Sprache")
  static let newLanguageHint = Phrase(
    "As fr-FR; may be left out. A language whose title is emptied is removed.",
    "Wie fr-FR; kann leer bleiben. Eine Sprache, deren Titel geleert wird, wird entfernt.")
  static let newTitle = Phrase("Its title", "Ihr Titel")
  static let newDescription = Phrase("Its description", "Ihre Beschreibung")
  static let pricesHint = Phrase(
    "One a line, as FRA 4.99 EUR; none: free, or as the tier says.",
    "Einer je Zeile, wie FRA 4.99 EUR; keiner: kostenlos, oder wie die Stufe sagt.")
  static let priceLine = Phrase(
    "This is no price: {0}. One is a territory, an amount and a currency, as FRA 4.99 EUR.",
    "Das ist kein Preis: {0}. Einer ist ein Gebiet, ein Betrag und eine Währung, wie FRA 4.99 EUR.")
  static let timeHint = Phrase("In UTC, as 2026-12-24 18:00", "In UTC, wie 2026-12-24 18:00")
  static let timeUnknown = Phrase(
    "This is no time: {0}. One is 2026-12-24 18:00.", "Das ist keine Zeit: {0}. Eine ist 2026-12-24 18:00.")
  static let valueUnknown = Phrase("{0} cannot be {1}.", "{0} kann nicht {1} sein.")
  static let privacyAddress = Phrase("Address about privacy", "Adresse zum Datenschutz")
  static let yes = Phrase("Yes", "Ja")
  static let no = Phrase("No", "Nein")
  static let keepRevoked = Phrase("Kept when taken back", "Bleibt nach Rücknahme")
  static let keepRevokedHint = Phrase(
    "Whether devices leave the content to those whose purchase is taken back; they own it no more all the same.",
    "Ob Geräte den Inhalt denen lassen, deren Kauf zurückgenommen wird; er gehört ihnen trotzdem nicht mehr.")
  static let keepRevokedIssues = Phrase(
    "Issues kept when taken back", "Ausgaben bleiben nach Rücknahme")
  static let keepRevokedIssuesHint = Phrase(
    "Whether devices leave the content of issues to those who own them no more, after a refund or a lapse.",
    "Ob Geräte den Inhalt von Ausgaben denen lassen, denen sie nach einer Erstattung oder einem Ablauf nicht mehr gehören."
  )
  static let coverHint = Phrase(
    "The product whose cover it has; empty for the latest issue's",
    "Das Produkt, dessen Titelbild sie hat; leer für das der neuesten Ausgabe")
  static let previewChanges = Phrase("Show what would change", "Zeigen, was sich ändern würde")
  static let changesToMake = Phrase("What would change", "Was sich ändern würde")
  static let makeChanges = Phrase("Make these changes", "Diese Änderungen machen")
  static let nothingChanges = Phrase("Nothing would change.", "Nichts würde sich ändern.")
  static let field = Phrase("Field", "Feld")
  static let before = Phrase("Before", "Vorher")
  static let after = Phrase("After", "Nachher")
  static let noticeEdited = Phrase("The changes are made.", "Die Änderungen sind gemacht.")
  static let formWithoutState = Phrase(
    "The form does not say which state it is about. Nothing was changed: look at it as it is now, and send it again.",
    "Das Formular sagt nicht, für welchen Stand es gilt. Nichts wurde geändert: Sehen Sie den jetzigen Stand an, und senden Sie es noch einmal."
  )
  static let changedMeanwhile = Phrase(
    "It was changed since this form was opened. What you left as it was stays as it is now.",
    "Es wurde geändert, seit dieses Formular offen ist. Was Sie nicht geändert haben, bleibt, wie es jetzt ist."
  )
}
