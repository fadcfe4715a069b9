import PullboxAPI

/// The kinds of refusals that operators meet, in words. In English the interface's own sentence says them.
extension Words {
  /// The heading of a page that refuses: the interface's own in English.
  func title(of problem: Problem) -> String {
    guard language != .english, let kind = problem.code.flatMap({ Self.kinds[$0] }) else {
      return problem.title
    }
    return String(self(kind).dropLast())
  }

  static let kinds: [ProblemCode: Phrase] = [
    .receiptMalformed: Phrase("The receipt cannot be read.", "Der Beleg ist nicht lesbar."),
    .purchaseRequired: Phrase("Nothing of it was bought.", "Davon wurde nichts gekauft."),
    .entitlementRevoked: Phrase("The purchase was taken back.", "Der Kauf wurde zurückgenommen."),
    .deviceLimit: Phrase("All places for devices are taken.", "Alle Plätze für Geräte sind belegt."),
    .productUnknown: Phrase("There is no such product.", "Dieses Produkt gibt es nicht."),
    .publicationUnknown: Phrase("There is no such publication.", "Diese Publikation gibt es nicht."),
    .versionUnknown: Phrase("There is no such version.", "Diese Version gibt es nicht."),
    .grantUnknown: Phrase("There is no such grant.", "Diese Bewilligung gibt es nicht."),
    .grantAmbiguous: Phrase("Several grants have this name.", "Mehrere Bewilligungen heißen so."),
    .storeUnknown: Phrase("There is no such store.", "Diesen Shop gibt es nicht."),
    .transactionUnknown: Phrase("There is no such transaction.", "Diesen Kauf gibt es nicht."),
    .callUnknown: Phrase("There is no such call.", "Diesen Aufruf gibt es nicht."),
    .previewUnknown: Phrase("There is no such picture.", "Dieses Bild gibt es nicht."),
    .priceTierUnknown: Phrase("There is no such price tier.", "Diese Preisstufe gibt es nicht."),
    .uploadUnknown: Phrase("There is no such upload.", "Diesen Upload gibt es nicht."),
    .notFound: Phrase("There is nothing here.", "Hier ist nichts."),
    .contentWithdrawn: Phrase("The content was withdrawn.", "Der Inhalt wurde zurückgezogen."),
    .contentDamaged: Phrase("The content is damaged here.", "Der Inhalt ist hier beschädigt."),
    .requestMalformed: Phrase("That cannot be understood.", "Das ist nicht zu verstehen."),
    .requestTooLarge: Phrase("That is larger than allowed.", "Das ist größer als erlaubt."),
    .requestTimeout: Phrase("That did not arrive in time.", "Das kam nicht rechtzeitig an."),
    .methodNotAllowed: Phrase("That is not possible here.", "Das geht hier nicht."),
    .unauthorized: Phrase("A key is needed.", "Ein Schlüssel ist nötig."),
    .forbidden: Phrase("The key does not allow this.", "Der Schlüssel erlaubt das nicht."),
    .tooManyRequests: Phrase("That was asked too often.", "Das wurde zu oft gefragt."),
    .internalError: Phrase("The server failed.", "Der Server ist gescheitert."),
    .unavailable: Phrase("The server cannot do this now.", "Der Server kann das gerade nicht."),
    .storeUnavailable: Phrase("The store cannot be reached.", "Der Shop ist nicht zu erreichen."),
    .uploadExpired: Phrase("The upload is forgotten.", "Der Upload ist vergessen."),
    .uploadLocked: Phrase("Another request has the upload.", "Ein anderer Vorgang hat den Upload."),
    .uploadIncomplete: Phrase("The upload is not complete.", "Der Upload ist nicht vollständig."),
    .uploadTooLarge: Phrase("The package is too large.", "Das Paket ist zu groß."),
    .uploadOffsetMismatch: Phrase("The upload stands elsewhere.", "Der Upload steht an anderer Stelle."),
    .checksumMismatch: Phrase("The bytes came wrong.", "Die Bytes kamen falsch an."),
    .digestMismatch: Phrase("The upload came wrong.", "Der Upload kam falsch an."),
    .outOfSpace: Phrase("There is no room for it.", "Dafür ist kein Platz."),
    .packageRejected: Phrase("The package has faults.", "Das Paket hat Fehler."),
    .productInvalid: Phrase("The product has faults.", "Das Produkt hat Fehler."),
    .publicationInvalid: Phrase("The publication has faults.", "Die Publikation hat Fehler."),
    .priceTierInvalid: Phrase("The price tier has faults.", "Die Preisstufe hat Fehler."),
    .catalogInvalid: Phrase(
      "The import has faults; nothing was changed.", "Der Import hat Fehler; nichts wurde geändert."),
    .versionConflict: Phrase(
      "This version exists with other content.", "Diese Version gibt es mit anderem Inhalt."),
    .stateConflict: Phrase("Its state does not allow this.", "Der Stand erlaubt das nicht."),
    .secondKeyRequired: Phrase("Another key has to approve it.", "Ein anderer Schlüssel muss zustimmen."),
    .secondOperatorRequired: Phrase(
      "Another operator has to approve it.", "Ein anderer Betreiber muss zustimmen."),
    .preconditionFailed: Phrase("It was changed meanwhile.", "Es wurde inzwischen geändert."),
    .idempotencyKeyReused: Phrase("The form was used already.", "Das Formular wurde schon benutzt."),
    .idempotencyKeyInUse: Phrase("The form is being worked on.", "Das Formular wird gerade bearbeitet."),
  ]
}
