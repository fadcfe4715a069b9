/// Why a download, or a transaction, is in its state. Open-ended: a refusal by a service carries its problem's code.
struct DownloadReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  let rawValue: String

  init(rawValue: String) {
    self.rawValue = rawValue
  }

  private init(_ text: String) {
    rawValue = text
  }

  // Waiting.
  /// Ready to go on as soon as the scheduler has a place for it.
  static let queued = DownloadReason("queued")
  static let serverUnreachable = DownloadReason("server-unreachable")
  static let serverUnavailable = DownloadReason("server-unavailable")
  static let storeUnreachable = DownloadReason("store-unreachable")
  static let storeUnavailable = DownloadReason("store-unavailable")
  static let connectionLost = DownloadReason("connection-lost")
  static let insufficientSpace = DownloadReason("insufficient-space")
  static let storageFailure = DownloadReason("storage-failure")
  static let tooManyRequests = DownloadReason("too-many-requests")

  // Active.
  static let requestingGrant = DownloadReason("requesting-grant")
  static let fetchingManifest = DownloadReason("fetching-manifest")
  static let transferring = DownloadReason("transferring")
  static let renewingTicket = DownloadReason("renewing-ticket")
  static let placing = DownloadReason("placing")
  static let reporting = DownloadReason("reporting")

  // Paused and cancelled.
  static let user = DownloadReason("user")

  // Finished.
  static let placed = DownloadReason("placed")

  // Failed.
  /// What the server sends is not, time and again, what the grant promised.
  static let integrity = DownloadReason("integrity")
  /// The manifest is not signed by a publisher's key that counts here.
  static let publisherSignature = DownloadReason("publisher-signature")
  /// The server's answers break HTTP's or the interface's rules.
  static let protocolViolation = DownloadReason("protocol-violation")

  // Of transactions.
  static let awaitingPayment = DownloadReason("awaiting-payment")
  /// Somebody else has to agree to the purchase.
  static let awaitingApproval = DownloadReason("awaiting-approval")
  static let paymentFailed = DownloadReason("payment-failed")
  /// Nothing of what was bought has content yet.
  static let contentNotReleased = DownloadReason("content-not-released")
  static let downloadFailed = DownloadReason("download-failed")
  static let downloadCancelled = DownloadReason("download-cancelled")
  /// Reported; the server has not heard from the store yet.
  static let storeNotAnswered = DownloadReason("store-not-answered")
  static let grantRevoked = DownloadReason("grant-revoked")
  static let finishedElsewhere = DownloadReason("finished-elsewhere")

  var description: String { rawValue }
}
