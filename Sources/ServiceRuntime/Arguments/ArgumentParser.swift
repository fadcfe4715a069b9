/// Reads a command line by its description: `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-nVALUE`, flags,
/// operands, subcommands; `--` ends the options.
public struct ArgumentParser: Sendable {
  public enum Outcome: Sendable {
    case run(ParsedArguments)
    /// The text that was asked for.
    case help(String)
  }

  private let root: CommandDescription
  private let environment: [String: String]

  public init(_ command: CommandDescription, environment: [String: String]) {
    root = command
    self.environment = environment
  }

  /// `arguments` without the program's name.
  public func parse(_ arguments: [String], columns: Int = 80) throws(UsageError) -> Outcome {
    var reading = Reading(root)
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        for operand in rest { try reading.take(operand: operand) }
        break
      }
      if argument.hasPrefix("--") {
        try reading.take(long: argument.dropFirst(2), &rest)
      } else if argument.hasPrefix("-"), argument != "-" {
        try reading.take(short: argument.dropFirst(), &rest)
      } else {
        try reading.take(operand: argument)
      }
    }
    if reading.wantsHelp {
      return .help(reading.command.help(parents: reading.parents, columns: columns))
    }
    try reading.checkOperands()
    return .run(
      ParsedArguments(
        subcommands: reading.parents.isEmpty
          ? [] : (reading.parents.dropFirst() + [reading.command]).map(\.name),
        operands: reading.operands, options: reading.options, environment: environment, given: reading.given))
  }
}

private struct Reading {
  var command: CommandDescription
  var parents: [CommandDescription] = []
  var operands: [String] = []
  var given: [String: [String]] = [:]
  var wantsHelp = false

  init(_ root: CommandDescription) {
    command = root
  }

  var options: [CommandOption] { parents.flatMap(\.options) + command.options }

  private var hint: String {
    "'\((parents.map(\.name) + [command.name]).joined(separator: " ")) --help' shows what it takes"
  }

  private func failure(_ message: String) -> UsageError {
    UsageError(message, hint: hint)
  }

  mutating func take(operand: String) throws(UsageError) {
    guard command.subcommands.isEmpty else {
      guard let next = command.subcommands.first(where: { $0.name == operand }) else {
        throw unknown("command", operand, among: command.subcommands.map(\.name))
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

  mutating func take(long argument: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) {
    let name = argument.prefix { $0 != "=" }
    if name == CommandOption.help.name {
      wantsHelp = true
      return
    }
    guard let option = options.first(where: { $0.name == name }) else {
      throw unknown("option", "--\(name)", among: options.map { "--\($0.name)" })
    }
    let value = name.endIndex == argument.endIndex ? nil : String(argument[name.endIndex...].dropFirst())
    try take(option, value, &rest)
  }

  mutating func take(short argument: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) {
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
      try take(option, nil, &rest)
      try take(short: following, &rest)
    } else {
      try take(option, following.isEmpty ? nil : String(following), &rest)
    }
  }

  private mutating func take(
    _ option: CommandOption, _ value: String?, _ rest: inout ArraySlice<String>
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

  func checkOperands() throws(UsageError) {
    guard command.subcommands.isEmpty else { throw failure("a command is missing") }
    let required = command.operands.filter(\.isRequired)
    guard operands.count >= required.count else {
      throw failure("\(required[operands.count].name) is missing")
    }
  }

  private func unknown(_ kind: String, _ name: String, among names: [String]) -> UsageError {
    let near = names.map { ($0, EditDistance.distance($0, name)) }.filter { $0.1 <= 2 }.min { $0.1 < $1.1 }
    return near.map { UsageError("there is no \(kind) '\(name)'", hint: "did you mean '\($0.0)'?") }
      ?? failure("there is no \(kind) '\(name)'")
  }
}
