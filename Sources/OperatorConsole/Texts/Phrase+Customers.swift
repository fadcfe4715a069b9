/// The devices and the readers' keys of customers.
extension Phrase {
  static let applicationUser = Phrase("Application's user", "Benutzer eines Programms")
  static let customer = Phrase("Customer", "Kunde")
  static let ownedByCustomer = Phrase("Owned", "Im Besitz")
  static let nothingOwned = Phrase("Nothing is owned now.", "Gerade gehört dem Kunden nichts.")
  static let nothingOwnedThen = Phrase("Nothing was owned then.", "Damals gehörte dem Kunden nichts.")
  static let nothingMoreOwned = Phrase("Nothing more is owned.", "Mehr gehört dem Kunden nicht.")
  static let devicesAndKeys = Phrase("Devices and readers' keys", "Geräte und Schlüssel von Lesern")
  static let noDevices = Phrase("There is no device.", "Es gibt kein Gerät.")
  static let noReaderKeys = Phrase(
    "No application for reading has a key.", "Kein Programm zum Lesen hat einen Schlüssel.")
  static let readerKeys = Phrase("Readers' keys", "Schlüssel von Lesern")
  static let firstSeen = Phrase("First seen", "Zuerst gesehen")
  static let lastSeen = Phrase("Last seen", "Zuletzt gesehen")
  static let made = Phrase("Made", "Angelegt")
  static let lastUsed = Phrase("Last use", "Zuletzt benutzt")
  static let neverUsed = Phrase("never", "nie")
  static let endKey = Phrase("End this key", "Diesen Schlüssel beenden")
  static let endKeyTitle = Phrase("End the key “{0}”?", "Den Schlüssel „{0}“ beenden?")
  static let endKeyConsequence = Phrase(
    "The application with the key “{0}” is refused from its next request on, and its running downloads end. What it has fetched stays with it; the customer may make another key.",
    "Das Programm mit dem Schlüssel „{0}“ wird ab seiner nächsten Anfrage abgewiesen, und seine laufenden Downloads enden. Was es geholt hat, bleibt bei ihm; der Kunde kann einen neuen Schlüssel anlegen."
  )
  static let noSuchKey = Phrase(
    "There is no such key any more.", "Einen solchen Schlüssel gibt es nicht mehr.")
  static let noticeKeyEnded = Phrase("The key is ended.", "Der Schlüssel ist beendet.")
}
