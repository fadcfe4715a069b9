import CoreTypes
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import ServiceRuntime
import Synchronization

/// Tells the server of content that is not what its manifest says: enough such reports pause the release. Each grant is reported
/// once, nothing waits for it, and a report that does not arrive is left to other devices.
final class VerificationReports: Sendable {
  /// Reports that have not been sent yet; of more, the oldest are dropped.
  static let maximumWaiting = 64
  /// Grants that are known to have been reported, the latest.
  static let maximumKnown = 256

  /// A report to be sent.
  private struct Report: Sendable {
    /// The grant by which the content came.
    var grant: GrantIdentifier
    /// The terms that the content does not keep.
    var terms: DownloadTerms
  }

  /// The client that sends.
  private let server: DeliveryClient
  /// The clock of the wait for the next report.
  private let clock: any MonotonicClock
  /// The log of reports that fail.
  private let log: Log
  /// The reports to be sent, and the grants that need none any more.
  private struct State {
    /// The reports, the oldest first.
    var waiting: [Report] = []
    /// The grants, the oldest first.
    var known: [GrantIdentifier] = []
  }

  /// Guards the state: reports are added from any thread.
  private let state = Mutex(State())
  /// Raised at each report.
  private let wakeUp = AsyncSignal()

  /// No reports yet; they are sent by ``run()``.
  init(server: DeliveryClient, clock: any MonotonicClock, log: Log) {
    self.server = server
    self.clock = clock
    self.log = log
  }

  /// Reports a grant once, however often its content comes wrong. Never waits.
  func add(_ grant: GrantIdentifier, _ terms: DownloadTerms) {
    state.locked { state in
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
      while let report = state.locked({ $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }) {
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
