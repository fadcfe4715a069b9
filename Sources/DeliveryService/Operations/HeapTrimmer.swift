import CoreTypes
import SystemCalls

/// Gives memory that requests have left free back to the system while there is work: in pieces as it lies, little of it would be
/// used again, and the next crowd would take more.
///
///     await HeapTrimmer(admission: admission).run(timer: timer)
struct HeapTrimmer: Sendable {
  /// Between two looks. Giving back takes a millisecond for some ten MiB, during which nothing can be allocated.
  static let interval = Duration.milliseconds(2500)

  let admission: AdmissionControl

  /// Runs until the task is cancelled.
  func run(timer: any MonotonicClock) async {
    while !Task.isCancelled {
      do {
        try await timer.sleep(for: Self.interval)
      } catch {
        return
      }
      if admission.takeWork() { await BlockingPool.shared.run { Heap.trim() } }
    }
  }
}
