import CoreTypes
import Monitoring
import ServiceRuntime

/// Goes on with the requests to extend all subscriptions of a product, also with those that an earlier process left.
final class RenewalExtender: Sendable {
  private let store: PaymentStore
  private let log: Log
  private let worker: Worker
  private let didExtend: @Sendable () -> Void

  /// `didExtend` is called when there may be something to tell.
  init(
    store: PaymentStore, log: Log, timer: any MonotonicClock = SystemMonotonicClock(),
    didExtend: @escaping @Sendable () -> Void
  ) {
    self.store = store
    self.log = log
    self.didExtend = didExtend
    worker = Worker(clock: timer)
  }

  /// A request was written down.
  func wake() { worker.wake() }

  /// Until the task is cancelled. Each pass extends one batch and calls `didExtend` after it. With nothing to
  /// do it waits for a wake, without a limit.
  func run() async {
    await worker.run { [store, didExtend] in
      guard try await store.continueMassExtension() else { return .waitForWake }
      didExtend()
      return .again
    } onFailure: { [log] error in
      log.error("subscriptions cannot be extended", ["error": LogValue(error)])
    }
  }
}
