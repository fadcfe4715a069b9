public import ServiceRuntime

/// The settings of a daemon as the tables of docs/configuration.md, made from its options.
public enum ConfigurationReference {
  /// A table for each section of the command's options.
  public static func markdown(_ command: CommandDescription) -> String {
    var sections: [(title: String?, options: [CommandOption])] = []
    for option in command.options {
      if let index = sections.firstIndex(where: { $0.title == option.section }) {
        sections[index].options.append(option)
      } else {
        sections.append((option.section, [option]))
      }
    }
    var lines: [String] = []
    for (title, options) in sections {
      if let title { lines += ["", "### \(title)"] }
      lines += [
        "", "| key | type | default | option | variable | at SIGHUP | meaning |",
        "|---|---|---|---|---|---|---|",
      ]
      lines += options.map(row)
    }
    return lines.joined(separator: "\n")
  }

  /// One row: a vertical bar in the help is escaped, so that it ends no cell.
  private static func row(_ option: CommandOption) -> String {
    let value: String
    switch option.kind {
    case .flag: value = ""
    case .value(let name): value = " " + name
    case .list(let name): value = " " + name
    }
    let cells = [
      code(option.key), option.valueType + (option.isSecret ? ", secret" : ""), code(option.fallback),
      code("--\(option.name)\(value)"), code(option.environment),
      option.key == nil ? "" : option.reload == .applied ? "applied" : "needs a restart",
      option.help.replacing("|", with: "\\|"),
    ]
    return "| " + cells.joined(separator: " | ") + " |"
  }

  /// The text in backquotes; empty for nil.
  private static func code(_ text: String?) -> String { text.map { "`\($0)`" } ?? "" }
}
