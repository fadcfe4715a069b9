import Synchronization

/// What the tasks of a running ``ServiceGroup`` share.
final class GroupState: Sendable {
  /// Everything is to stop.
  let stop = Event()
  private let log: Log
  private let failed = Atomic(false)
  private let ready = Atomic(false)
  private let running: Atomic<Int>

  init(log: Log, serviceCount: Int) {
    self.log = log
    running = Atomic(serviceCount)
  }

  var hasFailed: Bool { failed.load(ordering: .acquiring) }

  /// Everything has started, and the service manager is being told or knows.
  var isReady: Bool { ready.load(ordering: .acquiring) }

  func becomeReady() {
    ready.store(true, ordering: .releasing)
  }

  func fail(_ message: String, _ service: (any Service)?, _ error: any Error) {
    log.error(message, ["service": LogValue(service?.name), "error": LogValue(error)])
    failed.store(true, ordering: .releasing)
    stop.happen()
  }

  /// A group none of whose services has anything left to do stops.
  func countEnded() {
    if running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { stop.happen() }
  }
}
