import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
import ServiceRuntime
import Synchronization

/// A download that is read while it comes: how it stands for its readers, who look at this and not at the manager. One for all requests
/// that read it; it ends ``DownloadManager/readingGrace`` after the last of them.
final class DownloadReading: Sendable {
  /// Where its bytes are.
  enum Source: Sendable {
    /// Nothing can be read yet: there is no manifest, or another download of the same content has brought its own.
    case pending
    /// On their way. Some of them may be there.
    case staged(ReadingDemand)
    /// At their place in the library.
    case placed(ProductIdentifier, ContentVersion)
  }

  /// How it stands.
  struct Standing: Sendable {
    var status: DownloadStatus
    var source: Source
  }

  private struct State {
    var standing: Standing
    var requests = 0
    /// Nil while a request is open.
    var idleSince: MonotonicInstant?
  }

  /// The download.
  let identifier: DownloadIdentifier
  /// Signalled when the standing, or what can be read of it, has changed.
  let changes: ChangeSignal
  private let clock: any MonotonicClock
  /// Wakes the manager's loop, which ends what is read no more.
  private let wakeUp: AsyncSignal
  private let state: Mutex<State>

  /// A reading without requests.
  init(_ standing: Standing, changes: ChangeSignal, clock: any MonotonicClock, wakeUp: AsyncSignal) {
    identifier = standing.status.id
    self.changes = changes
    self.clock = clock
    self.wakeUp = wakeUp
    state = Mutex(State(standing: standing, idleSince: clock.now()))
  }

  /// How it stands now.
  var standing: Standing { state.withLock { $0.standing } }

  /// Takes the place of the standing before; readers look again.
  func set(_ standing: Standing) {
    state.withLock { $0.standing = standing }
    changes.signal()
  }

  /// A request begins to read; it is over when what is returned is gone.
  func begin() -> Request {
    state.withLock { state in
      state.requests += 1
      state.idleSince = nil
    }
    return Request(self)
  }

  private func end() {
    let isIdle = state.withLock { state in
      state.requests -= 1
      if state.requests == 0 { state.idleSince = clock.now() }
      return state.requests == 0
    }
    if isIdle { wakeUp.signal() }
  }

  /// How long it has had no request; nil while one is open.
  var idleTime: Duration? { state.withLock { $0.idleSince }.map { clock.now() - $0 } }

  /// A request that reads.
  final class Request: Sendable {
    /// The reading that it is of.
    let reading: DownloadReading

    fileprivate init(_ reading: DownloadReading) {
      self.reading = reading
    }

    deinit {
      reading.end()
    }
  }
}

/// The reasons that readers are told of a download that brings them nothing, as a pure function of its status.
extension DownloadReading.Standing {
  /// The end of a download, after which nothing of it is read; nil while it goes on or is at its place.
  var end: Problem? {
    switch status.state {
    case .failed: status.error ?? refusal(410, "The download has failed")
    case .cancelled: refusal(410, "The download was cancelled", code: "download-cancelled")
    case .waiting, .active, .paused, .finished: nil
    }
  }

  /// The reason why nothing more comes for now, while what is there can be read; nil while bytes come, or may come by themselves.
  var obstacle: Problem? {
    switch status.state {
    case .failed, .cancelled: end
    case .paused: refusal(409, "The download is paused", code: "download-paused")
    case .waiting where status.reason == StatusReason.insufficientSpace.rawValue:
      refusal(507, "The device has too little free space")
    case .waiting where status.reason == StatusReason.libraryOffline.rawValue:
      Problem(.libraryOffline, status.cause)
    case .waiting, .active, .finished: nil
    }
  }

  /// Whether what is staged can be read in a moment, where it cannot yet: an earlier process has left it, and it is being looked at.
  var isBeingOpened: Bool { status.reason != StatusReason.libraryOffline.rawValue }

  /// The code is the status's reason unless it is given.
  private func refusal(_ code: Int, _ title: String, code name: String? = nil) -> Problem {
    var problem = Problem(.stateConflict, status.cause)
    problem.type = "\(ProblemCode.typePrefix)\(name ?? status.reason)"
    problem.title = title
    problem.status = code
    return problem
  }
}
