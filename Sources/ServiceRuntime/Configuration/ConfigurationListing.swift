/// The configuration as an operator reads it: each key with its value and where that comes from, in the order of the options. Secrets
/// are told to be set, and not shown.
public struct ConfigurationListing: Hashable, Sendable {
  /// One key.
  public struct Entry: Hashable, Sendable {
    /// The key, its parts separated by dots.
    public var key: String
    /// The value in JSON5; nil where nothing is set, and for a secret.
    public var value: String?
    /// Where the value comes from; nil where nothing is set.
    public var origin: ConfigurationOrigin?
    /// Whether the key is one of a secret.
    public var isSecret = false
    /// Whether the value may hold a password, as an address may.
    public var holdsPassword = false
    /// Whether a reload has read another value, which counts from the next start on.
    public var waitsForRestart = false
  }

  /// The keys.
  public var entries: [Entry]

  /// Lists these keys.
  public init(_ entries: [Entry] = []) {
    self.entries = entries
  }

  /// Takes in what a reload has read, but for the keys that need a restart.
  public mutating func reload(_ new: ConfigurationListing, besides waiting: [String]) {
    let kept = Dictionary(entries.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    entries = new.entries.map { entry in
      guard waiting.contains(entry.key), var old = kept[entry.key] else { return entry }
      old.waitsForRestart = true
      return old
    }
  }

  /// The text that `--print-config` prints: a line for each key.
  var text: String {
    entries.map { entry -> String in
      guard let origin = entry.origin else { return "\(entry.key): not set\n" }
      let shown = entry.value ?? (entry.holdsPassword ? "set (holds a password)" : "set")
      return "\(entry.key): \(shown)  // \(origin)\n"
    }.joined()
  }
}

/// Where a daemon's configuration comes from: its command line, with the environment and the file that it names.
public struct ConfigurationSource<Configuration: DaemonConfiguration>: Sendable {
  private let arguments: ParsedArguments

  /// Reads these arguments, and the file that they name.
  public init(_ arguments: ParsedArguments) {
    self.arguments = arguments
  }

  /// Reads the configuration again, with its listing. Blocks. Throws for one that cannot be used.
  public func read() throws(ConfigurationError) -> (
    configuration: Configuration, listing: ConfigurationListing
  ) {
    let report = ConfigurationReport<Configuration>(arguments)
    return (try report.usable(), report.listing)
  }
}
