import CoreTypes
import Dispatch
import Files
import PullboxTesting
import ServiceRuntime
import SystemCalls

/// A disk whose first sync takes until ``end()``, and that counts them all.
final class SlowSyncs: Sendable {
  private let count = Locked(0)
  private let hasBegun = AsyncSignal()
  private let mayEnd = DispatchSemaphore(value: 0)

  /// From now on every sync that goes through `operations` counts.
  init(_ operations: FaultyFileOperations) {
    operations.answer { [count, hasBegun, mayEnd] call, _ in
      switch call {
      case .synchronize, .synchronizeDirectory, .synchronizeFileSystem, .awaitWriteback: break
      default: return nil
      }
      let isFirst = count.withLock { count in
        count += 1
        return count == 1
      }
      if isFirst {
        hasBegun.signal()
        mayEnd.wait()
      }
      return nil
    }
  }

  /// Syncs that have begun.
  var syncs: Int { count.current }

  /// Returns once the first sync is under way.
  func firstSync() async {
    await hasBegun.wait(atMost: nil, clock: SystemMonotonicClock())
  }

  func end() { mayEnd.signal() }
}
