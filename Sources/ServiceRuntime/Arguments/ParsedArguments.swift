/// A command line that was understood, together with the environment it overrides.
public struct ParsedArguments: Sendable {
  /// Names of the subcommands, outermost first; empty for a command without.
  public let subcommands: [String]
  public let operands: [String]

  let options: [CommandOption]
  let environment: [String: String]
  /// As given on the command line, in order; a flag's value is `true`.
  let given: [String: [String]]

  /// The option's value: from the command line, else from its variable, else its default.
  public func value(_ name: String) -> String? {
    if let given = given[name]?.last { return given }
    guard let option = option(name) else { return nil }
    return variable(of: option) ?? option.fallback
  }

  /// As ``value(_:)``, for options that may be given several times.
  public func values(_ name: String) -> [String] {
    if let given = given[name] { return given }
    guard let option = option(name), let text = variable(of: option) ?? option.fallback else { return [] }
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

  func option(_ name: String) -> CommandOption? {
    options.first { $0.name == name }
  }

  /// A variable that is set but empty counts as not set.
  func variable(of option: CommandOption) -> String? {
    option.environment.flatMap { environment[$0] }.flatMap { $0.isEmpty ? nil : $0 }
  }

  static func parts(of text: String) -> [String] {
    text.split(separator: ",").map { part in
      String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }.filter { !$0.isEmpty }
  }
}
