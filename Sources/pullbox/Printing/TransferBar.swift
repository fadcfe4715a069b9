import CoreTypes
import PullboxKit
import PullboxOperatorKit
import ServiceRuntime
import Synchronization

/// One bar on standard error for something that this process does itself. ``report(_:of:note:)`` never waits for the terminal.
final class TransferBar: Sendable {
  /// The state of the transfer, which ``report(_:of:note:)`` changes.
  private struct Values {
    /// The bytes that have gone or come so far.
    var done = ByteCount.zero
    /// The bytes of the whole; nil before the first report.
    var total: ByteCount?
    /// The words in place of speed and time; nil for none.
    var note: String?
    /// The speed by the recent reports.
    var rate = TransferRate()
  }

  /// The state of the terminal or of the log.
  private struct Screen {
    /// The bar on a terminal.
    var lines = LiveRegion()
    /// The highest tenth that a log has a line for.
    var plainTenth = 0
    /// The last note that a log has a line for.
    var plainNote: String?
    /// Whether the bar was removed for good: a late frame is not drawn.
    var isOver = false
  }

  /// The time between two frames on a terminal.
  private static let frameInterval = Duration.milliseconds(100)
  /// The time between lines in a log. A transfer that ends sooner needs no line.
  private static let lineInterval = Duration.seconds(1)

  /// The words before the bar, without control characters.
  private let label: String
  /// The terminal of standard error, which bars go to.
  private let terminal = Terminal.standardError
  /// The clock that paces frames and measures speed.
  private let clock: any MonotonicClock
  /// Locked for a moment only, so that a slow terminal holds up no transfer.
  private let values = Mutex(Values())
  /// Locked while the terminal is written to, for as long as that takes.
  private let screen = Mutex(Screen())

  /// A bar that is not drawn yet.
  private init(_ label: String, clock: any MonotonicClock) {
    self.label = PlainText.line(label)
    self.clock = clock
  }

  /// Shows a bar while `body` runs, unless the console is quiet. The bar is gone when `body` has ended,
  /// whatever its end. A terminal that does not take the text holds up the drawing alone, but for the last
  /// clearing.
  static func show<Value: Sendable>(
    _ label: String, on console: Console, clock: any MonotonicClock = SystemMonotonicClock(),
    _ body: (TransferBar) async throws -> Value
  ) async throws -> Value {
    let bar = TransferBar(label, clock: clock)
    guard !console.isQuiet else { return try await body(bar) }
    async let _: Void = bar.drawRepeatedly()
    defer { bar.clear() }
    return try await body(bar)
  }

  /// `note` replaces speed and time. Any thread may call this.
  func report(_ done: ByteCount, of total: ByteCount, note: String? = nil) {
    let now = clock.now()
    values.locked { values in
      values.done = done
      values.total = total
      values.note = note
      values.rate.add(done, at: now)
    }
  }

  /// Ends when its task is cancelled, as the end of `show` does.
  private func drawRepeatedly() async {
    while !Task.isCancelled {
      // Cancelled: the loop's condition ends it.
      try? await clock.sleep(for: terminal.isTerminal ? Self.frameInterval : Self.lineInterval)
      if !Task.isCancelled { draw() }
    }
  }

  /// A frame on a terminal. In a log it is a line for every tenth and for each new note.
  private func draw() {
    screen.locked { screen in
      guard !screen.isOver else { return }
      let line = values.locked { Self.line(label: label, $0) }
      if let columns = terminal.columns {
        let bar = line.line(columns: columns)
        StandardStream.error.write(screen.lines.frame([bar], columns: columns))
        return
      }
      let tenth = Int(clamping: (line.fraction ?? 0) * 10)
      guard tenth > screen.plainTenth || line.note != screen.plainNote else { return }
      screen.plainTenth = tenth
      screen.plainNote = line.note
      StandardStream.error.write(line.plain + "\n")
    }
  }

  /// Removes the bar from the screen: the command prints the result.
  private func clear() {
    screen.locked { screen in
      screen.isOver = true
      guard let columns = terminal.columns else { return }
      StandardStream.error.write(screen.lines.frame([], columns: columns))
    }
  }

  /// A transfer of nothing is whole.
  private static func line(label: String, _ values: Values) -> ProgressLine {
    let fraction = values.total.map { total in
      total > .zero ? Double(values.done.rawValue) / Double(total.rawValue) : 1
    }
    return ProgressLine(
      label: label, fraction: fraction, done: values.done, total: values.total, speed: values.rate.speed,
      timeRemaining: values.total.flatMap { values.rate.timeRemaining(to: $0) }, note: values.note)
  }
}
