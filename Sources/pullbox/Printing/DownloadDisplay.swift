import CoreTypes
import PullboxAPI
import ServiceRuntime

/// Shows the progress of downloads: bars on a terminal, lines anywhere else.
struct DownloadDisplay {
  /// The shortest time between two frames that differ in progress only.
  static let frameInterval = Duration.milliseconds(100)

  private let stream: StandardStream
  private let terminal: Terminal
  private let clock: any MonotonicClock
  private var board = DownloadBoard()
  private var log = DownloadLog()
  private var region = LiveRegion()
  private var lastFrame: MonotonicInstant?
  /// False once the reader of the stream has closed it.
  private(set) var isRead = true

  init(_ stream: StandardStream, terminal: Terminal, clock: any MonotonicClock = SystemMonotonicClock()) {
    self.stream = stream
    self.terminal = terminal
    self.clock = clock
  }

  var isLive: Bool { board.isLive }
  func knows(_ id: DownloadIdentifier) -> Bool { board.downloads.contains { $0.id == id } }

  mutating func show(_ download: DownloadStatus) {
    let hasChanged = board.update(download)
    if terminal.isTerminal {
      draw(evenSoon: hasChanged)
    } else if let line = log.line(for: download) {
      write(line + "\n")
    }
  }

  /// Writes a line above the bars, where it stays; without a terminal, on standard error.
  mutating func note(_ line: String) {
    guard let columns = terminal.columns else {
      StandardStream.error.write(line + "\n")
      return
    }
    write(region.above(TextWidth.cut(line, to: columns), columns: columns))
    draw(evenSoon: true)
  }

  /// The last frame: what stays on the screen.
  mutating func finish() {
    if terminal.isTerminal { draw(evenSoon: true) }
  }

  private mutating func draw(evenSoon: Bool) {
    guard let columns = terminal.columns, let rows = terminal.rows else { return }
    let now = clock.now()
    if !evenSoon, let lastFrame, now - lastFrame < Self.frameInterval { return }
    lastFrame = now
    // The cursor rests on the line below the last one.
    let lines = board.lines(columns: columns, rows: rows - 1, inColor: terminal.showsColor)
    write(region.frame(lines, columns: columns))
  }

  private mutating func write(_ text: String) {
    if !stream.write(text) { isRead = false }
  }
}

/// Several downloads on a terminal, a line each, in the order they were first seen.
struct DownloadBoard {
  private(set) var downloads: [DownloadStatus] = []

  /// Whether more than the download's progress changed.
  mutating func update(_ download: DownloadStatus) -> Bool {
    guard let index = downloads.firstIndex(where: { $0.id == download.id }) else {
      downloads.append(download)
      return true
    }
    defer { downloads[index] = download }
    return downloads[index].state != download.state || downloads[index].reason != download.reason
  }

  var isLive: Bool { downloads.contains { !$0.state.isFinal } }

  /// Never wider than `columns`, and never more than `rows` lines: then live downloads are shown first, and the last line
  /// says how many are left out.
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

/// Downloads for a log or a pipe: a line for each new state or reason, and for every whole tenth of one that moves.
struct DownloadLog {
  private struct Seen {
    var state: DownloadStatus.State
    var reason: String
    var tenth: Int
  }

  private var seen: [DownloadIdentifier: Seen] = [:]

  init() {}

  /// The line for a download's new status; nil for none.
  mutating func line(for download: DownloadStatus) -> String? {
    let tenth = Int(clamping: min(1, max(0, download.progress)) * 10)
    let now = Seen(state: download.state, reason: download.reason, tenth: tenth)
    let before = seen.updateValue(now, forKey: download.id)
    guard let before, before.state == now.state, before.reason == now.reason else {
      return download.line.plain
    }
    // No line for a tenth twice, although damaged pieces take the progress back.
    seen[download.id]?.tenth = max(before.tenth, tenth)
    return tenth > before.tenth ? download.line.plain : nil
  }
}

extension DownloadStatus {
  /// Its progress, for people.
  var line: ProgressLine {
    let name = version.map { "\(product) \($0)" } ?? "\(product)"
    var line = ProgressLine(
      label: name, fraction: bytesTotal == nil && !state.isFinal ? nil : progress, done: bytesVerified,
      total: bytesTotal)
    if state == .active, reason == "transferring" {
      line.speed = speed > 0 ? ByteCount(Int64(clamping: speed)) : nil
      line.timeRemaining = timeRemaining.map { Duration(clampingSeconds: $0) }
    } else {
      line.note = standing
    }
    return line
  }

  /// How it stands, in words: `placing`, `waits for room: needs 1.9 GiB, 1.2 GiB free`, `failed: integrity`.
  var standing: String { StandingText.of(self) }

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

/// The few colors this program uses, as a terminal's own palette has them.
enum ANSIColor: Int {
  case red = 31
  case green = 32
  case yellow = 33

  func paint(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}
