/// The pages of versions.
extension Phrase {
  static let pagesOf = Phrase("Pages of {0} {1}", "Seiten von {0} {1}")
  static let pagesCompared = Phrase("Pages of {0}: {1} and {2}", "Seiten von {0}: {1} und {2}")
  static let pagesLook = Phrase(
    "Pages as pictures, and what changed", "Seiten als Bilder, und was sich geändert hat")
  static let compareWith = Phrase("Compare with", "Vergleichen mit")
  static let noOther = Phrase("no other version", "keiner anderen Version")
  static let pagesShown = Phrase("Pages shown when compared", "Gezeigte Seiten beim Vergleich")
  static let changedPages = Phrase("those that differ", "die verschiedenen")
  static let allPages = Phrase("all", "alle")
  static let noPages = Phrase(
    "No pages can be shown: the package is one file, or its manifest names no order of pages.",
    "Es lassen sich keine Seiten zeigen: Das Paket ist eine Datei, oder sein Manifest nennt keine Reihenfolge."
  )
  static let pageCount = Phrase("Pages: {0}.", "Seiten: {0}.")
  static let pagesCounted = Phrase(
    "Pages that are the same: {0}; changed: {1}; added: {2}; removed: {3}.",
    "Gleiche Seiten: {0}; geänderte: {1}; neue: {2}; entfernte: {3}.")
  static let noPageChanged = Phrase("No page differs.", "Keine Seite ist verschieden.")
  static let page = Phrase("Page", "Seite")
  static let change = Phrase("Change", "Änderung")
  static let pageSame = Phrase("same", "gleich")
  static let pageChanged = Phrase("changed", "geändert")
  static let pageAdded = Phrase("added", "neu")
  static let pageRemoved = Phrase("removed", "entfernt")
  static let pageOfVersion = Phrase("Page {0} of version {1}", "Seite {0} der Version {1}")
  static let previousPage = Phrase("Previous", "Zurück")
}
