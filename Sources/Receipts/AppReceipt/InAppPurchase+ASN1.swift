import CoreTypes

extension InAppPurchase {
  private enum Attribute {
    static let quantity: Int64 = 1701
    static let productIdentifier: Int64 = 1702
    static let transactionIdentifier: Int64 = 1703
    static let purchaseDate: Int64 = 1704
    static let originalTransactionIdentifier: Int64 = 1705
    static let originalPurchaseDate: Int64 = 1706
    static let productType: Int64 = 1707
    static let expiresDate: Int64 = 1708
    static let webOrderLineItemIdentifier: Int64 = 1711
    static let cancellationDate: Int64 = 1712
    static let isTrialPeriod: Int64 = 1713
    static let isInIntroductoryOfferPeriod: Int64 = 1719
    static let promotionalOfferIdentifier: Int64 = 1721
  }

  /// Reads the SET of attribute 17, which `set` reads.
  init(set: DERReader) throws {
    let table = try AttributeTable(set)
    let transaction = try table.requiredText(Attribute.transactionIdentifier)
    let purchased = try table.requiredDate(Attribute.purchaseDate)
    self.init(
      quantity: try table.integer(Attribute.quantity) ?? 1,
      productIdentifier: try table.requiredText(Attribute.productIdentifier),
      transactionIdentifier: transaction,
      originalTransactionIdentifier: try table.text(Attribute.originalTransactionIdentifier) ?? transaction,
      purchaseDate: purchased,
      originalPurchaseDate: try table.date(Attribute.originalPurchaseDate) ?? purchased)
    productType = try table.integer(Attribute.productType)
    expiresDate = try table.date(Attribute.expiresDate)
    webOrderLineItemIdentifier = try table.integer(Attribute.webOrderLineItemIdentifier)
    cancellationDate = try table.date(Attribute.cancellationDate)
    isTrialPeriod = try table.flag(Attribute.isTrialPeriod)
    isInIntroductoryOfferPeriod = try table.flag(Attribute.isInIntroductoryOfferPeriod)
    promotionalOfferIdentifier = try table.text(Attribute.promotionalOfferIdentifier)
  }

  /// The SET for attribute 17. A purchase that was not cancelled carries an empty cancellation date, as real receipts
  /// do.
  var encodedSet: [UInt8] {
    var attributes = [
      ReceiptAttribute(Attribute.quantity, DERWriter.integer(quantity)),
      ReceiptAttribute(Attribute.productIdentifier, DERWriter.utf8(productIdentifier)),
      ReceiptAttribute(Attribute.transactionIdentifier, DERWriter.utf8(transactionIdentifier)),
      ReceiptAttribute(Attribute.purchaseDate, DERWriter.ia5(purchaseDate.receiptText)),
      ReceiptAttribute(
        Attribute.originalTransactionIdentifier, DERWriter.utf8(originalTransactionIdentifier)),
      ReceiptAttribute(Attribute.originalPurchaseDate, DERWriter.ia5(originalPurchaseDate.receiptText)),
      ReceiptAttribute(Attribute.cancellationDate, DERWriter.ia5(cancellationDate?.receiptText ?? "")),
    ]
    func add(_ type: Int64, _ value: [UInt8]?) {
      if let value { attributes.append(ReceiptAttribute(type, value)) }
    }
    add(Attribute.productType, productType.map(DERWriter.integer))
    add(Attribute.expiresDate, (expiresDate?.receiptText).map(DERWriter.ia5))
    add(Attribute.webOrderLineItemIdentifier, webOrderLineItemIdentifier.map(DERWriter.integer))
    add(Attribute.isTrialPeriod, isTrialPeriod.map { DERWriter.integer($0 ? 1 : 0) })
    add(
      Attribute.isInIntroductoryOfferPeriod,
      isInIntroductoryOfferPeriod.map { DERWriter.integer($0 ? 1 : 0) })
    add(Attribute.promotionalOfferIdentifier, promotionalOfferIdentifier.map(DERWriter.utf8))
    return DERWriter.set(attributes.map(\.encoded))
  }
}
