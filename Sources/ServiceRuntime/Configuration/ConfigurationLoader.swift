public import CoreTypes

/// Brings a daemon's configuration together: defaults of the options, then the JSON5 file of `--config`, then
/// `PULLBOX_*` variables, then options; the later counts. A key that the configuration's type does not ask for is an error.
///
/// The type is any `Decodable`; a member's name is its key. Text from options and variables is read as the type that a
/// member has. ``ConfigurationDuration`` and ``ConfigurationSize`` read units, ``Redacted`` keeps secrets out of logs. A table
/// without members says nothing.
///
/// ```swift
/// struct Settings: Decodable {
///   var listen: [String]
///   var drainDeadline: ConfigurationDuration
/// }
/// let arguments = ArgumentParser.parseOrExit(command)  // with --listen, --drain-deadline and --config
/// let settings: Settings = try ConfigurationLoader.load(arguments: arguments)
/// ```
///
/// A daemon asks ``ConfigurationReport``, which looks at the values as well.
public enum ConfigurationLoader {
  /// A longer file of `--config` is refused.
  public static let maximumFileLength = ByteCount.mebibytes(1)

  /// Blocks while it reads the file. Throws, with all faults, for a file that cannot be read, for unknown and missing keys and
  /// for values of the wrong type.
  public static func load<Configuration: Decodable>(
    _ type: Configuration.Type = Configuration.self, arguments: ParsedArguments
  ) throws(ConfigurationError) -> Configuration {
    var tree = ConfigurationTree(arguments)
    return try load(type, from: &tree, secretsMayBeMissing: false)
  }

  /// A secret that is missing is an empty text where it may be.
  static func load<Configuration: Decodable>(
    _ type: Configuration.Type, from tree: inout ConfigurationTree, secretsMayBeMissing: Bool
  ) throws(ConfigurationError) -> Configuration {
    let configuration = tree.decode(type)
    let faults = tree.faults + (secretsMayBeMissing ? [] : tree.missingSecrets)
    if let error = ConfigurationError(faults) { throw error }
    guard let configuration else {
      throw ConfigurationError(subject: "the whole", message: "cannot be understood")
    }
    return configuration
  }

  /// One table in JSON5, such as `{name: 'a'}`, which stands at `origin`. Throws for a key that `type` does not ask for, for one
  /// that is missing, and for a value of the wrong type.
  public static func decode<Table: Decodable>(
    _ type: Table.Type, fromTable text: String, origin: ConfigurationOrigin
  ) throws(ConfigurationError) -> Table {
    let subject = if case .file(let path, _, _) = origin { path } else { "\(origin)" }
    let tree: ConfigurationValue
    do throws(ConfigurationError) {
      tree = try JSON5Parser.parse(Array(text.utf8), source: .entry(origin))
    } catch {
      throw ConfigurationError(
        subject: subject, message: "a table in JSON5 is expected here, such as {name: 'a'}", origin: origin)
    }
    let record = ConsumedKeys()
    let faults: [ConfigurationFault]
    do {
      let table = try Table(from: ConfigurationDecoder(value: tree, codingPath: [], record: record))
      let unknown = record.unknown()
      if unknown.isEmpty { return table }
      faults = unknown.map { ConfigurationFault.unknown($0.key, meant: $0.meant, origin: nil) }
    } catch {
      faults = (error as? ConfigurationError ?? ConfigurationDecoder.translated(error)).faults
    }
    throw ConfigurationError(
      subject: subject, message: faults.map { "\($0.subject): \($0.message)" }.joined(separator: "; "),
      origin: origin)
  }
}
