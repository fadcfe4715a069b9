import Commerce
import CoreTypes
import Receipts

/// Makes receipts for one application, and verifies those that it made.
struct ReceiptIssuer: Sendable {
  /// The application whose purchases this store sells.
  let bundleIdentifier: String
  let environment: StoreEnvironment
  private let signer: AppReceiptSigner
  private let root: Certificate
  private let clock: any WallClock

  init(
    authority: ReceiptAuthority, bundleIdentifier: String, environment: StoreEnvironment = .sandbox,
    clock: any WallClock
  ) {
    self.bundleIdentifier = bundleIdentifier
    self.environment = environment
    signer = authority.signer
    root = authority.root
    self.clock = clock
  }

  /// A receipt in base 64 with `purchases`, bound to `device`. A receipt for another application is as
  /// genuine, and empty: nothing was bought there.
  func issue(
    _ purchases: [InAppPurchase], bundleIdentifier: String, device: DeviceIdentifier
  ) throws -> String {
    var receipt = AppReceipt(
      environmentName: environment == .sandbox ? "ProductionSandbox" : "Production",
      bundleIdentifier: bundleIdentifier, applicationVersion: "1",
      creationDate: clock.now().wholeSeconds,
      purchases: bundleIdentifier == self.bundleIdentifier ? purchases : [])
    // What sandbox receipts say of the application itself.
    receipt.appIdentifier = 0
    receipt.downloadIdentifier = 0
    receipt.versionExternalIdentifier = 0
    receipt.originalPurchaseDate = Timestamp(year: 2013, month: 8, day: 1, hour: 7)
    receipt.originalApplicationVersion = "1.0"
    receipt.bind(to: device)
    return try signer.signBase64(receipt)
  }

  /// `receipt` made anew with `purchases`, for the same device.
  func reissue(_ receipt: AppReceipt, with purchases: [InAppPurchase]) throws -> String {
    var receipt = receipt
    receipt.creationDate = clock.now().wholeSeconds
    receipt.purchases = purchases
    return try signer.signBase64(receipt)
  }

  /// A receipt of one purchase, in the style of before unified receipts.
  func issue(_ purchase: InAppPurchase) throws -> String {
    try TransactionReceipt(
      bundleIdentifier: bundleIdentifier, applicationVersion: "1", environment: environment,
      purchase: purchase
    ).signed(by: signer)
  }

  /// Throws ``ReceiptError`` for what this store did not sign.
  func verify(_ receipt: UnverifiedTransactionReceipt) throws -> TransactionReceipt {
    try receipt.verified(trusting: [root])
  }

  /// Throws ``ReceiptError`` for what this store did not sign.
  func verify(_ receipt: UnverifiedAppReceipt) throws -> AppReceipt {
    try receipt.verified(trusting: [root], now: clock.now()).receipt
  }
}

extension Timestamp {
  /// Receipts know whole seconds only, so the store's dates of purchases are whole too.
  var wholeSeconds: Timestamp { Timestamp(millisecondsSinceEpoch: secondsSinceEpoch * 1000) }
}
