import AgentRecords
package import CoreTypes
package import ServiceRuntime

extension AgentService {
  /// An agent in the process that tests an app: the program's, but for its time and its patience. What it waits for in between is over in a
  /// tenth of a second. Blocks, and throws, as ``init(configuration:log:)`` does.
  package convenience init(
    embedded configuration: AgentConfiguration, log: Log, clock: any MonotonicClock, wallClock: any WallClock
  ) throws {
    let quick = Backoff(initial: .milliseconds(50), factor: 1.5, cap: .milliseconds(200), jitter: 0)
    var tuning = Tuning()
    tuning.downloadRetry = RetryPolicy(backoff: quick)
    tuning.transactionRetry = RetryPolicy(backoff: quick)
    tuning.feedRetry = quick
    tuning.listingRetry = quick
    tuning.probes = quick
    // A test of an app does not wait for the battery of the machine that it runs on.
    tuning.conditionSources = []
    try self.init(
      configuration: configuration, log: log, clock: clock, wallClock: wallClock,
      tuning: tuning)
  }
}
