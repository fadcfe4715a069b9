import PullboxAPI
import ServiceRuntime
import ServiceRuntime

/// Several downloads on a terminal, a line each, in the order they were first seen.
struct DownloadBoard {
  private(set) var downloads: [DownloadStatus] = []

  /// Whether more than its progress is new.
  mutating func update(_ download: DownloadStatus) -> Bool {
    guard let index = downloads.firstIndex(where: { $0.id == download.id }) else {
      downloads.append(download)
      return true
    }
    defer { downloads[index] = download }
    return downloads[index].state != download.state || downloads[index].reason != download.reason
  }

  var isLive: Bool { downloads.contains { !$0.state.isFinal } }

  /// Never wider than `columns`, and never more than `rows` lines: then those that move stay, and the last line says how
  /// many are not shown.
  func lines(columns: Int, rows: Int, inColor: Bool) -> [String] {
    let room = max(1, rows)
    var shown = downloads
    if shown.count > room {
      let live = shown.filter { !$0.state.isFinal }
      shown = Array((live + shown.filter(\.state.isFinal)).prefix(max(1, room - 1)))
    }
    var lines = zip(shown, ProgressLine.lines(shown.map(\.line), columns: columns)).map { download, line in
      inColor ? download.color?.paint(line) ?? line : line
    }
    if shown.count < downloads.count, room > 1 { lines.append("… \(downloads.count - shown.count) more") }
    return lines
  }
}
