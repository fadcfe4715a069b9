public import Commerce
public import ServiceRuntime

/// The agent's configuration, from its file, its variables and its options. Decoded, and checked when the
/// service is made.
public struct AgentConfiguration: DaemonConfiguration {
  /// The delivery server's base URL, http or https.
  public var server: String
  /// The payment store's base URL, http or https.
  public var store: String
  /// The bearer token of the store's account.
  public var accountToken: String
  /// A directory of the agent's own, made when it is missing; one process uses it at a time.
  public var state: String
  /// Where content is placed; `library` in the state directory unless given.
  public var library: String?
  /// The control interface's Unix socket; `agent.sock` in the state directory unless given.
  public var socket: String?
  /// How often the store's queue is asked; 5 s unless given.
  public var pollInterval: ConfigurationDuration?
  /// Downloads that transfer at the same time, 1 to 8; 3 unless given.
  public var maximumDownloads: Int?
  /// Bytes a second of each download, more than 0; no cap unless given.
  public var maximumSpeed: Int64?
  /// Keys of publishers; content that none of them signed is refused. Every publisher is accepted unless
  /// given.
  public var trustedPublisherKeys: [PublisherKeyIdentifier]?
  /// The least severe lines that are logged: `error`, `warning`, `info` or `debug`.
  public var logLevel: String

  /// What a process that has no configuration file sets; the rest is unset.
  public init(
    server: String, store: String, accountToken: String, state: String, library: String? = nil,
    socket: String? = nil, pollInterval: ConfigurationDuration? = nil, maximumDownloads: Int? = nil
  ) {
    self.server = server
    self.store = store
    self.accountToken = accountToken
    self.state = state
    self.library = library
    self.socket = socket
    self.pollInterval = pollInterval
    self.maximumDownloads = maximumDownloads
    logLevel = "info"
  }

  var paths: StatePaths { StatePaths(state: state, library: library ?? "\(state)/library") }
  /// The path of the Unix socket on which the control interface listens.
  public var socketPath: String { socket ?? "\(state)/agent.sock" }

  /// Throws ``ConfigurationError`` for what cannot work.
  func check() throws(ConfigurationError) {
    for (name, address) in [("server", server), ("store", store)]
    where !address.hasPrefix("http://") && !address.hasPrefix("https://") {
      throw ConfigurationError(subject: name, message: "an http or https address is expected")
    }
    if let maximumDownloads, !(1...8).contains(maximumDownloads) {
      throw ConfigurationError(subject: "maximumDownloads", message: "a number from 1 to 8 is expected")
    }
    if let maximumSpeed, maximumSpeed <= 0 {
      throw ConfigurationError(subject: "maximumSpeed", message: "more than no byte a second is expected")
    }
    if let pollInterval, pollInterval.duration <= .zero {
      throw ConfigurationError(subject: "pollInterval", message: "more than no time is expected")
    }
  }
}
