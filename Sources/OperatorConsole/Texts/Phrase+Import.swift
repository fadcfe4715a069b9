/// The import of a file of the catalog.
extension Phrase {
  static let importCatalog = Phrase("Import a file", "Eine Datei importieren")
  static let importHint = Phrase(
    "A sheet or lines of JSON, as “pullbox export” writes them, of at most {0}. The changes are shown before they are made, the first 1,000 of them: all are made or none.",
    "Eine Tabelle oder Zeilen in JSON, wie „pullbox export“ sie schreibt, von höchstens {0}. Die Änderungen werden gezeigt, bevor sie gemacht werden, die ersten 1.000 davon: alle oder keine."
  )
  static let importFormat = Phrase("Format", "Format")
  static let importCSV = Phrase("Sheet (CSV)", "Tabelle (CSV)")
  static let importJSON = Phrase("Lines of JSON", "Zeilen in JSON")
  static let importFile = Phrase("File", "Datei")
  static let importText = Phrase("Or its text", "Oder ihr Text")
  static let importTextHint = Phrase(
    "Counts where no file is chosen.", "Gilt, wenn keine Datei gewählt ist.")
  static let importFaults = Phrase(
    "Nothing was changed: these lines are faulty.", "Nichts wurde geändert: Diese Zeilen sind fehlerhaft.")
  static let line = Phrase("Line", "Zeile")
  static let text = Phrase("Text", "Text")
  static let importCounts = Phrase(
    "New: {0}, changed: {1}, unchanged: {2}.", "Neu: {0}, geändert: {1}, unverändert: {2}.")
  static let importMore = Phrase(
    "There are more changes: these are the first {0}.",
    "Es gibt mehr Änderungen: Dies sind die ersten {0}.")
  static let isNew = Phrase("new", "neu")
  static let importLate = Phrase(
    "Others changed something meanwhile; nothing was imported. The changes below are worked out anew.",
    "Andere haben inzwischen etwas geändert; nichts wurde importiert. Die Änderungen unten sind neu ermittelt."
  )
  static let noticeImported = Phrase("The file is imported.", "Die Datei ist importiert.")
}
