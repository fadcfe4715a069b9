import CoreTypes
import PullboxAPI
import ServiceRuntime

extension DownloadStatus {
  /// How it stands, for people.
  var line: ProgressLine {
    let name = version.map { "\(product) \($0)" } ?? "\(product)"
    var line = ProgressLine(
      label: name, fraction: bytesTotal == nil && !state.isFinal ? nil : progress, done: bytesVerified,
      total: bytesTotal)
    if state == .active, reason == "transferring" {
      line.speed = speed > 0 ? ByteCount(Int64(speed)) : nil
      line.timeRemaining = timeRemaining.map { .seconds($0) }
    } else {
      line.note = standing
    }
    return line
  }

  /// State and reason, once where they say the same: `paused (user)`, `waiting (store-unreachable)`, `placing`.
  var standing: String {
    switch state {
    case .active: reason
    case .finished: "finished"
    default: reason.isEmpty || reason == state.rawValue ? state.rawValue : "\(state.rawValue) (\(reason))"
    }
  }

  var color: ANSIColor? {
    switch state {
    case .finished: .green
    case .failed: .red
    case .waiting where reason == "queued": nil
    case .waiting, .paused, .cancelled: .yellow
    case .active: nil
    }
  }
}
