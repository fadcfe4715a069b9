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

  /// The open requests, and since when there is none.
  private struct Requests {
    var count = 0
    /// Nil while one is open, and where none counts any more.
    var idleSince: MonotonicInstant?

    mutating func begin() {
      count += 1
      idleSince = nil
    }

    /// Whether it was the last one.
    mutating func end(at now: MonotonicInstant) -> Bool {
      count -= 1
      if count == 0 { idleSince = now }
      return count == 0
    }
  }

  private struct State {
    var standing: Standing
    var all: Requests
    /// Those of programs that may say how urgently a download is wanted.
    var hastening = Requests()
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
    state = Mutex(State(standing: standing, all: Requests(idleSince: clock.now())))
  }

  /// How it stands now.
  var standing: Standing { state.locked { $0.standing } }

  /// Takes the place of the standing before; readers look again.
  func set(_ standing: Standing) {
    state.locked { $0.standing = standing }
    changes.signal()
  }

  /// A request begins to read; it is over when what is returned is gone.
  func begin() -> Request {
    state.locked { $0.all.begin() }
    return Request(self)
  }

  private func end(hastens: Bool) {
    let now = clock.now()
    let isIdle = state.locked { state in
      let isLast = state.all.end(at: now)
      return hastens ? state.hastening.end(at: now) || isLast : isLast
    }
    if isIdle { wakeUp.signal() }
  }

  /// How long it has had no request; nil while one is open.
  var idleTime: Duration? { state.locked { $0.all.idleSince }.map { clock.now() - $0 } }

  /// Whether the download is wanted now for its readers: from the first request that hastens it until ``endHaste(idleFor:)``.
  var isHastened: Bool { state.locked { $0.hastening.count > 0 || $0.hastening.idleSince != nil } }

  /// How long it has had no request that hastens it; nil while one is open, and where it is not hastened.
  var hasteIdleTime: Duration? { state.locked { $0.hastening.idleSince }.map { clock.now() - $0 } }

  /// Ends the haste where no request that hastens it was open for so long. Answers whether it did.
  func endHaste(idleFor grace: Duration) -> Bool {
    let now = clock.now()
    return state.locked { state in
      guard let since = state.hastening.idleSince, now - since >= grace else { return false }
      state.hastening.idleSince = nil
      return true
    }
  }

  /// A request that reads.
  final class Request: Sendable {
    /// The reading that it is of.
    let reading: DownloadReading
    private let hastens = Mutex(false)

    fileprivate init(_ reading: DownloadReading) {
      self.reading = reading
    }

    /// From now on the download is wanted now, for as long as this request is there and for a while after. Answers whether it was not before.
    func hasten() -> Bool {
      hastens.locked { hastens in
        guard !hastens else { return false }
        hastens = true
        return reading.state.locked { state in
          let isFirst = state.hastening.count == 0 && state.hastening.idleSince == nil
          state.hastening.begin()
          return isFirst
        }
      }
    }

    deinit {
      reading.end(hastens: hastens.locked { $0 })
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
