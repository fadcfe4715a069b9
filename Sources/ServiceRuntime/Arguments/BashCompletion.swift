/// Completions of bash(1): one function that needs no other package.
struct BashCompletion {
  /// The program to be completed.
  private let program: CommandDescription

  /// Completions of that program and its subcommands.
  init(_ program: CommandDescription) {
    self.program = program
  }

  /// The name of the function, which is also the prefix of its helpers.
  private var function: String { "_" + program.name.split(separator: "-").joined(separator: "_") }

  /// The script, ready to be put into bash's directory of completions.
  var text: String {
    """
    # bash completion for \(program.name), made by '\(program.name) --help=bash'

    \(function)() {
      local current=${COMP_WORDS[COMP_CWORD]} command= option= operands=0 isLiteral= index word kind
      for ((index = 1; index < COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if [[ -n $option ]]; then
          # '=' is a word of its own.
          [[ $word == = ]] || option=
        elif [[ -z $isLiteral && $word == -- ]]; then
          isLiteral=1
        elif [[ -z $isLiteral && $word == -?* ]]; then
          if [[ -n $(\(function)_value "$command" "$word") ]]; then option=$word; fi
        elif [[ -z $command && -n $(\(function)_commands) ]]; then
          command=$word
        else
          operands=$((operands + 1))
        fi
      done
      if [[ -n $option ]]; then
        [[ $current != = ]] || current=
        kind=$(\(function)_value "$command" "$option")
      elif [[ -z $isLiteral && $current == -* ]]; then
        kind="words $(\(function)_options "$command")"
      elif [[ -z $command && -n $(\(function)_commands) ]]; then
        kind="words $(\(function)_commands)"
      else
        kind=$(\(function)_operand "$command" "$operands")
      fi
      COMPREPLY=()
      case $kind in
        'words '*) mapfile -t COMPREPLY < <(compgen -W "${kind#words }" -- "$current") ;;
        'listed '*)
          mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" complete "${kind#listed }" 2>/dev/null)" -- "$current")
          ;;
        file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        directory) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
      esac
    }

    \(function)_commands() {
      echo '\((commands.map(\.name) + (commands.isEmpty ? [] : [CommandOption.help.name])).joined(separator: " "))'
    }

    # The options of a command.
    \(function)_options() {
      case $1 in
    \(commands.map { arm($0.names, spellings(of: options(of: $0))) }.joined())\
        *) echo '\(spellings(of: program.options + [.help, .version]))' ;;
      esac
    }

    # What an option of a command takes; nothing for a flag.
    \(function)_value() {
      case $1:$2 in
    \(values)\
      esac
    }

    # What a command takes as the operand of that number, from 0.
    \(function)_operand() {
      case $1:$2 in
    \(operands)\
      esac
    }

    complete -F \(function) \(program.name)

    """
  }

  /// The subcommands that help shows.
  private var commands: [CommandDescription] { program.sections.flatMap(\.commands) }

  /// The options that are offered behind a command.
  private func options(of command: CommandDescription) -> [CommandOption] {
    command.options + command.shown(of: [program]) + [.help]
  }

  /// The long names, with spaces between.
  private func spellings(of options: [CommandOption]) -> String {
    options.map { "--\($0.name)" }.joined(separator: " ")
  }

  /// An arm of `case` that prints a text, which must have no apostrophe.
  private func arm(_ pattern: String, _ output: String) -> String { "    \(pattern)) echo '\(output)' ;;\n" }

  /// The arms that tell the kind of value for each option, those of commands first.
  private var values: String {
    let own = commands.flatMap { command in
      command.options.compactMap { option in
        arm(option, of: command.names.split(separator: "|").map(String.init))
      }
    }
    return (own + program.options.compactMap { arm($0, of: ["*"]) }).joined()
  }

  /// The arm for one option in all of its spellings; nil for a flag.
  private func arm(_ option: CommandOption, of commands: [String]) -> String? {
    guard option.metavariable != nil else { return nil }
    let spellings =
      ["--\(option.name)"] + option.aliases.map { "--\($0.name)" }
      + (option.abbreviation.map { ["-\($0)"] } ?? [])
    let patterns = commands.flatMap { command in spellings.map { "\(command):\($0)" } }
    return arm(patterns.joined(separator: "|"), kind(option.completion))
  }

  /// The arms that tell the kind of each operand by its number.
  private var operands: String {
    var arms = [arm("help:0", "words \(commands.map(\.name).joined(separator: " "))")]
    for command in commands.isEmpty ? [program] : commands {
      let names = commands.isEmpty ? [""] : command.names.split(separator: "|").map(String.init)
      for (index, operand) in command.operands.enumerated() where operand.completion != .nothing {
        let patterns = names.map { "\($0):\(operand.repeats ? "*" : "\(index)")" }
        arms.append(arm(patterns.joined(separator: "|"), kind(operand.completion)))
      }
    }
    return arms.joined()
  }

  /// The word by which the function chooses what it offers.
  private func kind(_ completion: ValueCompletion) -> String {
    switch completion {
    case .nothing: "nothing"
    case .file: "file"
    case .directory: "directory"
    case .words(let words): "words \(words.joined(separator: " "))"
    case .listed(let word): "listed \(word)"
    }
  }
}

extension CommandDescription {
  /// The word and the earlier ones, as patterns of a shell.
  fileprivate var names: String { ([name] + aliases).joined(separator: "|") }
}
