import Commerce
import CoreTypes
import PullboxAPI
import SandboxRecords
import ServiceAPI

/// Makes a JSON Web Signature in compact form, with the chain of its certificates.
protocol PayloadSigner: Sendable {
  /// Throws where the key cannot be used.
  func sign(_ payload: [UInt8]) throws -> String
}

/// Signs what the store says of transactions, renewals, accounts and events, with the date of the signature and the
/// application that it is about.
struct PayloadIssuer: Sendable {
  let signer: any PayloadSigner
  let bundleIdentifier: String
  /// The application's number, which production names.
  var appIdentifier: Int64?
  let environment: StoreEnvironment
  let clock: any WallClock
  /// The store's: signatures that do not fit, and dates that are ahead.
  let faults: FaultSwitch

  /// Signs the transaction as it stands now; or, with a date, as it stood then. Fills in the application, and
  /// throws where the signer does.
  func sign(_ transaction: TransactionPayload, at date: Timestamp? = nil) throws -> String {
    var payload = transaction
    payload.bundleId = bundleIdentifier
    payload.signedDate = stated(date ?? clock.now())
    return try signature(over: payload)
  }

  /// Signs the renewal info of the subscription as it stands now; or, with a date, as it stood then. Throws
  /// where the signer does.
  func sign(_ renewal: RenewalPayload, at date: Timestamp? = nil) throws -> String {
    var payload = renewal
    payload.signedDate = stated(date ?? clock.now())
    return try signature(over: payload)
  }

  /// How the account came by the application. It is dated now.
  ///
  /// - Parameter account: the row, which the identifier of the app transaction is made of.
  func appTransaction(_ application: ApplicationPurchase = .init(), account: Int64) throws -> String {
    try signature(
      over: AppTransactionPayload(
        receiptType: environment.rawValue, appAppleId: appIdentifier, bundleId: bundleIdentifier,
        receiptCreationDate: stated(clock.now()),
        originalPurchaseDate: application.date.millisecondsSinceEpoch,
        originalApplicationVersion: application.originalVersion,
        appTransactionId: AppTransactionIdentifier(account: account).text))
  }

  /// The notification as it is posted: its parts signed, and the whole, all with its own date, however late it is sent: what the
  /// parts say is no later knowledge.
  func sign(_ notification: StoredNotification) throws -> String {
    let date = notification.signed ?? clock.now()
    var payload = NotificationPayload(
      notificationType: notification.type.rawValue, subtype: notification.subtype?.rawValue,
      notificationUUID: notification.uuid,
      signedDate: stated(date))
    let content = notification.content
    if var summary = content.summary {
      summary.bundleId = bundleIdentifier
      summary.appAppleId = appIdentifier
      summary.environment = environment.rawValue
      payload.summary = summary
    } else {
      payload.data = NotificationPayload.Details(
        appAppleId: appIdentifier, bundleId: bundleIdentifier, environment: environment.rawValue,
        signedTransactionInfo: try content.transaction.map { try sign($0, at: date) },
        signedRenewalInfo: try content.renewal.map { try sign($0, at: date) },
        status: content.status?.rawValue, consumptionRequestReason: content.consumptionReason)
    }
    return try signature(over: payload)
  }

  /// Milliseconds since the epoch, with the skew that a fault adds.
  private func stated(_ date: Timestamp) -> Int64 { faults.statedTime(date).millisecondsSinceEpoch }

  /// A fault damages the signature, never the payload.
  private func signature(over payload: some Encodable) throws -> String {
    let signed = try signer.sign(APIJSON.encode(payload))
    return faults.current.wrongSignature == true ? Self.damaged(signed) : signed
  }

  /// The same with another signature, of the same length.
  private static func damaged(_ signed: String) -> String {
    guard let dot = signed.lastIndex(of: "."), case let start = signed.index(after: dot),
      start < signed.endIndex
    else { return signed }
    return signed[..<start] + (signed[start] == "A" ? "B" : "A") + signed[signed.index(after: start)...]
  }
}
