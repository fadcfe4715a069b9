import CoreTypes
import Monitoring
import Synchronization

/// Whether the configuration that is in use is the one that was last asked for.
final class ReloadMetrics: MetricSource {
  /// The outcome of the last reload, and the moment of the last one that succeeded.
  private struct State {
    /// False after a reload that failed, until one succeeds.
    var isCurrent = true
    /// The moment at which the configuration in use was read.
    var last: Timestamp
  }

  private let state: Mutex<State>

  /// The start counts as a reload.
  init(at start: Timestamp) {
    state = Mutex(State(last: start))
  }

  /// A reload has taken the configuration that is in the file.
  func succeeded(at now: Timestamp) {
    state.locked { $0 = State(last: now) }
  }

  /// A reload has failed; the configuration of before stays in use.
  func failed() {
    state.locked { $0.isCurrent = false }
  }

  /// Registers two gauges, which are read while the page of metrics is made.
  func register(in metrics: inout MetricRegistry) {
    metrics.register([
      .gauge(
        "pullbox_configuration_last_reload_successful",
        help: "0 after a reload that failed and changed nothing."
      ) { self.state.locked { $0.isCurrent ? 1 : 0 } },
      .gauge(
        "pullbox_configuration_last_reload_success_timestamp_seconds",
        help: "When the configuration in use was read, in seconds since the epoch.", labels: []
      ) { [.init(self.state.locked { $0.last })] },
    ])
  }
}
