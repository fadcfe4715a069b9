import CoreTypes
import PullboxAPI
import PullboxAPIClient
import ServiceRuntime
import Synchronization

/// Tells the server of content that is not what its manifest says: enough such reports pause the release. Each grant is reported
/// once, nothing waits for it, and a report that does not arrive is left to other devices.
final class VerificationReports: Sendable {
  /// Reports that have not been sent yet; of more, the oldest are dropped.
  static let maximumWaiting = 64
  /// Grants that are known to have been reported, the latest.
  static let maximumKnown = 256

  private struct Report: Sendable {
    var grant: GrantIdentifier
    var terms: DownloadTerms
  }

  private let server: DeliveryClient
  private let clock: any MonotonicClock
  private let log: Log
  private struct State {
    var waiting: [Report] = []
    var known: [GrantIdentifier] = []
  }

  private let state = Mutex(State())
  private let wakeUp = AsyncSignal()

  init(server: DeliveryClient, clock: any MonotonicClock, log: Log) {
    self.server = server
    self.clock = clock
    self.log = log
  }

  /// Reports a grant once, however often its content comes wrong. Never waits.
  func add(_ grant: GrantIdentifier, _ terms: DownloadTerms) {
    state.withLock { state in
      guard !state.known.contains(grant) else { return }
      state.known.append(grant)
      state.known.removeFirst(max(0, state.known.count - Self.maximumKnown))
      state.waiting.append(Report(grant: grant, terms: terms))
      state.waiting.removeFirst(max(0, state.waiting.count - Self.maximumWaiting))
    }
    wakeUp.signal()
  }

  /// Sends what comes until the task is cancelled. They go one after the other. A report that fails is logged
  /// and not repeated.
  func run() async {
    while !Task.isCancelled {
      while let report = state.withLock({ $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }) {
        do {
          try await server.reportFailure(of: report.grant, terms: report.terms)
        } catch {
          log.info(
            "a failed verification could not be reported",
            ["product": LogValue(report.terms.product), "error": LogValue("\(error)")])
        }
      }
      await wakeUp.wait(atMost: nil, clock: clock)
    }
  }
}
