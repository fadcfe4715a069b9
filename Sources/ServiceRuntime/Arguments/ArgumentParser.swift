import CLinux
import Glibc
import SystemCalls

/// Reads a command line by its description: `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-nVALUE`, flags,
/// operands, subcommands; `--` ends the options.
///
/// Options of a command count before and after its subcommand. `--help` and `-h` are understood everywhere, `--version`
/// before a subcommand, and `help` in the place of one: `help COMMAND` is `COMMAND --help`. `--help=FORMAT` writes a
/// ``HelpFormat`` of the whole program. Aliases of commands and options are accepted and reported under the new name.
///
/// ```swift
/// let command = CommandDescription(
///   "greet", summary: "Greet someone", operands: [.init("NAME")],
///   options: [.flag("loud", environment: .none, help: "In capitals")])
/// switch try ArgumentParser(command, environment: [:]).parse(["--loud", "Ada"]) {
/// case .run(let arguments): print(arguments.operands[0], arguments.isSet("loud"))
/// case .text(let text): print(text)
/// }
/// ```
///
/// A program's `main` calls ``parseOrExit(_:)``, which reads the process's own arguments.
public struct ArgumentParser: Sendable {
  /// The outcome of parsing a command line.
  public enum Outcome: Sendable {
    /// Run the command.
    case run(ParsedArguments)
    /// Print this text, line feed included, and end: the help or the version.
    case text(String)
  }

  /// The program whose arguments are read.
  private let root: CommandDescription
  /// The variables that stand in for options.
  private let environment: [String: String]
  /// The version that `--version` tells; nil for a program without that option.
  private let version: String?
  /// The commit behind the version; nil where none is known.
  private let commit: String?

  /// `environment` has the process's variables. With a `version` the program has the option `--version`, which also tells the
  /// `commit` where it is known.
  public init(
    _ command: CommandDescription, environment: [String: String], version: String? = nil,
    commit: String? = nil
  ) {
    root = command
    self.environment = environment
    self.version = version
    self.commit = commit
  }

  /// `arguments` without the program's name; help is wrapped to `columns`. Throws ``UsageError`` for a command or an
  /// option that does not exist, and for values and operands that are missing or too many.
  public func parse(_ arguments: [String], columns: Int = 80) throws(UsageError) -> Outcome {
    var progress = ArgumentParserProgress(root, hasVersion: version != nil)
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        for operand in rest { try progress.append(operand: operand) }
        break
      }
      if argument.hasPrefix("--") {
        try progress.parse(long: argument.dropFirst(2), rest: &rest)
      } else if argument.hasPrefix("-"), argument != "-" {
        try progress.parse(short: argument.dropFirst(), rest: &rest)
      } else {
        try progress.append(operand: argument)
      }
    }
    if let format = progress.helpFormat {
      return .text(format.text(of: root, version: version, environment: environment))
    }
    if progress.wantsHelp {
      let help = progress.command.help(
        parents: progress.parents, columns: columns, hasVersion: version != nil)
      return .text(help)
    }
    if progress.wantsVersion, let version {
      return .text("\(root.name) \(version)\(commit.map { " (\($0))" } ?? "")\n")
    }
    try progress.checkOperands()
    return .run(
      ParsedArguments(
        subcommands: progress.parents.isEmpty
          ? [] : (progress.parents.dropFirst() + [progress.command]).map(\.name),
        operands: progress.operands, options: progress.options, environment: environment,
        given: progress.given))
  }

  /// Reads this process's own command line and environment, then overwrites the secrets on the command line. Help or the
  /// version is printed and ends the process with ``ExitCode/done``; a wrong command line ends it with ``ExitCode/usage`` and
  /// one line on standard error.
  public static func parseOrExit(_ command: CommandDescription) -> ParsedArguments {
    do throws(UsageError) {
      let parser = ArgumentParser(
        command, environment: ProcessEnvironment.variables, version: ProductVersion.current,
        commit: ProductVersion.commit)
      let columns = min(Terminal.standardOutput.columns ?? 80, 100)
      switch try parser.parse(Array(CommandLine.arguments.dropFirst()), columns: columns) {
      case .run(let arguments):
        CommandLineSecrets.hide(arguments.secrets)
        return arguments
      case .text(let text):
        StandardStream.output.write(text)
        ExitCode.done.exitProcess(printing: command.name)
      }
    } catch {
      StandardStream.error.write("\(command.name): \(error)\n")
      ExitCode.usage.exitProcess()
    }
  }
}

/// The part of a command line that was parsed so far.
private struct ArgumentParserProgress {
  /// The command that the words so far have chosen.
  var command: CommandDescription
  /// The commands above it, the program first.
  var parents: [CommandDescription] = []
  /// The operands of ``command`` so far.
  var operands: [String] = []
  /// The values by the names of options, in the order of the command line.
  var given: [String: [String]] = [:]
  /// Whether help was asked for; it goes before every fault of operands.
  var wantsHelp = false
  /// The format of `--help=FORMAT`; nil for the usual help.
  var helpFormat: HelpFormat?
  /// Whether the version was asked for.
  var wantsVersion = false
  /// Whether the program has `--version`.
  private let hasVersion: Bool

