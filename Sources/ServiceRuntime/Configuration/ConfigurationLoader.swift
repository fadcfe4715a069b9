import FoundationEssentials
public import CoreTypes
import SystemCalls

/// Brings a daemon's configuration together: defaults of the options, then the JSON5 file of `--config`, then
/// `PULLBOX_*` variables, then options; the later counts. A key that nothing asks for is an error.
public enum ConfigurationLoader {
  public static let maximumFileLength = ByteCount.mebibytes(1)

  /// Blocks while it reads the file. Call it again to reload.
  public static func load<Configuration: Decodable>(
    _ type: Configuration.Type = Configuration.self, arguments: ParsedArguments
  ) throws(ConfigurationError) -> Configuration {
    var tree = ConfigurationValue.table([:])
    let options = arguments.options.filter { $0.key != nil }
    for option in options {
      if let fallback = option.fallback {
        try put(fallback, "the default of --\(option.name)", option, into: &tree)
      }
    }
    if let path = arguments.value(CommandOption.configurationFile.name) {
      tree.overlay(try read(path))
    }
    for option in options {
      if let given = arguments.given[option.name] {
        try put(given, option, into: &tree)
      } else if let text = arguments.variable(of: option) {
        try put(text, option.environment ?? "the environment", option, into: &tree)
      }
    }
    return try decode(tree)
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

  private static func put(
    _ text: String, _ origin: String, _ option: CommandOption, into tree: inout ConfigurationValue
  ) throws(ConfigurationError) {
    let value: ConfigurationValue
    switch option.kind {
    case .list where isTable(text): value = try parse(list: "[\(text)]", origin)
    case .list where text.hasPrefix("[") && isTable(text.dropFirst()): value = try parse(list: text, origin)
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
        if isTable(text), case .list(let tables) = try parse(list: "[\(text)]", origin) {
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

  /// Entries of a list that are tables are written as in a file.
  private static func isTable(_ text: some StringProtocol) -> Bool {
    text.first { $0 != " " } == "{"
  }

  private static func parse(list: String, _ origin: String) throws(ConfigurationError) -> ConfigurationValue {
    do {
      return try value(Array(list.utf8))
    } catch {
      throw ConfigurationError(
        subject: origin, message: "a table in JSON5 is expected here, such as {name: 'a'}")
    }
  }

  private static func path(of option: CommandOption) -> ArraySlice<Substring> {
    (option.key ?? option.name).split(separator: ".")[...]
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
