package import Commerce
package import CoreTypes
import Crypto
package import Receipts

/// Makes receipts for one application, and verifies those that it made.
package struct ReceiptIssuer: Sendable {
  /// The application whose purchases this store sells.
  package let bundleIdentifier: String
  package let environment: StoreEnvironment
  private let signer: AppReceiptSigner
  private let root: Certificate

  /// - Parameter authority: signs the receipts. Its root is the only one whose receipts this store takes for
  ///   its own.
  package init(
    authority: ReceiptAuthority, bundleIdentifier: String, environment: StoreEnvironment = .sandbox
  ) {
    self.bundleIdentifier = bundleIdentifier
    self.environment = environment
    signer = authority.signer
    root = authority.root
  }

  /// A receipt in base 64, bound to `device`. A receipt for another application is as genuine, and empty: nothing was
  /// bought there. Each call draws another salt for the device, so that two receipts of one moment differ.
  /// Throws where the key cannot sign.
  ///
  /// - Parameters:
  ///   - contents: left out where `bundleIdentifier` is another application.
  ///   - now: the date of the receipt, in whole seconds.
  package func issue(
    _ contents: ReceiptContents, of application: ApplicationPurchase = ApplicationPurchase(),
    bundleIdentifier: String, device: DeviceIdentifier, at now: Timestamp
  ) throws -> String {
    let application = bundleIdentifier == self.bundleIdentifier ? application : ApplicationPurchase()
    let contents = bundleIdentifier == self.bundleIdentifier ? contents : ReceiptContents([], at: now)
    var receipt = AppReceipt(
      environmentName: "", bundleIdentifier: bundleIdentifier, applicationVersion: "1",
      creationDate: now.wholeSeconds)
    put(contents, into: &receipt)
    receipt.appIdentifier = 0
    receipt.downloadIdentifier = application.download
    receipt.versionExternalIdentifier = 0
    receipt.originalPurchaseDate = application.date
    receipt.originalApplicationVersion = application.originalVersion
    receipt.bind(to: device)
    return try signer.signBase64(receipt)
  }

  /// `receipt` made anew, for the same device. Everything but the environment, the date, the end and the
  /// purchases stays, the salt too.
  package func reissue(
    _ receipt: AppReceipt, with contents: ReceiptContents, at now: Timestamp
  ) throws -> String {
    var receipt = receipt
    receipt.creationDate = now.wholeSeconds
    put(contents, into: &receipt)
    return try signer.signBase64(receipt)
  }

  /// Sets the type of the receipt, its end and its purchases.
  private func put(_ contents: ReceiptContents, into receipt: inout AppReceipt) {
    receipt.environmentName =
      (contents.isVolumePurchase ? "ProductionVPP" : "Production")
      + (environment == .sandbox ? "Sandbox" : "")
    receipt.expirationDate = contents.end
    receipt.purchases = contents.purchases
  }

  /// A receipt of one purchase, in the style of before unified receipts. A property list in base 64.
  package func issue(_ purchase: InAppPurchase) throws -> String {
    try TransactionReceipt(
      bundleIdentifier: bundleIdentifier, applicationVersion: "1", environment: environment,
      purchase: purchase
    ).signed(by: signer)
  }

  /// Throws ``ReceiptError`` for what this store did not sign.
  package func verify(_ receipt: UnverifiedTransactionReceipt) throws -> TransactionReceipt {
    try receipt.verified(trusting: [root])
  }

  /// Throws ``ReceiptError`` for what this store did not sign.
  package func verify(_ receipt: UnverifiedAppReceipt, at now: Timestamp) throws -> AppReceipt {
    try receipt.verified(trusting: [root], now: now).receipt
  }
}

/// The contents of a receipt at a time: the purchases, and whether they are of volume licenses.
package struct ReceiptContents {
  package let purchases: [InAppPurchase]
  /// Attribute 0 says so once a license is among them.
  package let isVolumePurchase: Bool
  /// Attribute 21: when all of it ends, because all that still counts are licenses that were taken back.
  package let end: Timestamp?

  /// - Parameter transactions: what the account was sold. Those that have no entry still count for the end
  ///   and for the volume license.
  package init(_ transactions: [StoredTransaction], at now: Timestamp) {
    purchases = transactions.compactMap { $0.receiptEntry(at: now) }
    isVolumePurchase = transactions.contains { $0.license != nil }
    let counting = transactions.compactMap(\.sale).filter {
      $0.revocation == nil && $0.upgraded == nil && ($0.expires.map { $0 > now } ?? true)
    }
    let ends = counting.compactMap(\.licenseEnds)
    end = ends.count == counting.count ? ends.max() : nil
  }
}

extension String {
  /// A receipt in base 64 with another last octet, which is one of its signature. Empty for a text that is no
  /// base 64.
  package var damaged: String {
    var bytes = Base64.decode(self) ?? []
    if let last = bytes.popLast() { bytes.append(last ^ 1) }
    return Base64.encode(bytes)
  }
}
