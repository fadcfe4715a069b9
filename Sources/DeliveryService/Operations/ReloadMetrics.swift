import CoreTypes
import Monitoring
import Synchronization

/// Whether the configuration that is in use is the one that was last asked for.
final class ReloadMetrics: MetricSource {
  private struct State {
    var isCurrent = true
    var last: Timestamp
  }

  private let state: Mutex<State>

  /// The start counts as a reload.
  init(at start: Timestamp) {
    state = Mutex(State(last: start))
  }

  func succeeded(at now: Timestamp) {
    state.withLock { $0 = State(last: now) }
  }

  func failed() {
    state.withLock { $0.isCurrent = false }
  }

  func register(in metrics: inout MetricRegistry) {
    metrics.register([
      .gauge(
        "pullbox_configuration_last_reload_successful",
        help: "0 after a reload that failed and changed nothing."
      ) { self.state.withLock { $0.isCurrent ? 1 : 0 } },
      .gauge(
        "pullbox_configuration_last_reload_success_timestamp_seconds",
        help: "When the configuration in use was read, in seconds since the epoch.", labels: []
      ) { [.init(self.state.withLock { $0.last })] },
    ])
  }
}
