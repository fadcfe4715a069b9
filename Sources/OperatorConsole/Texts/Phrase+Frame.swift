/// The words on every page, and on those of signing in.
extension Phrase {
  static let skipToContent = Phrase("Skip to the content", "Zum Inhalt springen")
  static let navigation = Phrase("Parts of the console", "Teile der Konsole")
  static let signedInAs = Phrase("Signed in as {0}", "Angemeldet als {0}")
  static let signIn = Phrase("Sign in", "Anmelden")
  static let signOut = Phrase("Sign out", "Abmelden")
  static let signInHint = Phrase(
    "Paste your operator key. It is not kept: a session of 12 hours begins, which ends after 30 minutes without a page.",
    "Fügen Sie Ihren Betreiberschlüssel ein. Er wird nicht aufbewahrt: Eine Sitzung von 12 Stunden beginnt, die nach 30 Minuten ohne Seite endet."
  )
  static let operatorKey = Phrase("Operator key", "Betreiberschlüssel")
  static let language = Phrase("Language", "Sprache")
  static let keyUnknown = Phrase("This key is not known here.", "Dieser Schlüssel ist hier nicht bekannt.")
  static let tooManyKeys = Phrase(
    "Too many wrong keys came from your address. Try again in {0}.",
    "Von Ihrer Adresse kamen zu viele falsche Schlüssel. Versuchen Sie es in {0} wieder.")
  static let needsTLS = Phrase("This needs TLS", "Hier wird TLS gebraucht")
  static let needsTLSHint = Phrase(
    "Over plain HTTP the console is open to this machine alone, by a name such as localhost. Use https, or a tunnel.",
    "Über unverschlüsseltes HTTP ist die Konsole nur für diesen Rechner offen, unter einem Namen wie localhost. Nutzen Sie https oder einen Tunnel."
  )
  static let noSuchPage = Phrase("There is no such page", "Diese Seite gibt es nicht")
  static let toToday = Phrase("To the page of today", "Zur Seite von heute")
  static let asJSON = Phrase("This page as JSON", "Diese Seite als JSON")
  static let sameByCommand = Phrase("The same by a command:", "Dasselbe als Befehl:")
  static let notAvailable = Phrase("This cannot be shown now.", "Das lässt sich gerade nicht zeigen.")
  static let readAt = Phrase("Read at", "Gelesen:")
  static let outdated = Phrase(
    "This cannot be read again now: what stands here may have changed since. If it stays so, load the page anew.",
    "Das lässt sich gerade nicht neu lesen: Was hier steht, kann sich seither geändert haben. Bleibt es dabei, laden Sie die Seite neu."
  )
  static let pages = Phrase("Pages", "Seiten")
  static let firstPage = Phrase("First page", "Erste Seite")
  static let nextPage = Phrase("Next page", "Nächste Seite")
  static let filter = Phrase("Filter", "Filter")
  static let show = Phrase("Show", "Anzeigen")
  static let all = Phrase("all", "alle")
  static let ago = Phrase("{0} ago", "vor {0}")
  static let cancel = Phrase("Cancel", "Abbrechen")
  static let reason = Phrase("Reason", "Grund")
  static let reasonHint = Phrase(
    "The audit log keeps it: 500 characters at most.", "Das Protokoll bewahrt ihn auf: höchstens 500 Zeichen."
  )
  static let asTable = Phrase("The numbers as a table", "Die Zahlen als Tabelle")

  static let today = Phrase("Today", "Heute")
  static let products = Phrase("Products", "Produkte")
  static let publications = Phrase("Publications", "Publikationen")
  static let deliveries = Phrase("Deliveries", "Lieferungen")
  static let customers = Phrase("Customers", "Kunden")
  static let stores = Phrase("Stores", "Shops")
  static let money = Phrase("Money", "Geld")
  static let house = Phrase("House", "Haus")
  static let audit = Phrase("Audit", "Protokoll")
}
