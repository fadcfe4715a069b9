/// Completions of zsh(1), by its function `_arguments`.
struct ZshCompletion {
  /// The program to be completed.
  private let program: CommandDescription

  /// Completions of that program and its subcommands.
  init(_ program: CommandDescription) {
    self.program = program
  }

  /// The name of the function, which is also the prefix of its helper.
  private var function: String { "_" + program.name.split(separator: "-").joined(separator: "_") }
  /// The subcommands that help shows.
  private var commands: [CommandDescription] { program.sections.flatMap(\.commands) }

  /// The script, which begins with the mark by which compinit finds it.
  var text: String {
    let own = program.options + [.version, .help]
    return """
      #compdef \(program.name)
      # zsh completion for \(program.name), made by '\(program.name) --help=zsh'

      \(function)_listed() {
        local -a found
        found=(${(f)"$(_call_program listed \(program.name) complete $1 2>/dev/null)"})
        compadd -a found
      }

      \(function)() {
        local curcontext=$curcontext state line
        typeset -A opt_args
      \(commands.isEmpty ? arguments(own, program.operands, indent: "  ") : subcommands(own))\
      }

      \(function) "$@"

      """
  }

  /// The part of the function that first completes the command and then what belongs to it.
  private func subcommands(_ own: [CommandOption]) -> String {
    let rows = commands.map { "    \(quoted("\($0.name):\($0.summary)"))\n" }.joined()
    let arms = commands.map { command in
      """
            \(([command.name] + command.aliases).joined(separator: "|")))
      \(arguments(command.options + command.shown(of: [program]) + [.help], command.operands, indent: "        "))\
              ;;

      """
    }.joined()
    return """
        local -a commands
        commands=(
      \(rows)\
          'help:Describe a command'
        )
        _arguments -C -s \\
      \(own.map { "    \(specification($0)) \\\n" }.joined())\
          '1: :->command' '*:: :->operands'
        case $state in
          command) _describe command commands ;;
          operands)
            case $words[1] in
      \(arms)\
              help) _describe command commands ;;
            esac
            ;;
        esac

      """
  }

  /// The call of `_arguments` for options and operands, one specification a line.
  private func arguments(
    _ options: [CommandOption], _ operands: [CommandDescription.Operand], indent: String
  ) -> String {
    var lines = options.map(specification)
    for operand in operands {
      let place = operand.repeats ? "*" : operand.isRequired ? "" : ":"
      lines.append(quoted("\(place):\(message(operand.name)):\(action(operand.completion))"))
    }
    return lines.reduce(indent + "_arguments -s") { "\($0) \\\n\(indent)  \($1)" } + "\n"
  }

  /// The specifications of an option: one for its long name, and one for its letter.
  private func specification(_ option: CommandOption) -> String {
    let value = option.metavariable.map { "=:\(message($0)):\(action(option.completion))" }
    let help = "[\(message(option.help))]"
    let repeats = if case .list = option.kind { "*" } else { "" }
    let long = quoted(
      "\(repeats)--\(option.name)\(value == nil ? "" : "=")\(help)\(value.map { String($0.dropFirst()) } ?? "")"
    )
    guard let letter = option.abbreviation else { return long }
    return long + " "
      + quoted(
        "\(repeats)-\(letter)\(value == nil ? "" : "+")\(help)\(value.map { String($0.dropFirst()) } ?? "")")
  }

  /// The action that completes a value.
  private func action(_ completion: ValueCompletion) -> String {
    switch completion {
    case .nothing: " "
    case .file: "_files"
    case .directory: "_files -/"
    case .words(let words): "(\(words.joined(separator: " ")))"
    // The space keeps _arguments from adding words of its own.
    case .listed(let word): " \(function)_listed \(word)"
    }
  }

  /// A text inside a specification, where brackets and colons have a meaning.
  private func message(_ text: String) -> String {
    text.reduce("") { result, character in
      ["[", "]", ":", "\\"].contains(character) ? "\(result)\\\(character)" : "\(result)\(character)"
    }
  }

  /// The text in apostrophes; an apostrophe within is written outside of them.
  private func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
