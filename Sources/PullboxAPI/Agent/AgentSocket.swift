/// Where the agent's control interface is to be found when nothing names its socket: one rule for the agent, its unit and its
/// clients. Pure.
public enum AgentSocket {
  /// The socket of an agent that serves the whole device: it runs as root, or is started by the service manager.
  public static let systemPath = "/run/pullbox/agent.sock"

  /// The socket of an agent that runs as this user: `$XDG_RUNTIME_DIR/pullbox/agent.sock`; ``systemPath`` for root, and
  /// where the variable is not set to an absolute path, as in a system service.
  public static func path(user: UInt32, environment: [String: String]) -> String {
    guard user != 0, let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") else {
      return systemPath
    }
    return "\(directory)/pullbox/agent.sock"
  }

  /// Returns the sockets that a client of this user tries, in this order: the user's own agent, then the device's.
  public static func candidates(user: UInt32, environment: [String: String]) -> [String] {
    let own = path(user: user, environment: environment)
    return own == systemPath ? [own] : [own, systemPath]
  }
}
