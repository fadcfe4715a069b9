import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceRuntime

/// Results go to standard output, in the form that was asked for; messages go to standard error.
///
/// All that people read passes here: text of others is shown without what a terminal would obey (``PlainText``).
struct Console: Sendable {
  /// `--json`: results are JSON. Remarks and errors stay lines.
  let printsJSON: Bool
  /// Neither remarks nor progress.
  let isQuiet: Bool
  /// `--verbose`: requests are noted on standard error.
  private let isVerbose: Bool
  /// `--color`.
  private let color: ColorChoice

  /// A console for the options of a run; the defaults are those without options.
  init(printsJSON: Bool, isQuiet: Bool = false, isVerbose: Bool = false, color: ColorChoice = .auto) {
    self.printsJSON = printsJSON
    self.isQuiet = isQuiet
    self.isVerbose = isVerbose
    self.color = color
  }

  /// One object on a line of its own. False once the reader has closed standard output. JSON has texts as
  /// they are. Throws where the value cannot be encoded.
  @discardableResult
  func print(json value: some Encodable) throws -> Bool {
    print(bytes: try APIJSON.encode(value) + [0x0A])
  }

  /// False once the reader has closed standard output.
  @discardableResult
  func print(_ line: String) -> Bool {
    StandardStream.output.write(PlainText.line(line) + "\n")
  }

  /// A line that programs read: as it is, unless people do.
  func print(path: String) {
    if Terminal.standardOutput.isTerminal { print(path) } else { StandardStream.output.write(path + "\n") }
  }

  /// Writes bytes that this program made itself: a key, a manifest.
  @discardableResult
  func print(bytes: [UInt8]) -> Bool { StandardStream.output.write(bytes) }

  /// A remark; nothing if it is quiet.
  func note(_ line: String) {
    if !isQuiet { StandardStream.error.write(PlainText.line(line) + "\n") }
  }

  /// How a command failed; `lines` is a message and what belongs to it. It is shown with `--quiet` too.
  static func complain(_ lines: [String]) {
    for line in lines { StandardStream.error.write(PlainText.line(line) + "\n") }
  }

  /// A question that is answered on the same line.
  static func ask(_ question: String) { StandardStream.error.write(PlainText.line(question) + " ") }

  /// Prints a table, or JSON with `--json`. Instead of a table without rows it prints `whenEmpty` on standard error.
  ///
  /// - Parameter row: one text per column.
  func print<Item: Encodable>(
    _ items: [Item], columns: [TextTable.Column], whenEmpty: String, row: (Item) -> [String]
  ) throws {
    if printsJSON {
      for item in items { try print(json: item) }
      return
    }
    guard !items.isEmpty else {
      note(whenEmpty)
      return
    }
    let table = TextTable(columns: columns, rows: items.map(row))
    for line in table.lines(width: Terminal.standardOutput.columns) { print(line) }
  }

  /// Whether to write to this stream in colors.
  func showsColor(on terminal: Terminal) -> Bool {
    switch color {
    case .auto: terminal.showsColor
    case .always: true
    case .never: false
    }
  }

  /// With `--verbose`: tells each request and its answer. Nil without `--verbose`.
  var observer: (@Sendable (APIExchange) -> Void)? {
    guard isVerbose else { return nil }
    return { exchange in
      let answer = exchange.status.map { "\($0)" } ?? exchange.error?.message ?? "no answer"
      note("\(exchange.method) \(exchange.url): \(answer), \(exchange.duration.milliseconds) ms")
    }
  }
}

/// `--color`. NO_COLOR is the variable of no-color.org.
enum ColorChoice: String, CaseIterable {
  /// On a terminal, unless NO_COLOR is set.
  case auto
  /// Always, also into pipes and files.
  case always
  /// Never, whatever the terminal can do.
  case never
}

/// A number with its noun.
enum CountText {
  /// `1 file`, `2 files`.
  static func of(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
