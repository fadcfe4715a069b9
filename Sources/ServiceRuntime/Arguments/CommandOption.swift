/// One option of a command: how it is written, where else its value may come from, what `--help` says of it.
///
/// ```swift
/// let options: [CommandOption] = [
///   .value("store-url", "URL", key: "store.url", help: "The payment store"),
///   .flag("watch", abbreviation: "w", environment: .none, help: "Follow downloads until they end"),
///   .value("gc-grace", "DURATION", fallback: "24h", aliases: ["collection-grace"], help: "…"),
/// ]
/// ```
public struct CommandOption: Sendable {
  /// The kind of an option, by the values that it takes.
  public enum Kind: Hashable, Sendable {
    /// There or not there.
    case flag
    /// `--name VALUE`; the last one counts.
    case value(metavariable: String)
    /// `--name VALUE` any number of times; in the environment and in a default, separated by commas.
    case list(metavariable: String)
  }

  /// The name of an option in another place: its variable in the environment, its key in a configuration. A
  /// string literal is ``named(_:)``.
  public enum OtherName: Hashable, Sendable, ExpressibleByStringLiteral {
    /// Made of the option's own name: the variable is `PULLBOX_` and the name in capitals, the key the name in camel case.
    case automatic
    /// This name.
    case named(String)
    /// The option is not found in that place.
    case none

    /// The same as ``named(_:)``.
    public init(stringLiteral name: String) { self = .named(name) }

    /// The name in that place; nil for ``none``.
    fileprivate func resolved(automatic: String) -> String? {
      switch self {
      case .automatic: automatic
      case .named(let name): name
      case .none: nil
      }
    }
  }

  /// An earlier name of an option, which keeps working; `--help` does not show it. A string literal is an alias whose
  /// variable and key are made of it.
  public struct Alias: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The name, without dashes.
    public let name: String
    /// The earlier variable; nil for none.
    public fileprivate(set) var environment: String?
    /// The earlier key of the configuration, parts separated by dots; nil for none.
    public fileprivate(set) var key: String?

    /// Variable and key are made of `name` unless given.
    public init(_ name: String, environment: OtherName = .automatic, key: OtherName = .automatic) {
      self.name = name
      self.environment = environment.resolved(automatic: CommandOption.variable(for: name))
      self.key = key.resolved(automatic: CommandOption.camelCase(name))
    }

