/// Why a download, or a transaction, is in its state. Open-ended: a refusal by a service carries its
/// problem's code.
package struct StatusReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  package let rawValue: String

  package init(rawValue: String) {
    self.rawValue = rawValue
  }

  private init(_ text: String) {
    rawValue = text
  }

  // Waiting.
  /// Ready to continue as soon as the scheduler has a place for it.
  static let queued = StatusReason("queued")
  static let serverUnreachable = StatusReason("server-unreachable")
  static let serverUnavailable = StatusReason("server-unavailable")
  static let storeUnreachable = StatusReason("store-unreachable")
  package static let storeUnavailable = StatusReason("store-unavailable")
  package static let connectionLost = StatusReason("connection-lost")
  package static let insufficientSpace = StatusReason("insufficient-space")
  package static let storageFailure = StatusReason("storage-failure")
  package static let tooManyRequests = StatusReason("too-many-requests")
  /// The server could not reach the payment store.
  static let verificationUndetermined = StatusReason("verification-undetermined")
  /// A download that is wanted now has taken its place.
  package static let preempted = StatusReason("preempted")
  /// No window is open in which downloads may run.
  package static let outsideWindow = StatusReason("outside-window")
  /// The bytes of this month have come.
  package static let budgetSpent = StatusReason("budget-spent")
  /// The way to the network costs by the byte.
  package static let metered = StatusReason("metered")
  /// The network wants a log-in first, as the system says.
  package static let networkPortal = StatusReason("network-portal")
  /// The machine has no way to any network.
  package static let noNetwork = StatusReason("no-network")
  package static let batteryLow = StatusReason("battery-low")
  package static let onBattery = StatusReason("on-battery")
  package static let powerSaver = StatusReason("power-saver")
  /// The machine is about to sleep, or to go off.
  package static let asleep = StatusReason("machine-sleeps")
  /// Others wait for the disk or for memory.
  package static let machineBusy = StatusReason("machine-busy")
  /// The volume on which the library lies is not there.
  package static let libraryOffline = StatusReason("library-offline")
  /// Something else answers in the service's place: a log-in page, a proxy, a filter.
  package static let networkNotOpen = StatusReason("network-not-open")
  /// The grant is to be asked for again.
  package static let grantNeeded = StatusReason("grant-needed")
  /// The content job is another download's as well, or has not begun.
  static let waitingForContent = StatusReason("waiting-for-content")
  /// No authority that counts here has signed the service's certificate.
  static let certificateNotTrusted = StatusReason("certificate-not-trusted")
  /// The service's certificate has expired or is not valid yet, by this device's clock.
  static let certificateOutOfDate = StatusReason("certificate-out-of-date")
  static let certificateForAnotherName = StatusReason("certificate-for-another-name")
  /// The service's key is none of those that are configured.
  static let certificateNotPinned = StatusReason("certificate-not-pinned")

  // Active.
  static let requestingGrant = StatusReason("requesting-grant")
  static let fetchingManifest = StatusReason("fetching-manifest")
  static let transferring = StatusReason("transferring")
  package static let renewingTicket = StatusReason("renewing-ticket")
  package static let placing = StatusReason("placing")
  package static let reporting = StatusReason("reporting")

  // Paused and cancelled.
  package static let user = StatusReason("user")

  // Finished.
  package static let placed = StatusReason("placed")

  // Failed.
  /// The library's file system takes no file of such a name.
  static let nameRefused = StatusReason("name-refused")
  /// The server repeatedly sends other content than the grant promised.
  package static let integrity = StatusReason("integrity")
  /// Far more bytes came than the package has, and it is not complete.
  static let wasteful = StatusReason("wasteful")
  /// For many days no piece came as it should.
  static let givenUp = StatusReason("given-up")
  /// The manifest is not signed by a publisher's key that counts here.
  package static let publisherSignature = StatusReason("publisher-signature")
  /// The server's answers break HTTP's or the interface's rules.
  package static let protocolViolation = StatusReason("protocol-violation")

  // Transactions.
  static let awaitingPayment = StatusReason("awaiting-payment")
  /// Another person has to approve the purchase.
  static let awaitingApproval = StatusReason("awaiting-approval")
  static let paymentFailed = StatusReason("payment-failed")
  /// Nothing of what was bought has content yet.
  static let contentNotReleased = StatusReason("content-not-released")
  static let downloadFailed = StatusReason("download-failed")
  static let downloadCancelled = StatusReason("download-cancelled")
  /// Reported; the server has not heard from the store yet.
  static let storeNotAnswered = StatusReason("store-not-answered")
  static let grantRevoked = StatusReason("grant-revoked")
  static let finishedElsewhere = StatusReason("finished-elsewhere")

  package var description: String { rawValue }

  /// The way to the services was not there, or a service could not be reached by it: another way may do.
  package var isOfTheWay: Bool {
    [
      .networkNotOpen, .noNetwork, .serverUnreachable, .storeUnreachable, .connectionLost,
    ].contains(self)
  }

  /// A service has asked to be left alone for a while: no user can shorten that.
  var isWishOfService: Bool {
    [.tooManyRequests, .serverUnavailable, .storeUnavailable, .verificationUndetermined].contains(self)
  }
}
