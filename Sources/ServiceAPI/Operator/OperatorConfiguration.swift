public import Commerce

/// `GET /v1/operator/configuration`: the configuration in effect, with where each value comes from. Secrets are not in it.
public struct OperatorConfiguration: Codable, Sendable {
  /// One key of the configuration.
  public struct Setting: Codable, Sendable {
    /// The kinds of places that a value comes from, the later of which counts.
    public enum Origin: String, ListedWords, Sendable {
      /// Nothing is given, and the default counts.
      case fallback = "default"
      /// The configuration file, or one that it names.
      case file
      /// A variable of the environment.
      case environment
      /// An option of the command line.
      case option
    }

    /// The key, its parts separated by dots.
    public var key: String
    /// The value in JSON5; absent where nothing is set, and for a secret.
    public var value: String?
    /// Where the value comes from; absent where nothing is set.
    public var origin: Origin?
    /// The place there: the file with line and column, the variable or the option.
    public var place: String?
    /// Whether the value is a secret, or holds one, and is not shown.
    public var isSecret: Bool
    /// Whether a reload has read another value, which counts from the next start on.
    public var waitsForRestart: Bool

    /// Creates the setting from its members.
    public init(
      key: String, value: String? = nil, origin: Origin? = nil, place: String? = nil, isSecret: Bool,
      waitsForRestart: Bool
    ) {
      self.key = key
      self.value = value
      self.origin = origin
      self.place = place
      self.isSecret = isSecret
      self.waitsForRestart = waitsForRestart
    }
  }

  /// The keys in the order of the options; none where the server was started without any.
  public var settings: [Setting]

  /// Creates the document from its member.
  public init(settings: [Setting]) {
    self.settings = settings
  }
}
