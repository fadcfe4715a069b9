public import CoreTypes
import FoundationEssentials
import SystemCalls

/// Brings a daemon's configuration together: defaults of the options, then the JSON5 file of `--config`, then
/// `PULLBOX_*` variables, then options; the later counts. A key that the configuration's type does not ask for is an error.
///
/// The type is any `Decodable`; a member's name is its key. Text from options and variables is read as the type that a
/// member has. ``ConfigurationDuration`` and ``ConfigurationSize`` read units, ``Redacted`` keeps secrets out of logs.
///
/// ```swift
/// struct Settings: Decodable {
///   var listen: [String]
///   var drainDeadline: ConfigurationDuration
/// }
/// let arguments = ArgumentParser.parseOrExit(command)  // with --listen, --drain-deadline and --config
/// let settings: Settings = try ConfigurationLoader.load(arguments: arguments)
/// ```
public enum ConfigurationLoader {
  /// A longer file of `--config` is refused.
  public static let maximumFileLength = ByteCount.mebibytes(1)

  /// Blocks while it reads the file. Call it again to reload. Throws for a file that cannot be read, for an unknown or missing
  /// key and for a value of the wrong type.
  public static func load<Configuration: Decodable>(
    _ type: Configuration.Type = Configuration.self, arguments: ParsedArguments
  ) throws(ConfigurationError) -> Configuration {
    var tree = ConfigurationValue.table([:])
    let options = arguments.options.filter { $0.key != nil }
    for option in options {
      if let fallback = option.fallback {
        try put(fallback, origin: "the default of --\(option.name)", option, into: &tree)
      }
    }
    if let path = arguments.value(CommandOption.configurationFile.name) {
      var file = try read(path)
      try renameAliases(in: &file, options: options)
      tree.overlay(file)
    }
    for option in options {
      if let given = arguments.given[option.name] {
        try put(given, option, into: &tree)
      } else if let variable = arguments.variable(of: option) {
        try put(variable.text, origin: variable.name, option, into: &tree)
      }
    }
    return try decode(tree)
  }

  /// One table in JSON5, such as `{name: 'a'}`, which came from `origin`. Throws for a key that `type` does not ask for, for one
  /// that is missing, and for a value of the wrong type.
  public static func decode<Table: Decodable>(
    _ type: Table.Type, fromTable text: String, origin: String
  ) throws(ConfigurationError) -> Table {
    let tree: ConfigurationValue
    do {
      tree = try parse(Array(text.utf8))
    } catch {
      throw ConfigurationError(
        subject: origin, message: "a table in JSON5 is expected here, such as {name: 'a'}")
    }
    do {
      return try decode(tree)
    } catch {
      throw ConfigurationError(subject: "\(origin): \(error.subject)", message: error.message)
    }
  }

  static func decode<Configuration: Decodable>(
    _ tree: ConfigurationValue
  ) throws(ConfigurationError) -> Configuration {
    let record = ConsumedKeys()
    do {
      let configuration = try Configuration(
        from: ConfigurationDecoder(value: tree, codingPath: [], record: record))
      try record.checkNothingUnknown()
      return configuration
    } catch let error as ConfigurationError {
      // A misspelt key is the likelier cause of one that is missing.
      try record.checkNothingMisspelt()
      throw error
    } catch {
      try record.checkNothingMisspelt()
      throw ConfigurationDecoder.translated(error)
    }
  }

  /// Moves values under earlier names of keys to those keys. Throws for a file that has both.
  private static func renameAliases(
    in file: inout ConfigurationValue, options: [CommandOption]
  ) throws(ConfigurationError) {
    for option in options {
      for alias in option.aliases {
        guard let key = alias.key, let value = file.removeValue(at: path(key)) else { continue }
        guard file.value(at: path(of: option)) == nil else {
          throw ConfigurationError(
            subject: key, message: "is an earlier name of \(option.key ?? option.name), which is given too")
        }
        file.set(value, at: path(of: option))
      }
    }
  }

  private static func put(
    _ text: String, origin: String, _ option: CommandOption, into tree: inout ConfigurationValue
  ) throws(ConfigurationError) {
    let value: ConfigurationValue
    switch option.kind {
    case .list where isTable(text): value = try parse(list: "[\(text)]", origin: origin)
    case .list where text.hasPrefix("[") && isTable(text.dropFirst()):
      value = try parse(list: text, origin: origin)
    case .list: value = .list(ParsedArguments.parts(of: text).map { .text($0, origin: origin) })
    case .flag, .value: value = .text(text, origin: origin)
    }
    tree.set(value, at: path(of: option))
  }

  private static func put(
    _ given: [String], _ option: CommandOption, into tree: inout ConfigurationValue
  ) throws(ConfigurationError) {
    let origin = "--\(option.name)"
    if case .list = option.kind {
      var values: [ConfigurationValue] = []
      for text in given {
        if isTable(text), case .list(let tables) = try parse(list: "[\(text)]", origin: origin) {
          values += tables
        } else {
          values.append(.text(text, origin: origin))
        }
      }
      tree.set(.list(values), at: path(of: option))
    } else if let last = given.last {
      tree.set(.text(last, origin: origin), at: path(of: option))
    }
  }

  /// Whether an entry of a list is a table, which is written as in a file.
  private static func isTable(_ text: some StringProtocol) -> Bool {
    text.first { $0 != " " } == "{"
  }

  private static func parse(list: String, origin: String) throws(ConfigurationError) -> ConfigurationValue {
    do {
      return try value(Array(list.utf8))
    } catch {
      throw ConfigurationError(
        subject: origin, message: "a table in JSON5 is expected here, such as {name: 'a'}")
    }
  }

  private static func path(of option: CommandOption) -> ArraySlice<Substring> {
    path(option.key ?? option.name)
  }

  private static func path(_ key: String) -> ArraySlice<Substring> {
    key.split(separator: ".")[...]
  }

  private static func read(_ path: String) throws(ConfigurationError) -> ConfigurationValue {
    do {
      let bytes = try FileSystem.read(path, upTo: maximumFileLength)
      return try parse(bytes)
    } catch let error as DecodingError {
      throw ConfigurationError(subject: path, message: ConfigurationDecoder.explanation(of: error))
    } catch {
      throw ConfigurationError(subject: path, message: "\(error)")
    }
  }

  static func parse(_ bytes: [UInt8]) throws -> ConfigurationValue {
    let value = try value(bytes)
    guard case .table = value else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: [], debugDescription: "the outermost value is not an object"))
    }
    return value
  }

  private static func value(_ bytes: [UInt8]) throws -> ConfigurationValue {
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    return try decoder.decode(ConfigurationValue.self, from: Data(bytes))
  }
}

/// A configuration that cannot be used: which part, and what is wrong with it.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The key, parts separated by dots; the file where the whole file is meant.
  public let subject: String
  /// What is wrong, without a full stop.
  public let message: String

  /// An error about a key or a file.
  public init(subject: String, message: String) {
    self.subject = subject
    self.message = message
  }

  /// One line.
  public var description: String { "configuration: \(subject): \(message)" }
}
