public import ServiceRuntime
import SystemCalls

/// The program `pullbox-agent`: its command line and its process.
public enum AgentCommand {
  /// The options, in the order of the help.
  public static let description = CommandDescription(
    "pullbox-agent",
    summary: "Downloads what was bought: watches the store's queue, downloads, places, reports",
    options: [
      .configurationFile,
      .value("state", "DIR", environment: "PULLBOX_AGENT_STATE", help: "Directory of the agent's own state"),
      .value(
        "library", "DIR", environment: "PULLBOX_AGENT_LIBRARY",
        help: "Where content is placed; library in the state directory unless given"),
      .value("server", "URL", help: "Address of the delivery server"),
      .value("store", "URL", help: "Address of the payment store"),
      .value(
        "ca-file", "FILE", key: "serverCA",
        help:
          "PEM file of the authorities whose certificates count for the delivery server; the system's unless given"
      ),
      .list(
        "server-pin", "PIN", key: "serverPin",
        help:
          "A public key of the delivery server, as sha256// and its SHA-256 in base 64; another key is refused"
      ),
      .value(
        "store-ca-file", "FILE", key: "storeCA",
        help:
          "PEM file of the authorities whose certificates count for the payment store; the system's unless given"
      ),
      .value(
        "account-token-file", "FILE",
        help:
          "File with the bearer token of the store's account; the service manager's credential account-token unless given"
      ),
      .value(
        "socket", "PATH", environment: "PULLBOX_AGENT_LISTEN",
        help:
          "Unix socket of the control interface; /run/pullbox/agent.sock, or below XDG_RUNTIME_DIR for a user other than root"
      ),
      .value(
        "control-group", "GROUP",
        help: "Members may change what the agent does; who may open the socket may watch"),
      .list(
        "control-users", "USER",
        help: "User who may change what the agent does, beside root and the agent's own"),
      .value("poll-interval", "SECONDS", fallback: "5", help: "How often the store's queue is asked"),
      .value("maximum-downloads", "N", fallback: "3", help: "Downloads that transfer at once, 1 to 8"),
      .value("maximum-speed", "BYTES", help: "Bytes a second that each download takes at most"),
      .list(
        "trusted-publisher-keys", "ID",
        help: "A publisher's key; content that none of these signed is refused"),
      .value(
        "quota", "SIZE",
        help: "What content may take, such as 20GiB; for new content, what was opened longest ago goes"),
      .value(
        "space-reserve", "SIZE", fallback: "32MiB", help: "What stays free on the library's file system"),
      .flag(
        "rebuild", environment: .none,
        help: "At this start, make the records anew from the library and the store"),
      .flag(
        "new-identity", environment: .none,
        help: "At this start, give the device a new identity and ask for every open grant anew"),
      .readyFile, .logLevel,
    ])

  /// Runs the agent until a signal ends it; exits with the code of `ExitCode`. To be called from a
  /// synchronous `main`.
  public static func main() -> Never {
    Heap.limit()
    Daemon.main(description, configuration: AgentConfiguration.self) { configuration, log in
      let service = try AgentService(configuration: configuration, log: log)
      return Daemon.Parts(services: [service], addresses: { service.boundAddresses })
    }
  }
}
