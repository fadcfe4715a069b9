import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

/// Shows the progress of downloads: bars on a terminal, lines anywhere else.
struct DownloadDisplay {
  /// The shortest time between two frames that differ in progress only.
  static let frameInterval = Duration.milliseconds(100)

  /// The stream that bars and lines are written to.
  private let stream: StandardStream
  /// The same file as a terminal, with its size and whether it is one.
  private let terminal: Terminal
  /// The console that notes remarks and decides on colors.
  private let console: Console
  /// Whether nothing is written: a quiet console and standard error.
  private let isSilent: Bool
  /// The clock that paces frames.
  private let clock: any MonotonicClock
  /// The downloads as bars, kept without a terminal as well.
  private var board = DownloadBoard()
  /// The downloads as lines.
  private var log = DownloadLog()
  /// The remarks about an agent that is away.
  private var absence = AgentOutageNotice()
  /// The lines that are on the screen now.
  private var region = LiveRegion()
  /// The instant of the last frame; nil before the first one.
  private var lastFrame: MonotonicInstant?
  /// False once the reader of the stream has closed it.
  private(set) var isRead = true

  /// Shows nothing on standard error if the console is quiet.
  ///
  /// - Parameters:
  ///   - stream: where bars and lines go; `terminal` is the same file.
  ///   - clock: paces the frames.
  init(
    _ stream: StandardStream, terminal: Terminal, console: Console,
    clock: any MonotonicClock = SystemMonotonicClock()
  ) {
    self.stream = stream
    self.terminal = terminal
    self.console = console
    isSilent = console.isQuiet && stream === StandardStream.error
    self.clock = clock
  }

  /// Whether any download that is shown has not ended.
  var isLive: Bool { board.isLive }
  /// Whether a status of that download was shown.
  func knows(_ id: DownloadIdentifier) -> Bool { board.downloads.contains { $0.id == id } }

  /// On a terminal a frame, at once where more than progress changed; otherwise a line, if there is news.
  mutating func show(_ download: DownloadStatus) {
    let hasChanged = board.update(download)
    if terminal.isTerminal {
      draw(evenSoon: hasChanged)
    } else if let line = log.line(for: download) {
      write((showsColor ? download.color?.paint(line) ?? line : line) + "\n")
    }
  }

  /// Says once that the agent is away and once that it is back; meanwhile nothing moves.
  mutating func noteOutage(_ update: AgentUpdate) {
    if case .lost = update { board.stop() }
    if let text = absence.note(on: update) { note(text) }
  }

  /// Writes a line above the bars, where it stays; without a terminal, on standard error.
  mutating func note(_ line: String) {
    guard !isSilent, let columns = terminal.columns else {
      console.note(line)
      return
    }
    write(region.above(TextWidth.cut(line, to: columns), columns: columns))
    draw(evenSoon: true)
  }

  /// The last frame: what stays on the screen.
  mutating func finish() {
    if terminal.isTerminal { draw(evenSoon: true) }
  }

  /// - Parameter evenSoon: whether ``frameInterval`` does not count. Draws nothing without a terminal. The row of the
  /// cursor stays free below the bars.
  private mutating func draw(evenSoon: Bool) {
    guard !isSilent, let columns = terminal.columns, let rows = terminal.rows else { return }
    let now = clock.now()
    if !evenSoon, let lastFrame, now - lastFrame < Self.frameInterval { return }
    lastFrame = now
    // The cursor rests on the line below the last one.
    let lines = board.lines(columns: columns, rows: rows - 1, inColor: showsColor)
    write(region.frame(lines, columns: columns))
  }

  /// Whether this terminal gets colors.
  private var showsColor: Bool { console.showsColor(on: terminal) }

  /// Notes that the reader has closed the stream.
  private mutating func write(_ text: String) {
    if !isSilent, !stream.write(text) { isRead = false }
  }
}

/// Several downloads on a terminal, a line each, in the order they were first seen.
struct DownloadBoard {
  /// They stay when they have ended.
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

  /// Whether any download has not ended.
  var isLive: Bool { downloads.contains { !$0.state.isFinal } }

