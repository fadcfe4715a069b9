/// A command line that was understood, together with the environment it overrides. Options are asked for by their names,
/// not by their aliases.
public struct ParsedArguments: Sendable {
  /// Names of the subcommands, outermost first; empty for a command without.
  public let subcommands: [String]
  /// The operands, in the order of the command line.
  public let operands: [String]

  /// The options of the command and of those above it.
  let options: [CommandOption]
  /// The variables of the process.
  let environment: [String: String]
  /// The values of the command line, in its order; a flag's value is `true`.
  let given: [String: [String]]

  /// The option's value: from the command line, else from its variable, else its default.
  public func value(_ name: String) -> String? {
    if let given = given[name]?.last { return given }
    guard let option = option(name) else { return nil }
    return variable(of: option)?.text ?? option.fallback
  }

  /// Whether the option stands on the command line itself.
  public func isGiven(_ name: String) -> Bool { given[name] != nil }

  /// The values of an option that may be given several times: from the command line, else from its variable, else its
  /// default.
  public func values(_ name: String) -> [String] {
    if let given = given[name] { return given }
    guard let option = option(name), let text = variable(of: option)?.text ?? option.fallback else {
      return []
    }
    return Self.parts(of: text)
  }

  /// Whether a flag is set. In its variable, `1`, `true`, `yes` and `on` set it.
  public func isSet(_ name: String) -> Bool {
    value(name).map { ["1", "true", "yes", "on"].contains($0.lowercased()) } ?? false
  }

  /// A whole number within `range`; nil when there is no value.
  public func integer(_ name: String, in range: ClosedRange<Int> = 0...Int.max) throws(UsageError) -> Int? {
    guard let text = value(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw UsageError(
        "--\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }
    return number
  }

  /// The option's value, or a usage error that names the option and its variable.
  public func required(_ name: String) throws(UsageError) -> String {
    if let value = value(name) { return value }
    let variable = option(name)?.environment.map { " or the variable \($0)" } ?? ""
    throw UsageError("--\(name)\(variable) is needed")
  }

  /// The values of secret options that stand on the command line.
  var secrets: [String] { options.filter(\.isSecret).flatMap { given[$0.name] ?? [] } }

  /// The names of the variables that give secret options their values, whether they are set or not. A program that this one starts has
  /// no use for them.
  public var secretVariables: Set<String> {
    Set(
      options.filter(\.isSecret).flatMap { [$0.environment] + $0.aliases.map(\.environment) }.compactMap(
        \.self))
  }

  /// The option of that name; nil where the command has none.
  func option(_ name: String) -> CommandOption? {
    options.first { $0.name == name }
  }

  /// The option's variable, else that of one of its aliases, with its name. A variable that is set but empty counts as not
  /// set.
  func variable(of option: CommandOption) -> (name: String, text: String)? {
    let names = [option.environment] + option.aliases.map(\.environment)
    for name in names.compactMap({ $0 }) {
      if let text = environment[name], !text.isEmpty { return (name, text) }
    }
    return nil
  }

  /// The parts between commas, without spaces around them and without empty ones.
  static func parts(of text: String) -> [String] {
    text.split(separator: ",").map { part in
      String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }.filter { !$0.isEmpty }
  }
}
