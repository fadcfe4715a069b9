import PullboxAPI
import ServiceRuntime

/// Downloads for a log or a pipe: a line for each new state or reason, and for every whole tenth of one that moves.
struct DownloadLog {
  private struct Seen {
    var state: DownloadStatus.State
    var reason: String
    var tenth: Int
  }

  private var seen: [DownloadIdentifier: Seen] = [:]

  init() {}

  /// The line that this news is worth; nil for none.
  mutating func line(for download: DownloadStatus) -> String? {
    let tenth = Int(min(1, max(0, download.progress)) * 10)
    let now = Seen(state: download.state, reason: download.reason, tenth: tenth)
    let before = seen.updateValue(now, forKey: download.id)
    guard let before, before.state == now.state, before.reason == now.reason else {
      return download.line.plain
    }
    // A tenth told once is not told again when damaged pieces take the progress back.
    seen[download.id]?.tenth = max(before.tenth, tenth)
    return tenth > before.tenth ? download.line.plain : nil
  }
}