  /// Nothing was read yet.
  init(_ root: CommandDescription, hasVersion: Bool) {
    command = root
    self.hasVersion = hasVersion
  }

  /// The options that count here: those of the command and of all above it.
  var options: [CommandOption] { parents.flatMap(\.options) + command.options }

  /// The words that lead to the help of the command.
  private var hint: String {
    "'\((parents.map(\.name) + [command.name]).joined(separator: " ")) --help' shows what it takes"
  }

  /// The error with that hint.
  private func failure(_ message: String) -> UsageError {
    UsageError(message, hint: hint)
  }

  /// An operand, or the name of a subcommand.
  mutating func append(operand: String) throws(UsageError) {
    guard command.subcommands.isEmpty else {
      guard let next = command.subcommands.first(where: { $0.isNamed(operand) }) else {
        if operand == CommandOption.help.name, parents.isEmpty, !wantsHelp {
          wantsHelp = true
          return
        }
        let words = command.subcommands.filter { !$0.isHidden }.flatMap { command in
          ([command.name] + command.aliases).map { ($0, command.name) }
        }
        throw unknown("command", operand, among: words)
      }
      parents.append(command)
      command = next
      return
    }
    guard command.operands.last?.repeats == true || operands.count < command.operands.count else {
      throw failure("'\(operand)' is one operand too many")
    }
    operands.append(operand)
  }

  /// Reads `--name` or `--name=VALUE`. A value that does not stand there is the next argument, whatever that begins with.
  mutating func parse(
    long argument: Substring, rest: inout ArraySlice<String>
  ) throws(UsageError) {
    let name = argument.prefix { $0 != "=" }
    if name == CommandOption.help.name {
      wantsHelp = true
      guard name.endIndex != argument.endIndex else { return }
      helpFormat = HelpFormat(rawValue: String(argument[name.endIndex...].dropFirst()))
      guard helpFormat != nil else {
        throw failure("--help= takes \(HelpFormat.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      return
    }
    guard let option = options.first(where: { $0.isNamed(name) }) else {
      if hasVersion, parents.isEmpty, argument == CommandOption.version.name {
        wantsVersion = true
        return
      }
      throw unknown(
        "option", "--\(name)",
        among: options.flatMap { option in
          ([option.name] + option.aliases.map(\.name)).map { ("--\($0)", "--\(option.name)") }
        })
    }
    let value = name.endIndex == argument.endIndex ? nil : String(argument[name.endIndex...].dropFirst())
    try record(option, value: value, rest: &rest)
  }

  /// Reads the letters behind one dash. Flags may stand together, and the rest behind an option with a value is its
  /// value.
  mutating func parse(
    short argument: Substring, rest: inout ArraySlice<String>
  ) throws(UsageError) {
    guard let letter = argument.first else { return }
    if letter == CommandOption.help.abbreviation {
      wantsHelp = true
      return
    }
    guard let option = options.first(where: { $0.abbreviation == letter }) else {
      throw unknown("option", "-\(letter)", among: [])
    }
    let following = argument.dropFirst()
    if option.kind == .flag, !following.isEmpty {
      try record(option, value: nil, rest: &rest)
      try parse(short: following, rest: &rest)
    } else {
      try record(option, value: following.isEmpty ? nil : String(following), rest: &rest)
    }
  }

  /// Notes the value, which is taken from `rest` where it is nil and the option needs one. A flag's value is `true`.
  private mutating func record(
    _ option: CommandOption, value: String?, rest: inout ArraySlice<String>
  ) throws(UsageError) {
    guard let metavariable = option.metavariable else {
      guard value == nil else { throw failure("--\(option.name) takes no value") }
      given[option.name] = ["true"]
      return
    }
    guard let value = value ?? rest.popFirst() else {
      throw failure("--\(option.name) needs a value: \(metavariable)")
    }
    given[option.name, default: []].append(value)
  }

  /// Throws where a subcommand or a required operand is missing. Called when neither help nor version was asked for.
  func checkOperands() throws(UsageError) {
    guard command.subcommands.isEmpty || !command.needsSubcommand else {
      throw failure("a command is missing")
    }
    let required = command.operands.filter(\.isRequired)
    guard operands.count >= required.count else {
      throw failure("\(required[operands.count].name) is missing")
    }
  }

  /// `names` are spellings that exist, each with the name that a hint should give for it.
  private func unknown(
    _ kind: String, _ name: String, among names: [(spelling: String, name: String)]
  ) -> UsageError {
    let meant = EditDistance.nearest(to: name, among: names.map(\.spelling))
    let near = names.first { $0.spelling == meant }
    return near.map { UsageError("there is no \(kind) '\(name)'", hint: "did you mean '\($0.name)'?") }
      ?? failure("there is no \(kind) '\(name)'")
  }
}

/// A command line that cannot be understood: one line for people, and where to read on.
public struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The fault of the command line, without a full stop.
  public let message: String
  /// A second sentence, such as the command that shows the help; empty for none.
  public let hint: String

  /// `message` and `hint` are sentences without a capital and without a full stop.
  public init(_ message: String, hint: String = "") {
    self.message = message
    self.hint = hint
  }

  /// One line.
  public var description: String { hint.isEmpty ? message : "\(message); \(hint)" }
}
