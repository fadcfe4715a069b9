public import ServiceRuntime

/// What a daemon can be told, as the tables of docs/configuration.md, made from its options.
public enum ConfigurationReference {
  /// A table for each section of the command's options. `canReload`: whether the daemon reads its
  /// configuration again, so that the tables say what that changes.
  public static func markdown(_ command: CommandDescription, canReload: Bool) -> String {
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
        "", "| key | option | variable | default |" + (canReload ? " at SIGHUP |" : "") + " meaning |",
        "|---|---|---|---|" + (canReload ? "---|" : "") + "---|",
      ]
      lines += options.map { row($0, canReload: canReload) }
    }
    return lines.joined(separator: "\n")
  }

  private static func row(_ option: CommandOption, canReload: Bool) -> String {
    let value: String
    switch option.kind {
    case .flag: value = ""
    case .value(let name): value = " " + name
    case .list(let name): value = " " + name
    }
    var cells = [
      code(option.key), code("--\(option.name)\(value)"), code(option.environment), code(option.fallback),
    ]
    if canReload {
      cells.append(option.key == nil ? "" : option.reload == .applied ? "applied" : "needs a restart")
    }
    return "| " + (cells + [option.help.replacing("|", with: "\\|")]).joined(separator: " | ") + " |"
  }

  private static func code(_ text: String?) -> String { text.map { "`\($0)`" } ?? "" }
}
