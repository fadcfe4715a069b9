/// Completions of fish(1): a line for each command, option and operand.
struct FishCompletion {
  /// The program to be completed.
  private let program: CommandDescription

  /// Completions of that program and its subcommands.
  init(_ program: CommandDescription) {
    self.program = program
  }

  /// The subcommands that help shows.
  private var commands: [CommandDescription] { program.sections.flatMap(\.commands) }

  /// The script, one `complete` a line.
  var text: String {
    var lines = [
      "# fish completion for \(program.name), made by '\(program.name) --help=fish'",
      "complete -c \(program.name) -f",
    ]
    for command in commands {
      lines.append(line("-n __fish_use_subcommand -a \(quoted(command.name))", command.summary))
    }
    if !commands.isEmpty {
      lines.append(line("-n __fish_use_subcommand -a help", "Describe a command"))
      let words = commands.map(\.name).joined(separator: " ")
      lines.append(line("-n '__fish_seen_subcommand_from help' -a \(quoted(words))"))
    }
    let condition = commands.isEmpty ? "" : "-n __fish_use_subcommand "
    lines += (program.options + [.version]).map { self.option($0, condition: condition) }
    lines.append(option(.help, condition: ""))
    for operand in program.operands { lines += self.operand(operand, condition: "") }
    for command in commands {
      let names = ([command.name] + command.aliases).joined(separator: " ")
      let condition = "-n \(quoted("__fish_seen_subcommand_from \(names)")) "
      lines += (command.options + command.shown(of: [program])).map { option($0, condition: condition) }
      for operand in command.operands { lines += self.operand(operand, condition: condition) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The line for an option; `condition` holds it to a subcommand.
  private func option(_ option: CommandOption, condition: String) -> String {
    let short = option.abbreviation.map { "-s \($0) " } ?? ""
    let value =
      switch option.completion {
      case _ where option.metavariable == nil: ""
      case .nothing: " -x"
      case .file: " -r -F"
      case .directory: " -x -a '(__fish_complete_directories)'"
      case .words(let words): " -x -a \(quoted(words.joined(separator: " ")))"
      case .listed(let word): " -x -a \(quoted("(\(program.name) complete \(word) 2>/dev/null)"))"
      }
    return line("\(condition)\(short)-l \(option.name)\(value)", option.help)
  }

  /// The lines for an operand; none where only its user knows it.
  private func operand(_ operand: CommandDescription.Operand, condition: String) -> [String] {
    switch operand.completion {
    case .nothing: []
    case .file: [line("\(condition)-F")]
    case .directory: [line("\(condition)-a '(__fish_complete_directories)'")]
    case .words(let words): [line("\(condition)-a \(quoted(words.joined(separator: " ")))")]
    case .listed(let word):
      [line("\(condition)-a \(quoted("(\(program.name) complete \(word) 2>/dev/null)"))")]
    }
  }

  /// One call of `complete` for the program.
  private func line(_ arguments: String, _ description: String? = nil) -> String {
    "complete -c \(program.name) \(arguments)" + (description.map { " -d \(quoted($0))" } ?? "")
  }

  /// The text in apostrophes, as fish reads it: a backslash stands before apostrophes and backslashes.
  private func quoted(_ text: String) -> String {
    let escaped = text.reduce("") { result, character in
      character == "'" || character == "\\" ? "\(result)\\\(character)" : "\(result)\(character)"
    }
    return "'\(escaped)'"
  }
}