  /// Nothing is known to move any more.
  mutating func stop() {
    for index in downloads.indices {
      downloads[index].speed = 0
      downloads[index].timeRemaining = nil
    }
  }

  /// All of them as one, where there are several and one still moves: without those that failed or were cancelled.
  var sum: ProgressLine? {
    let counted = downloads.filter { $0.state != .failed && $0.state != .cancelled }
    guard counted.count > 1, counted.contains(where: { !$0.state.isFinal }) else { return nil }
    let done = counted.reduce(ByteCount.zero) { $0 + $1.bytesVerified }
    var line = ProgressLine(label: "all \(counted.count)", done: done)
    let totals = counted.compactMap(\.bytesTotal)
    guard totals.count == counted.count else { return line }
    let total = totals.reduce(.zero, +)
    line.total = total
    line.fraction = total > .zero ? Double(done.rawValue) / Double(total.rawValue) : 0
    let speed = counted.filter { $0.state == .active }.reduce(0) { $0 + $1.speed }
    if speed >= 1 {
      line.speed = ByteCount(Int64(clamping: speed))
      line.timeRemaining = Duration(clampingSeconds: Double(max(.zero, total - done).rawValue) / speed)
    }
    return line
  }

  /// Never wider than `columns`, and never more than `rows` lines: then live downloads are shown first, and a line below them
  /// says how many are left out. The last line is the sum, where there is room for it.
  func lines(columns: Int, rows: Int, inColor: Bool) -> [String] {
    let sum = rows > 2 ? sum : nil
    let room = max(1, rows - (sum == nil ? 0 : 1))
    var shown = downloads
    if shown.count > room {
      let live = shown.filter { !$0.state.isFinal }
      shown = Array((live + shown.filter(\.state.isFinal)).prefix(max(1, room - 1)))
    }
    let texts = ProgressLine.lines(shown.map(\.line) + [sum].compactMap { $0 }, columns: columns)
    var lines = zip(shown, texts).map { download, line in
      inColor ? download.color?.paint(line) ?? line : line
    }
    if shown.count < downloads.count, room > 1 { lines.append("… \(downloads.count - shown.count) more") }
    if sum != nil, let last = texts.last { lines.append(last) }
    return lines
  }
}

/// Downloads for a log or a pipe: a line for each new state or reason, and for every whole tenth of one that moves.
struct DownloadLog {
  /// The latest that was shown of a download; `tenth` is the highest so far, 0 to 10.
  private struct Seen {
    /// The state of the line before.
    var state: DownloadStatus.State
    /// The reason of the line before, in the agent's words.
    var reason: String
    /// Tenths of the whole, rounded down.
    var tenth: Int
  }

  /// The last of each download.
  private var seen: [DownloadIdentifier: Seen] = [:]

  /// A log without lines.
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

/// The words for a download.
extension DownloadStatus {
  /// The name for people: the title, else the product's identifier, and the section where it brings one.
  var name: String { (title ?? product.description) + (section.map { " (\($0))" } ?? "") }

  /// Its progress, for people.
  var line: ProgressLine {
    var line = ProgressLine(
      label: version.map { "\(name) \($0)" } ?? name,
      fraction: bytesTotal == nil && !state.isFinal ? nil : progress, done: bytesVerified,
      total: bytesTotal)
    if state == .active, let stalledSince {
      line.note = "no data since \(LocalTime.clock(stalledSince))"
    } else if state == .active, reason == "transferring" {
      line.speed = speed > 0 ? ByteCount(Int64(clamping: speed)) : nil
      line.timeRemaining = timeRemaining.map { Duration(clampingSeconds: $0) }
    } else {
      line.note = standing
    }
    return line
  }

  /// How it stands, in words: `placing`, `waits for room: needs 1.9 GiB, 1.2 GiB free`, `failed: integrity`.
  var standing: String { StandingText.of(self) }

  /// Nil for the terminal's own: what moves, and what only waits for its turn.
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
  /// `31`: a download that failed.
  case red = 31
  /// `32`: a download that has finished.
  case green = 32
  /// `33`: a download that waits, is paused or was cancelled.
  case yellow = 33

  /// The text with the sequence before it and the reset behind it (ECMA-48, SGR).
  func paint(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}
