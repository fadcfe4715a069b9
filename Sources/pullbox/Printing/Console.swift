import PullboxAPI
import ServiceRuntime

/// Results go to standard output, in the form that was asked for; messages go to standard error.
struct Console: Sendable {
  let printsJSON: Bool

  /// One object on a line of its own. False once the reader has closed standard output.
  @discardableResult
  func print(json value: some Encodable) throws -> Bool {
    StandardStream.output.write(try APIJSON.encode(value) + [0x0A])
  }

  /// False once the reader has closed standard output.
  @discardableResult
  func print(_ line: String) -> Bool {
    StandardStream.output.write(line + "\n")
  }

  func note(_ line: String) {
    StandardStream.error.write(line + "\n")
  }

  /// Prints a table, or JSON with `--json`. Instead of a table without rows it prints `whenEmpty` on standard error.
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
}
