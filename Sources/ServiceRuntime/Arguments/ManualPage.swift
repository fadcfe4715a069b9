import CoreTypes

/// The manual page of a program, in the language of man(7): section 1, or 8 for a program that reads a configuration.
struct ManualPage {
  /// The program that the page describes.
  private let command: CommandDescription
  /// The version at the foot of the page; nil for none.
  private let version: String?
  /// The day that the page bears.
  private let date: String

  /// `date` is in seconds since the epoch, as SOURCE_DATE_EPOCH has it; a page without one bears no date.
  init(_ command: CommandDescription, version: String?, date: Int64?) {
    self.command = command
    self.version = version
    self.date =
      date.map { seconds in
        let day = Timestamp(millisecondsSinceEpoch: seconds * 1000).description.prefix { $0 != "T" }
        return String(day)
      } ?? ""
  }

  /// The pages that refer to each other, with their sections.
  private static let pages = [
    ("pullbox", "1"), ("pullbox-agent", "8"), ("pullbox-desktop", "1"), ("pullbox-sandbox", "8"),
    ("pullbox-server", "8"),
  ]

  /// The section of the manual: 8 for a daemon, which is told by `--config`.
  private var section: String {
    command.options.contains { $0.name == CommandOption.configurationFile.name } ? "8" : "1"
  }

  /// The page. Lines are at most 79 bytes long where words allow it.
  var text: String {
    var lines = [
      ".TH \(quoted(command.name.uppercased())) \(section) \"\(date)\" "
        + "\(quoted(([command.name, version].compactMap { $0 }).joined(separator: " "))) \"Pullbox\"",
      ".SH NAME",
    ]
    lines += filled("\(command.name) - \(lowercased(command.summary))")
    lines += [".SH SYNOPSIS", synopsis(command, program: command.name)]
    if !command.discussion.isEmpty {
      lines += [".SH DESCRIPTION"] + paragraphs(command.discussion, first: true)
    }
    for (title, commands) in command.sections {
      lines.append(".SH \(quoted(title.uppercased()))")
      for subcommand in commands { lines += describe(subcommand) }
    }
    lines += options
    lines += variables
    lines += exitStatus
    lines += [".SH SEE ALSO"]
    let others = Self.pages.filter { $0.0 != command.name }
    for (index, (name, section)) in others.enumerated() {
      lines.append(".BR \(escaped(name)) (\(section))" + (index < others.count - 1 ? " ," : ""))
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The section of a subcommand: synopsis, summary, discussion and its own options.
  private func describe(_ subcommand: CommandDescription) -> [String] {
    var lines = [
      ".SS \(quoted("\(command.name) \(subcommand.name)"))", synopsis(subcommand, program: subcommand.name),
    ]
    lines += [".PP"] + filled(subcommand.summary + ".")
    if !subcommand.discussion.isEmpty { lines += paragraphs(subcommand.discussion, first: false) }
    return lines + subcommand.options.flatMap(row)
  }

  /// The options of the program, by their titles.
  private var options: [String] {
    let own = command.options.filter { $0.section == nil } + (version == nil ? [.help] : [.version, .help])
    var lines = [".SH OPTIONS"] + own.flatMap(row)
    var titles: [String] = []
    for title in command.options.compactMap(\.section) where !titles.contains(title) { titles.append(title) }
    for title in titles {
      lines.append(".SS \(quoted(title))")
      lines += command.options.filter { $0.section == title }.flatMap(row)
    }
    return lines
  }

  /// The variables of all commands, each once and by the alphabet.
  private var variables: [String] {
    let all = command.options + command.subcommands.filter { !$0.isHidden }.flatMap(\.options)
    var seen: Set<String> = []
    let found = all.compactMap { option in option.environment.map { ($0, option.name) } }
      .filter { seen.insert($0.0).inserted }.sorted { $0.0 < $1.0 }
    guard !found.isEmpty else { return [] }
    return [".SH ENVIRONMENT", "Each counts where the command line does not give the option."]
      + found.flatMap { [".TP", ".B \(escaped($0.0))", "The option \\fB\(escaped("--" + $0.1))\\fR."] }
  }

  /// The codes with their meanings; empty for a program that lists none.
  private var exitStatus: [String] {
    guard !command.exitCodes.isEmpty else { return [] }
    return [".SH EXIT STATUS"]
      + command.exitCodes.flatMap { [".TP", ".B \($0.code.rawValue)"] + filled($0.meaning + ".") }
  }

  /// The paragraph of an option, with its default.
  private func row(_ option: CommandOption) -> [String] {
    let names = ([option.abbreviation.map { "-\($0)" }, "--\(option.name)"]).compactMap { $0 }
    let value = option.metavariable.map { " \\fI\(escaped($0))\\fR" } ?? ""
    let fallback = option.fallback.map { " Unless given: \($0)." } ?? ""
    return [
      ".TP", names.map { "\\fB\(escaped($0))\\fR" }.joined(separator: ", ") + value,
    ] + filled(option.help + "." + fallback)
  }

  /// The program in bold and its operands in italics.
  private func synopsis(_ described: CommandDescription, program: String) -> String {
    var operands = described.operands.map { "\\fI\(escaped($0.notation))\\fR" }
    if !described.sections.isEmpty {
      operands = [described.needsSubcommand ? "\\fICOMMAND\\fR" : "[\\fICOMMAND\\fR]"]
    }
    return (["\\fB\(escaped(program))\\fR", "[\\fIOPTIONS\\fR]"] + operands).joined(separator: " ")
  }

  /// Paragraphs that blank lines separate, each after a request for one but for the `first` of a section.
  private func paragraphs(_ text: String, first: Bool) -> [String] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let paragraphs = lines.split(whereSeparator: \.isEmpty).map { filled($0.joined(separator: " ")) }
    return paragraphs.enumerated().flatMap { index, lines in index == 0 && first ? lines : [".PP"] + lines }
  }

  /// The words in lines of at most 79 bytes, as far as words allow.
  private func filled(_ text: String) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ").map(String.init) {
      if !line.isEmpty, escaped(line).utf8.count + 1 + escaped(word).utf8.count > 79 {
        lines.append(escaped(line))
        line = ""
      }
      line += line.isEmpty ? word : " \(word)"
    }
    return lines + [escaped(line)]
  }

  /// The sentence with a small first letter, as it stands behind a dash.
  private func lowercased(_ sentence: String) -> String {
    sentence.prefix(1).lowercased() + sentence.dropFirst()
  }

  /// The text as one argument of a request.
  private func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }

  /// Escapes the characters that man(7) would read as markup.
  private func escaped(_ text: String) -> String {
    var escaped = text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" : ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\e"
      case "-": escaped += "\\-"
      case "\"": escaped += "\\(dq"
      case "'": escaped += "\\(aq"
      case "`": escaped += "\\(ga"
      case "^": escaped += "\\(ha"
      case "~": escaped += "\\(ti"
      case "…": escaped += "..."
      case _ where scalar.isASCII: escaped.unicodeScalars.append(scalar)
      default:
        let digits = String(scalar.value, radix: 16, uppercase: true)
        escaped += "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
      }
    }
    return escaped
  }
}
