/// A configuration file that explains every key of a daemon and changes none: each key stands in a comment, with its default
/// or, where there is none, with an example.
public struct ConfigurationSample {
  /// The daemon whose options are explained.
  private let command: CommandDescription
  /// Whether keys stand outside of comments.
  private let keysCount: Bool

  /// With `keysCount` every key counts but for secrets, for a test that all of it is well-formed.
  public init(_ command: CommandDescription, keysCount: Bool = false) {
    self.command = command
    self.keysCount = keysCount
  }

  /// The file, line feed at its end included.
  public var text: String {
    var lines = Self.comment(introduction, indent: "")
    lines.append("{")
    for (title, options) in sections {
      if let title { lines += ["", "  // ---- \(title) ----"] }
      var rest = options[...]
      while let option = rest.first, let key = option.key {
        if lines.last != "{" { lines.append("") }
        guard let dot = key.firstIndex(of: ".") else {
          lines += entry(option, name: key, indent: "  ")
          rest = rest.dropFirst()
          continue
        }
        let table = key[...dot]
        let members = rest.prefix { $0.key?.hasPrefix(table) == true }
        lines.append("  \(table.dropLast()): {")
        for (index, option) in members.enumerated() {
          if index > 0 { lines.append("") }
          lines += entry(option, name: String(option.key?.dropFirst(table.count) ?? ""), indent: "    ")
        }
        lines.append("  },")
        rest = rest.dropFirst(members.count)
      }
    }
    lines += ["}", ""]
    return lines.joined(separator: "\n")
  }

  /// The comment at the top of the file.
  private var introduction: String {
    """
    Configuration of \(command.name), in JSON5: comments, single quotes and commas at the end of a list are fine. A key \
    that begins with // does not count; what stands there is its default, or an example where it has none. An option \
    goes before its variable, and that before this file. '\(command.name) --check --config FILE' tells all that is \
    wrong; '--print-config' what is in effect, and from where. A file that holds a secret must not be readable by \
    everyone.
    """
  }

  /// Titles with their options, those without a title first.
  private var sections: [(title: String?, options: [CommandOption])] {
    var sections: [(title: String?, options: [CommandOption])] = []
    for option in command.options where option.key != nil {
      if let index = sections.firstIndex(where: { $0.title == option.section }) {
        sections[index].options.append(option)
      } else {
        sections.append((option.section, [option]))
      }
    }
    return sections
  }

  /// The comment about an option and the line of its key.
  private func entry(_ option: CommandOption, name: String, indent: String) -> [String] {
    var facts = [option.valueType.prefix(1).uppercased() + option.valueType.dropFirst()]
    facts.append(option.reload == .applied ? "taken at a reload" : "needs a restart")
    facts.append("--\(option.name)" + (option.environment.map { " or \($0)" } ?? ""))
    let noDefault = option.fallback == nil && option.kind != .flag
    let note =
      !noDefault ? "" : option.isSecret ? " There is no default." : " There is no default; an example:"
    let help = option.help.hasSuffix(".") ? option.help : option.help + "."
    let text = "\(help)\n\(facts.joined(separator: "; ")).\(note)"
    let isComment = !keysCount || option.isSecret
    return text.split(separator: "\n").flatMap { Self.comment(String($0), indent: indent) }
      + ["\(indent)\(isComment ? "// " : "")\(name): \(value(of: option)),"]
  }

  /// The value in JSON5: the default, else the example; an empty text for a secret.
  private func value(of option: CommandOption) -> String {
    let text = option.isSecret ? "" : option.fallback ?? option.example ?? ""
    switch option.kind {
    case .flag: return "false"
    case .value: return ConfigurationNotation.value(text)
    case .list where text.hasPrefix("{"): return "[\(text)]"
    case .list:
      return "[" + ParsedArguments.parts(of: text).map(ConfigurationNotation.quoted).joined(separator: ", ")
        + "]"
    }
  }

  /// The text as comments, none wider than 100 columns but for a single word that is.
  private static func comment(_ text: String, indent: String) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, indent.count + 4 + line.count + word.count > 100 {
        lines.append("\(indent)// \(line)")
        line = ""
      }
      line += line.isEmpty ? String(word) : " \(word)"
    }
    return lines + ["\(indent)// \(line)"]
  }
}
