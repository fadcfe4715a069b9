import CoreTypes

extension Words {
  /// The day in UTC as addresses and documents have it.
  func isoDay(_ time: Timestamp) -> String { String(time.rfc3339.prefix(10)) }

  /// An action of the audit log in words; one that this version does not know as it is.
  func action(_ name: String) -> String { Self.actions[name].map { self($0) } ?? name }

  private static let actions: [String: Phrase] = [
    "approval.approve": Phrase("approved a step", "genehmigte einen Schritt"),
    "approval.ask": Phrase("asked for a second operator", "verlangte einen zweiten Bediener"),
    "approval.decline": Phrase("declined a step", "lehnte einen Schritt ab"),
    "approval.done": Phrase("had an approved step carried out", "ließ einen genehmigten Schritt ausführen"),
    "approval.expire": Phrase("let a request expire", "ließ eine Anfrage verfallen"),
    "approval.refused": Phrase(
      "had an approved step fail", "scheiterte mit einem genehmigten Schritt"),
    "content.collect": Phrase("removed unneeded packages", "entfernte unnötige Pakete"),
    "grant.revoke": Phrase("revoked a grant", "widerrief eine Bewilligung"),
    "grant.reinstate": Phrase("reinstated a grant", "setzte eine Bewilligung wieder ein"),
    "irregularity.found": Phrase("found an irregularity", "fand eine Auffälligkeit"),
    "key.refused": Phrase("offered wrong keys", "bot falsche Schlüssel an"),
    "outbox.drop": Phrase("dropped a call", "ließ einen Aufruf fallen"),
    "outbox.expire": Phrase("gave a call up", "gab einen Aufruf auf"),
    "outbox.retry": Phrase("asked for a call again", "verlangte einen Aufruf erneut"),
    "product.approve": Phrase("approved a product", "genehmigte ein Produkt"),
    "product.change": Phrase("changed a product", "änderte ein Produkt"),
    "product.create": Phrase("created a product", "legte ein Produkt an"),
    "product.keys": Phrase("changed a product's keys", "änderte die Schlüssel eines Produkts"),
    "product.reject": Phrase("rejected a product", "wies ein Produkt zurück"),
    "product.remove": Phrase("deleted a product", "löschte ein Produkt"),
    "product.screenshot": Phrase("put a screenshot in place", "hinterlegte einen Bildschirmabzug"),
    "product.submit": Phrase("submitted a product", "reichte ein Produkt ein"),
    "product.withdraw": Phrase("took a product off sale", "nahm ein Produkt aus dem Verkauf"),
    "publication.change": Phrase("changed a publication", "änderte eine Publikation"),
    "publication.create": Phrase("created a publication", "legte eine Publikation an"),
    "publication.remove": Phrase("deleted a publication", "löschte eine Publikation"),
    "reader.remove": Phrase("ended a reader's key", "beendete den Schlüssel eines Lesers"),
    "upload.expire": Phrase("gave an upload up", "gab einen Upload auf"),
    "version.approve": Phrase("approved a version", "genehmigte eine Version"),
    "version.cancel-release": Phrase("cancelled a release", "sagte eine Freigabe ab"),
    "version.create": Phrase("uploaded a version", "lud eine Version hoch"),
    "version.pause": Phrase("paused a release", "hielt eine Freigabe an"),
    "version.reject": Phrase("rejected a version", "wies eine Version zurück"),
    "version.release": Phrase("released a version", "gab eine Version frei"),
    "version.schedule": Phrase("scheduled a release", "plante eine Freigabe"),
    "version.submit": Phrase("submitted a version", "reichte eine Version ein"),
    "version.supersede": Phrase("superseded a version", "löste eine Version ab"),
    "version.withdraw": Phrase("withdrew a version", "zog eine Version zurück"),
  ]
}
