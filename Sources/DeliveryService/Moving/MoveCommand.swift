import CoreTypes
import Crypto
import DeliveryRecords
import PullboxAPI
import RecordTransfer
import ServiceRuntime

/// `pullbox-server move`: what it takes, and what it prints. docs/moving.md shows how it is used.
enum MoveCommand {
  /// The description, from which help and manual are made.
  static let description = CommandDescription(
    "move", summary: "Move a server's state between a state directory and PostgreSQL, either way",
    discussion: """
      Each place is a state directory, whose records lie in its server.db, or a configuration file, whose records lie in its \
      database; no variable and no other option counts for it. Packages are copied first, beside the server that runs, unless both \
      places have one state directory. Then, with the server stopped, all records are copied and compared table by table, and \
      the place that they have left starts no server any more. The target has to be empty, or the place that the records \
      came from. Given again after it was killed, it goes on. Exit code 6: a package is damaged, or what has come is not what was sent.
      """,
    options: [
      .value(
        "from", "PATH", environment: .none, key: .none,
        help: "The state directory, or the configuration file, that is left"),
      .value(
        "to", "PATH", environment: .none, key: .none,
        help: "The state directory, or the configuration file, to go to"),
      .flag(
        "packages-only", environment: .none, key: .none,
        help: "Copy packages alone, while the server runs; may be given again"),
      .value(
        "rate", "SIZE", environment: .none, key: .none,
        help: "Read at most so many bytes of packages a second, such as 50MiB"),
      .flag("json", environment: .none, key: .none, help: "Print JSON"),
    ])

  /// Moves, tells its progress on standard error where that is a terminal, and prints a summary. Blocks. Throws what ``Move/run(packagesOnly:)``
  /// throws, `UsageError` for a place that is none, and ``ConfigurationError``.
  static func run(
    _ arguments: ParsedArguments, configuration: (String) throws -> DeliveryConfiguration
  ) throws -> ExitCode {
    let display = MoveDisplay(terminal: .standardError)
    var move = Move(
      source: try StatePlace(named: try arguments.required("from"), configuration: configuration),
      target: try StatePlace(named: try arguments.required("to"), configuration: configuration))
    move.rate = try rate(arguments)
    move.progress = { display.show($0) }
    let begun = ContinuousClock.now
    defer { display.clear() }
    let outcome = try move.run(packagesOnly: arguments.isSet("packages-only"))
    display.clear()
    let report = MoveReport(outcome, took: .now - begun)
    if arguments.isSet("json") {
      StandardStream.output.write(try APIJSON.encode(report) + Array("\n".utf8))
    } else {
      for line in report.lines { StandardStream.output.write(PlainText.line(line) + "\n") }
    }
    for digest in report.damaged {
      StandardStream.error.write("damaged at \(PlainText.line(report.from)): \(digest)\n")
    }
    return report.damaged.isEmpty ? .done : .integrity
  }

  private static func rate(_ arguments: ParsedArguments) throws(UsageError) -> ReadingRate {
    guard let text = arguments.value("rate") else { return ReadingRate() }
    guard let size = ConfigurationSize(text), size.bytes > .zero else {
      throw UsageError("--rate takes a number of bytes such as 50MiB, not '\(text)'")
    }
    return ReadingRate(size.bytes)
  }
}

/// The output of `move --json`.
struct MoveReport: Codable, Hashable, Sendable {
  /// A table that was copied.
  struct Table: Codable, Hashable, Sendable {
    var name: String
    var rows: Int
    /// The SHA-256 of the rows' values in the order of their key, which both places have.
    var sha256: SHA256Digest
  }

  var from: String
  var to: String
  /// Whether a server starts at the target, and none any more at the place that was left.
  var isMoved: Bool
  /// Whether both places have the same records, and packages alone have moved.
  var keepsRecords: Bool
  /// Empty where no records had to be copied.
  var tables: [Table]
  var rows: Int
  /// Packages that were copied, and those that were there.
  var packagesCopied: Int
  var packagesPresent: Int
  /// Packages that are not whole at the place that was left.
  var damaged: [SHA256Digest]
  var seconds: Double

  init(_ outcome: Move.Outcome, took duration: Duration) {
    from = outcome.source
    to = outcome.target
    isMoved = outcome.isComplete
    keepsRecords = outcome.keepsRecords
    tables = (outcome.tables ?? []).map {
      Table(name: $0.table, rows: $0.content.rows, sha256: $0.content.digest)
    }
    rows = tables.reduce(0) { $0 + $1.rows }
    packagesCopied = outcome.packages?.copied ?? 0
    packagesPresent = outcome.packages?.present ?? 0
    damaged = outcome.packages?.damaged ?? []
    seconds = Double(duration.milliseconds) / 1000
  }

  /// The summary for people.
  var lines: [String] {
    let packages =
      packagesCopied + packagesPresent > 0
      ? ["\(packagesCopied) packages copied, \(packagesPresent) were there"] : []
    guard isMoved else { return packages.isEmpty ? ["both places have the same packages"] : packages }
    guard !keepsRecords else {
      return packages + [
        "the records of \(to) stay: a server starts with the packages at their new place alone"
      ]
    }
    guard !tables.isEmpty else { return packages + ["all records had come before: a server starts at \(to)"] }
    let time = DurationText.elapsed(.milliseconds(Int64(clamping: seconds * 1000)))
    return packages + [
      "moved \(tables.count) tables with \(rows) rows in \(time), each compared",
      "left: \(from); no server starts there any more",
      "come: \(to)",
    ]
  }
}

/// One line on a terminal that tells how far a move is; nothing elsewhere.
private final class MoveDisplay {
  private static let interval: Duration = .milliseconds(100)

  private let terminal: Terminal
  private var last: ContinuousClock.Instant?
  private var isShown = false

  init(terminal: Terminal) {
    self.terminal = terminal
  }

  /// Writes the line, at most ten times a second.
  func show(_ progress: Move.Progress) {
    let now = ContinuousClock.now
    guard last.map({ now - $0 >= Self.interval }) ?? true, let columns = terminal.columns else { return }
    last = now
    isShown = true
    StandardStream.error.write("\r" + TextWidth.cut(Self.line(progress), to: columns - 1) + "\u{1B}[K")
  }

  /// Removes the line.
  func clear() {
    guard isShown else { return }
    isShown = false
    StandardStream.error.write("\r\u{1B}[K")
  }

  private static func line(_ progress: Move.Progress) -> String {
    switch progress {
    case .packages(let state):
      "\(percentage(state.done.rawValue, of: state.total.rawValue))  packages: \(state.done) of \(state.total)"
    case .records(let state):
      "\(percentage(Int64(state.done), of: Int64(state.total)))  \(step(state))"
    }
  }

  private static func step(_ state: RecordCopy.Progress) -> String {
    switch state.step {
    case .copying: "copying \(state.table)"
    case .indexing: "making indexes"
    case .comparing: "comparing \(state.table)"
    }
  }

  private static func percentage(_ done: Int64, of total: Int64) -> String {
    let percent = total > 0 ? min(100, Int64(clamping: Double(done) / Double(total) * 100)) : 0
    return String(repeating: " ", count: percent < 10 ? 2 : percent < 100 ? 1 : 0) + "\(percent) %"
  }
}
