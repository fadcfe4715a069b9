import CoreTypes
import PullboxAPI
import ServiceRuntime

/// Shows downloads as they go on: bars that move on a terminal, lines anywhere else.
struct DownloadDisplay {
  /// Between two frames that differ in progress only.
  static let frameInterval = Duration.milliseconds(100)

  private let stream: StandardStream
  private let terminal: Terminal
  private let clock: any MonotonicClock
  private var board = DownloadBoard()
  private var log = DownloadLog()
  private var screen = LiveRegion()
  private var lastFrame: MonotonicInstant?
  /// False once nobody reads the stream any more.
  private(set) var isRead = true

  init(_ stream: StandardStream, _ terminal: Terminal, clock: any MonotonicClock = SystemMonotonicClock()) {
    self.stream = stream
    self.terminal = terminal
    self.clock = clock
  }

  var isLive: Bool { board.isLive }
  func knows(_ id: DownloadIdentifier) -> Bool { board.downloads.contains { $0.id == id } }

  mutating func show(_ download: DownloadStatus) {
    let isNews = board.update(download)
    if terminal.isTerminal {
      draw(evenSoon: isNews)
    } else if let line = log.line(for: download) {
      write(line + "\n")
    }
  }

  /// A line that stays, above the bars; on standard error where there are none.
  mutating func note(_ line: String) {
    guard let columns = terminal.columns else {
      StandardStream.error.write(line + "\n")
      return
    }
    write(screen.above(TextWidth.cut(line, to: columns), columns: columns))
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
    write(screen.frame(lines, columns: columns))
  }

  private mutating func write(_ text: String) {
    if !stream.write(text) { isRead = false }
  }
}