    /// The same as ``init(_:environment:key:)`` with a name alone.
    public init(stringLiteral name: String) { self.init(name) }
  }

  /// The name, without dashes.
  public let name: String
  /// The letter of `-l`; nil for none.
  public let abbreviation: Character?
  /// Whether it takes a value, or several.
  public let kind: Kind
  /// The variable that holds the value when the option is not given; nil for none.
  public let environment: String?
  /// The value that counts when no other is given; nil for none.
  public let fallback: String?
  /// Where the value goes in a configuration, parts separated by dots; nil for options that are not
  /// configuration.
  public let key: String?
  /// Earlier names. One has a variable or a key only where the option itself has.
  public let aliases: [Alias]
  /// A sentence or two, without a full stop at the end.
  public let help: String
  /// Under which title `--help` shows it; nil for the first, which has none of its own.
  public private(set) var section: String?
  /// The completions that a shell offers for its value: files and directories by the value's name, unless
  /// ``taking(_:)`` says otherwise.
  public private(set) var completion: ValueCompletion
  /// The effect of a new value when a daemon reads its configuration again.
  public private(set) var reload = Reload.needsRestart

  /// Whether its value is a secret, which is shown nowhere.
  public private(set) var isSecret = false
  /// A value to show where there is no default: in samples, as an option would give it.
  public private(set) var example: String?

  /// When a new value of a configuration takes effect.
  public enum Reload: Hashable, Sendable {
    /// At once, for what is running as well.
    case applied
    /// At the next start; a reload only says so.
    case needsRestart
  }

  /// The static functions `flag`, `value` and `list` are shorter.
  public init(
    _ name: String, kind: Kind, abbreviation: Character? = nil, environment: OtherName = .automatic,
    fallback: String? = nil, key: OtherName = .automatic, aliases: [Alias] = [], help: String
  ) {
    let variable = environment.resolved(automatic: Self.variable(for: name))
    let path = key.resolved(automatic: Self.camelCase(name))
    self.name = name
    self.kind = kind
    completion = ValueCompletion(kind)
    self.abbreviation = abbreviation
    self.environment = variable
    self.fallback = fallback
    self.key = path
    self.aliases = aliases.map { alias in
      var alias = alias
      if variable == nil { alias.environment = nil }
      if path == nil { alias.key = nil }
      return alias
    }
    self.help = help
  }

  /// `--name`, without a value.
  public static func flag(
    _ name: String, abbreviation: Character? = nil, environment: OtherName = .automatic,
    key: OtherName = .automatic, aliases: [Alias] = [], help: String
  ) -> CommandOption {
    CommandOption(
      name, kind: .flag, abbreviation: abbreviation, environment: environment, key: key, aliases: aliases,
      help: help)
  }

  /// `--name VALUE`; `--help` calls the value `metavariable`.
  public static func value(
    _ name: String, _ metavariable: String, abbreviation: Character? = nil,
    environment: OtherName = .automatic, fallback: String? = nil, key: OtherName = .automatic,
    aliases: [Alias] = [], help: String
  ) -> CommandOption {
    CommandOption(
      name, kind: .value(metavariable: metavariable), abbreviation: abbreviation, environment: environment,
      fallback: fallback, key: key, aliases: aliases, help: help)
  }

  /// `--name VALUE`, any number of times; `--help` calls the value `metavariable`.
  public static func list(
    _ name: String, _ metavariable: String, abbreviation: Character? = nil,
    environment: OtherName = .automatic, fallback: String? = nil, key: OtherName = .automatic,
    aliases: [Alias] = [], help: String
  ) -> CommandOption {
    CommandOption(
      name, kind: .list(metavariable: metavariable), abbreviation: abbreviation, environment: environment,
      fallback: fallback, key: key, aliases: aliases, help: help)
  }

  /// These options under a title of their own.
  public static func section(_ title: String, _ options: [CommandOption]) -> [CommandOption] {
    options.map { option in
      var option = option
      option.section = title
      return option
    }
  }

  /// This option, for whose value a shell offers `completion`.
  public func taking(_ completion: ValueCompletion) -> CommandOption {
    var option = self
    option.completion = completion
    return option
  }

  /// This option, whose value a reload applies.
  public func appliedAtReload() -> CommandOption {
    var option = self
    option.reload = .applied
    return option
  }

  /// This option, whose value is shown nowhere.
  public func secret() -> CommandOption {
    var option = self
    option.isSecret = true
    return option
  }

  /// This option, which has no default, with a value to show in samples.
  public func example(_ value: String) -> CommandOption {
    var option = self
    option.example = value
    return option
  }

  /// The type of its value, in words: `duration`, `list of addresses`.
  public var valueType: String {
    switch kind {
    case .flag: "true or false"
    case .value(let metavariable): Self.types[metavariable]?.one ?? "text"
    case .list(let metavariable): "list of " + (Self.types[metavariable]?.many ?? "texts")
    }
  }

  /// By the metavariable, in the singular and the plural; texts are not listed.
  private static let types: [String: (one: String, many: String)] = [
    "ADDRESS": ("address", "addresses"), "BOOLEAN": ("true or false", "truth values"),
    "BYTES": ("size", "sizes"), "DIR": ("path", "paths"),
    "DURATION": ("duration", "durations"), "FILE": ("path", "paths"), "JSON5": ("table", "tables"),
    "N": ("whole number", "whole numbers"), "NETWORK": ("network", "networks"), "PATH": ("path", "paths"),
    "SECONDS": ("duration", "durations"), "SIZE": ("size", "sizes"), "URL": ("URL", "URLs"),
  ]

  /// `--config FILE`, which ``ConfigurationLoader`` reads.
  public static let configurationFile = CommandOption.value(
    "config", "FILE", key: .none, help: "Configuration in JSON5; variables and options override it")

  /// `--check`, which ``Daemon`` answers.
  public static let checkConfiguration = CommandOption.flag(
    "check", environment: .none, key: .none,
    help: "Print everything that is wrong with the configuration, and end; exit code 78 if anything is")

  /// `--print-config`, which ``Daemon`` answers.
  public static let printConfiguration = CommandOption.flag(
    "print-config", environment: .none, key: .none,
    help: "Print the configuration in effect and where each value comes from, and end; secrets are not shown")

  /// `--print-sample`, which ``Daemon`` answers.
  public static let printSample = CommandOption.flag(
    "print-sample", environment: .none, key: .none,
    help: "Print a configuration file that explains every key, and end")

  /// `--ready-file PATH`, see ``ReadyFile``.
  public static let readyFile = CommandOption.value(
    "ready-file", "PATH", key: .none,
    help: "Written once requests are answered: addresses and process id")

  /// `--log-level LEVEL`.
  public static let logLevel = CommandOption.value(
    "log-level", "LEVEL", fallback: "info", help: "error, warning, info or debug")

  /// `--help`, which is accepted everywhere and in no list of options.
  static let help = CommandOption.flag(
    "help", abbreviation: "h", environment: .none, key: .none, help: "Show this help")
  /// `--version`, of programs that know theirs.
  static let version = CommandOption.flag(
    "version", environment: .none, key: .none, help: "Show the version")

  /// Whether the text is the option's name or that of an alias, without dashes.
  func isNamed(_ text: some StringProtocol) -> Bool {
    name == text || aliases.contains { $0.name == text }
  }

  /// The word for the value in help; nil for a flag.
  var metavariable: String? {
    switch kind {
    case .flag: nil
    case .value(let metavariable), .list(let metavariable): metavariable
    }
  }

  /// The variable of a name: `PULLBOX_DRAIN_DEADLINE` for `drain-deadline`.
  private static func variable(for name: String) -> String {
    "PULLBOX_" + name.uppercased().split(separator: "-").joined(separator: "_")
  }

  /// The key of a name: `drainDeadline` for `drain-deadline`.
  private static func camelCase(_ name: String) -> String {
    let words = name.split(separator: "-")
    return words.dropFirst().reduce(words.first.map(String.init) ?? "") { text, word in
      text + word.prefix(1).uppercased() + word.dropFirst()
    }
  }
}
