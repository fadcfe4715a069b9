import CoreTypes

extension AppReceipt {
  private enum Attribute {
    static let environment: Int64 = 0
    static let appIdentifier: Int64 = 1
    static let bundleIdentifier: Int64 = 2
    static let applicationVersion: Int64 = 3
    static let opaqueValue: Int64 = 4
    static let deviceHash: Int64 = 5
    static let creationDate: Int64 = 12
    static let downloadIdentifier: Int64 = 15
    static let versionExternalIdentifier: Int64 = 16
    static let purchase: Int64 = 17
    static let originalPurchaseDate: Int64 = 18
    static let originalApplicationVersion: Int64 = 19
    static let expirationDate: Int64 = 21
  }

  /// Reads a payload. Attributes of unknown types are skipped. Throws ``ReceiptError`` `malformed`.
  init(payload: [UInt8]) throws {
    let table = try AttributeTable(DERReader(payload), repeating: Attribute.purchase)
    self.init(
      environmentName: try table.text(Attribute.environment) ?? "",
      bundleIdentifier: try table.requiredText(Attribute.bundleIdentifier),
      applicationVersion: try table.text(Attribute.applicationVersion) ?? "",
      creationDate: try table.requiredDate(Attribute.creationDate),
      purchases: try table.repeated.map { try InAppPurchase(set: $0.reader) })
    rawBundleIdentifier = try table.octets(Attribute.bundleIdentifier) ?? []
    opaqueValue = try table.octets(Attribute.opaqueValue) ?? []
    deviceHash = try table.octets(Attribute.deviceHash) ?? []
    appIdentifier = try table.integer(Attribute.appIdentifier)
    downloadIdentifier = try table.integer(Attribute.downloadIdentifier)
    versionExternalIdentifier = try table.integer(Attribute.versionExternalIdentifier)
    originalPurchaseDate = try table.date(Attribute.originalPurchaseDate)
    originalApplicationVersion = try table.text(Attribute.originalApplicationVersion)
    expirationDate = try table.date(Attribute.expirationDate)
  }

  /// The payload that ``AppReceiptSigner`` signs.
  var encodedPayload: [UInt8] {
    var attributes = [
      ReceiptAttribute(Attribute.environment, DERWriter.utf8(environmentName)),
      ReceiptAttribute(Attribute.bundleIdentifier, rawBundleIdentifier),
      ReceiptAttribute(Attribute.applicationVersion, DERWriter.utf8(applicationVersion)),
      ReceiptAttribute(Attribute.opaqueValue, version: 2, opaqueValue),
      ReceiptAttribute(Attribute.deviceHash, deviceHash),
      ReceiptAttribute(Attribute.creationDate, DERWriter.ia5(creationDate.receiptText)),
    ]
    func add(_ type: Int64, _ value: [UInt8]?) {
      if let value { attributes.append(ReceiptAttribute(type, value)) }
    }
    add(Attribute.appIdentifier, appIdentifier.map(DERWriter.integer))
    add(Attribute.downloadIdentifier, downloadIdentifier.map(DERWriter.integer))
    add(Attribute.versionExternalIdentifier, versionExternalIdentifier.map(DERWriter.integer))
    add(Attribute.originalPurchaseDate, (originalPurchaseDate?.receiptText).map(DERWriter.ia5))
    add(Attribute.originalApplicationVersion, originalApplicationVersion.map(DERWriter.utf8))
    add(Attribute.expirationDate, (expirationDate?.receiptText).map(DERWriter.ia5))
    for purchase in purchases { add(Attribute.purchase, purchase.encodedSet) }
    return DERWriter.set(attributes.map(\.encoded))
  }
}
