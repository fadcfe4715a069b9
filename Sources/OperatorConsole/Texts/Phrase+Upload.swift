/// The progress of an upload, as the script tells it.
extension Phrase {
  static let uploadProgress = Phrase("How much has arrived", "Wie viel angekommen ist")
  static let stopUpload = Phrase("Stop", "Anhalten")
  static let uploadSending = Phrase("{0} % of {1} have arrived.", "{0} % von {1} sind angekommen.")
  static let uploadLost = Phrase(
    "The connection was lost. The upload goes on by itself where it was.",
    "Die Verbindung ist abgerissen. Das Hochladen geht von selbst dort weiter, wo es war.")
  static let uploadStopped = Phrase(
    "Stopped. Upload goes on where it was, for a day.",
    "Angehalten. „Hochladen“ geht einen Tag lang dort weiter, wo es war.")
  static let uploadSessionEnded = Phrase(
    "The session has ended. Sign in, and choose the same file: the upload goes on where it was.",
    "Die Sitzung ist beendet. Melden Sie sich an und wählen Sie dieselbe Datei: Das Hochladen geht dort weiter, wo es war."
  )
  static let uploadUnreadable = Phrase(
    "The browser cannot read the file any more. Choose it again.",
    "Der Browser kann die Datei nicht mehr lesen. Wählen Sie sie noch einmal.")
}
