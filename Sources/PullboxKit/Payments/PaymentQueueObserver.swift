public import Commerce
public import PullboxAPI

/// Is notified of what happens in a ``PaymentQueue``, in order, one call at a time: a slow observer delays the others. Every method but the
/// first has an empty default.
public protocol PaymentQueueObserver: AnyObject, Sendable {
  /// Transactions that are new or have changed. An observer that was added before the queue runs first gets
  /// every transaction that is not over.
  func paymentQueue(_ queue: PaymentQueue, updated transactions: [PaymentTransaction]) async
  /// Transactions that are over, finished or failed; each was reported as updated before.
  func paymentQueue(_ queue: PaymentQueue, removed transactions: [PaymentTransaction]) async
  /// Downloads that are new, have changed, or have made progress.
  func paymentQueue(_ queue: PaymentQueue, updated downloads: [ContentDownload]) async
  /// Everything that ``PaymentQueue/restoreCompletedTransactions(_:)`` began is on this device, verified: these products, none where
  /// nothing was to be fetched.
  func paymentQueue(_ queue: PaymentQueue, restored products: [ProductIdentifier]) async
  /// A restore is over and not complete.
  func paymentQueue(_ queue: PaymentQueue, restoreFailed failure: RestoreFailure) async
  /// Content came, went or changed in the library of this device.
  func paymentQueue(_ queue: PaymentQueue, library event: LibraryEvent) async
  /// A new issue that the agent fetched by itself is in the library.
  func paymentQueue(_ queue: PaymentQueue, issueReady item: LibraryItem) async
  /// A corrected version that the agent fetched by itself is in the library.
  func paymentQueue(_ queue: PaymentQueue, correctionReady item: LibraryItem) async
  /// The server told of a change in what the account owns: an issue appeared, a refund was made, a subscription ended.
  func paymentQueue(_ queue: PaymentQueue, owned entry: FeedEntry) async
  /// The connection to the agent is lost or there again. Nothing is lost meanwhile.
  func paymentQueue(_ queue: PaymentQueue, isConnected: Bool) async
}

extension PaymentQueueObserver {
  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, removed transactions: [PaymentTransaction]) async {}
  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, updated downloads: [ContentDownload]) async {}
  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, restored products: [ProductIdentifier]) async {}
  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, restoreFailed failure: RestoreFailure) async {}
  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, library event: LibraryEvent) async {}
  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, issueReady item: LibraryItem) async {}
  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, correctionReady item: LibraryItem) async {}
  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, owned entry: FeedEntry) async {}
  /// Does nothing.
  public func paymentQueue(_ queue: PaymentQueue, isConnected: Bool) async {}
}

/// Why a restore is over and not complete.
public struct RestoreFailure: Error {
  /// The refusal, where the restore did not begin; nil where downloads ended otherwise than finished.
  public let error: APICallError?
  /// The products that are on this device by it, in the order of the restore.
  public let restored: [ProductIdentifier]
  /// The downloads that failed or were cancelled, by product in the order of the restore.
  public let downloads: [ContentDownload]
}
