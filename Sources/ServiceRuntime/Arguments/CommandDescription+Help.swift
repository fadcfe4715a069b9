extension CommandDescription {
  /// The text of `--help`, wrapped to `columns`. `parents` are the commands this one belongs to, outermost first; a program
  /// that `hasVersion` shows `--version` among its own options.
  public func help(
    parents: [CommandDescription] = [], columns: Int = 80, hasVersion: Bool = false
  ) -> String {
    let path = (parents.map(\.name) + [name]).joined(separator: " ")
    var sections = ["Usage: \(usage(path))", summary + "."]
    if !discussion.isEmpty {
      let lines = discussion.split(separator: "\n", omittingEmptySubsequences: false)
      sections.append(lines.flatMap { Self.wrapped(String($0), to: columns) }.joined(separator: "\n"))
    }
    if !exitCodes.isEmpty {
      let codes = exitCodes.map { "\($0.code.rawValue) \($0.meaning)" }.joined(separator: "; ")
      sections.append(Self.wrapped("Exit codes: \(codes).", to: columns).joined(separator: "\n"))
    }
    for (title, commands) in self.sections {
      let rows = commands.map { command in
        (([command.name] + command.operands.map(\.notation)).joined(separator: " "), command.summary)
      }
      sections.append("\(title):\n" + Self.table(rows, columns: columns))
    }
    let first =
      options.filter { $0.section == nil } + (hasVersion && parents.isEmpty ? [.version, .help] : [.help])
    sections.append("Options:\n" + Self.table(first.map(\.row), columns: columns))
    var titles: [String] = []
    for title in options.compactMap(\.section) where !titles.contains(title) { titles.append(title) }
    for title in titles {
      let rows = options.filter { $0.section == title }.map(\.row)
      sections.append("\(title):\n" + Self.table(rows, columns: columns))
    }
    let common = shown(of: parents)
    if !common.isEmpty {
      sections.append("Common options:\n" + Self.table(common.map(\.row), columns: columns))
    }
    for parent in parents where !parent.needsSubcommand && !parent.options.isEmpty {
      sections.append("The options of '\(parent.name)' count here as well.")
    }
    if !self.sections.isEmpty { sections.append("'\(path) help COMMAND' describes a command.") }
    return sections.joined(separator: "\n\n") + "\n"
  }

  /// The usage line behind the word for it: the path, options and operands or the command.
  func usage(_ path: String) -> String {
    let rest =
      subcommands.isEmpty ? operands.map(\.notation) : needsSubcommand ? ["COMMAND"] : ["[COMMAND]"]
    return ([path, "[OPTIONS]"] + rest).joined(separator: " ")
  }

  /// Two columns; what is too wide for the first puts the second on the next line.
  private static func table(_ rows: [(String, String)], columns: Int) -> String {
    let widest = 30
    let width = min(widest, rows.map(\.0.count).max() ?? 0)
    return rows.map { left, right in
      let lines = wrapped(right, to: max(20, columns - width - 4))
      let indent = String(repeating: " ", count: width + 4)
      let text = lines.joined(separator: "\n" + indent)
      if left.count > width { return "  \(left)\n\(indent)\(text)" }
      return "  \(left)\(String(repeating: " ", count: width - left.count + 2))\(text)"
    }.joined(separator: "\n")
  }

  /// Lines of words, none longer than `width` but for a single word that is. At least one line, which may be empty.
  private static func wrapped(_ text: String, to width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = ""
      }
      line += line.isEmpty ? String(word) : " \(word)"
    }
    return lines + [line]
  }
}

extension CommandDescription.Operand {
  /// `NAME`, `[NAME]`, `NAME...` or `[NAME...]`.
  var notation: String {
    let text = repeats ? "\(name)..." : name
    return isRequired ? text : "[\(text)]"
  }
}

extension CommandOption {
  /// The two columns of help: spellings and value, then the sentence with variable and default.
  fileprivate var row: (String, String) {
    let short = abbreviation.map { "-\($0), " } ?? ""
    let value = metavariable.map { " \($0)" } ?? ""
    var sources: [String] = []
    if let environment { sources.append("variable \(environment)") }
    if let fallback { sources.append("default \(fallback)") }
    let origin = sources.isEmpty ? "" : " (\(sources.joined(separator: ", ")))"
    return ("\(short)--\(name)\(value)", help + origin)
  }
}
