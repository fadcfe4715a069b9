/// One option of a command: how it is written, where else its value may come from, what `--help` says of it.
public struct CommandOption: Sendable {
  public enum Kind: Hashable, Sendable {
    /// There or not there.
    case flag
    /// `--name VALUE`; the last one counts.
    case value(metavariable: String)
    /// `--name VALUE` any number of times; in the environment and in a default, separated by commas.
    case list(metavariable: String)
  }

  /// Without its dashes.
  public let name: String
  public let abbreviation: Character?
  public let kind: Kind
  /// The variable that holds the value when the option is not given.
  public let environment: String?
  /// What counts when nothing else is given.
  public let fallback: String?
  /// Where the value goes in a configuration, parts separated by dots; nil for options that are not
  /// configuration.
  public let key: String?
  /// A sentence or two, without a full stop at the end.
  public let help: String
  /// Under which title `--help` shows it; nil for the first, which has none of its own.
  public private(set) var section: String?

  /// `environment` is `PULLBOX_` and the name in capitals unless given; pass nil for none. `key` is the name
  /// in camel case unless given.
  public init(
    _ name: String, _ kind: Kind, abbreviation: Character? = nil, environment: String?? = .none,
    fallback: String? = nil, key: String?? = .none, help: String
  ) {
    self.name = name
    self.kind = kind
    self.abbreviation = abbreviation
    self.environment = environment ?? Self.variable(for: name)
    self.fallback = fallback
    self.key = key ?? Self.camelCase(name)
    self.help = help
  }

  public static func flag(
    _ name: String, abbreviation: Character? = nil, environment: String?? = .none, key: String?? = .none,
    help: String
  ) -> CommandOption {
    CommandOption(
      name, .flag, abbreviation: abbreviation, environment: environment, key: key, help: help)
  }

  public static func value(
    _ name: String, _ metavariable: String, abbreviation: Character? = nil, environment: String?? = .none,
    fallback: String? = nil, key: String?? = .none, help: String
  ) -> CommandOption {
    CommandOption(
      name, .value(metavariable: metavariable), abbreviation: abbreviation, environment: environment,
      fallback: fallback, key: key, help: help)
  }

  public static func list(
    _ name: String, _ metavariable: String, abbreviation: Character? = nil, environment: String?? = .none,
    fallback: String? = nil, key: String?? = .none, help: String
  ) -> CommandOption {
    CommandOption(
      name, .list(metavariable: metavariable), abbreviation: abbreviation, environment: environment,
      fallback: fallback, key: key, help: help)
  }

  /// These options under a title of their own.
  public static func section(_ title: String, _ options: [CommandOption]) -> [CommandOption] {
    options.map { option in
      var option = option
      option.section = title
      return option
    }
  }

  /// `--config FILE`, which ``ConfigurationLoader`` reads.
  public static let configurationFile = CommandOption.value(
    "config", "FILE", key: .some(nil), help: "Configuration in JSON5; variables and options override it")

  /// `--ready-file PATH`, see ``ReadyFile``.
  public static let readyFile = CommandOption.value(
    "ready-file", "PATH", key: .some(nil),
    help: "Written once requests are answered: addresses and process id")

  /// `--log-level LEVEL`.
  public static let logLevel = CommandOption.value(
    "log-level", "LEVEL", fallback: "info", help: "error, warning, info or debug")

  static let help = CommandOption.flag(
    "help", abbreviation: "h", environment: .some(nil), key: .some(nil), help: "Show this help")

  var metavariable: String? {
    switch kind {
    case .flag: nil
    case .value(let metavariable), .list(let metavariable): metavariable
    }
  }

  private static func variable(for name: String) -> String {
    "PULLBOX_" + name.uppercased().split(separator: "-").joined(separator: "_")
  }

  private static func camelCase(_ name: String) -> String {
    let words = name.split(separator: "-")
    return words.dropFirst().reduce(words.first.map(String.init) ?? "") { text, word in
      text + word.prefix(1).uppercased() + word.dropFirst()
    }
  }
}
