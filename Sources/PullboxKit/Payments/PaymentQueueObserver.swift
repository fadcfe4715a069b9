/// Is told what happens in a ``PaymentQueue``, in order, one call at a time, from the task that runs the queue.
public protocol PaymentQueueObserver: AnyObject, Sendable {
  /// New transactions, and those that changed. An observer that is there before the queue runs first gets every
  /// transaction that is not over.
  func paymentQueue(_ queue: PaymentQueue, updated transactions: [PaymentTransaction]) async
  /// Transactions that are over, finished or failed; each was told as updated before.
  func paymentQueue(_ queue: PaymentQueue, removed transactions: [PaymentTransaction]) async
  func paymentQueue(_ queue: PaymentQueue, updated downloads: [ContentDownload]) async
  /// The agent is gone or back. Nothing is lost meanwhile.
  func paymentQueue(_ queue: PaymentQueue, isConnected: Bool) async
}

extension PaymentQueueObserver {
  public func paymentQueue(_ queue: PaymentQueue, removed transactions: [PaymentTransaction]) async {}
  public func paymentQueue(_ queue: PaymentQueue, updated downloads: [ContentDownload]) async {}
  public func paymentQueue(_ queue: PaymentQueue, isConnected: Bool) async {}
}
