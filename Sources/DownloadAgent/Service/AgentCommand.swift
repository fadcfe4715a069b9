import AgentRecords
import Files
import Glibc
import PullboxAPI
public import ServiceRuntime
import SystemCalls

/// The program `pullbox-agent`: its command line and its process.
public enum AgentCommand {
  /// The options, in the order of the help.
  public static let description = CommandDescription(
    "pullbox-agent",
    summary: "Downloads what was bought: watches the store's queue, downloads, places, reports",
    options: [
      .configurationFile, .checkConfiguration, .printConfiguration, .printSample,
      .value(
        "state", "DIR", environment: "PULLBOX_AGENT_STATE", fallback: "/var/lib/pullbox-agent",
        help: "Directory of the agent's own state"),
      .value(
        "library", "DIR", environment: "PULLBOX_AGENT_LIBRARY",
        help: "Where content is placed; library in the state directory unless given"
      ).example("/srv/comics"),
      .value("server", "URL", fallback: "http://127.0.0.1:8080", help: "Address of the delivery server"),
      .value("store", "URL", fallback: "http://127.0.0.1:8090", help: "Address of the payment store"),
      .value(
        "store-name", "NAME",
        help: "Name of the store at the delivery server; needed where the server knows more than one"
      ).example("sandbox"),
      .value(
        "ca-file", "FILE", key: "serverCA",
        help:
          "PEM file of the authorities whose certificates count for the delivery server; the system's unless given"
      ).example("/etc/pullbox/ca.pem"),
      .list(
        "server-pin", "PIN", key: "serverPin",
        help:
          "A public key of the delivery server, as sha256// and its SHA-256 in base 64; another key is refused"
      ).example("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
      .value(
        "store-ca-file", "FILE", key: "storeCA",
        help:
          "PEM file of the authorities whose certificates count for the payment store; the system's unless given"
      ).example("/etc/pullbox/store-ca.pem"),
      .value(
        "account-token-file", "FILE",
        help:
          "File with the bearer token of the store's account; the service manager's credential account-token unless given"
      ).example("/etc/pullbox/account-token"),
      .value(
        "socket", "PATH", environment: "PULLBOX_AGENT_LISTEN",
        help:
          "Unix socket of the control interface; /run/pullbox/agent.sock, or below XDG_RUNTIME_DIR for a user other than root"
      ).example("/run/pullbox/agent.sock"),
      .value(
        "control-group", "GROUP",
        help: "Group whose members may change what the agent does; all who may open the socket may watch"
      ).example("pullbox"),
      .list(
        "control-users", "USER",
        help: "User who may change what the agent does, beside root and the agent's own"
      ).example("ada"),
      .value("poll-interval", "SECONDS", fallback: "5", help: "How often the store's queue is asked"),
      .value("maximum-downloads", "N", fallback: "3", help: "Downloads that transfer at once, 1 to 8"),
      .value(
        "maximum-connections", "N", fallback: "4",
        help:
          "Connections of one download at most, 1 to 4; more than one are used where each brings notably more"
      ),
      CommandOption.value("maximum-speed", "BYTES", help: "Bytes a second that each download takes at most")
        .example("2MiB"),
      CommandOption.value(
        "maximum-rate", "SIZE",
        help:
          "Bytes a second that all downloads together take at most, such as 2MiB; the urgent ones go first"
      ).appliedAtReload().example("2MiB"),
      CommandOption.list(
        "windows", "WINDOW",
        help:
          "When downloads may run, in local time, such as 01:00-06:00 or sat,sun 00:00-24:00; always unless given"
      ).appliedAtReload().example("01:00-06:00"),
      CommandOption.value(
        "monthly-budget", "SIZE",
        help: "Bytes of content a month, such as 20GiB; downloads wait when they have come"
      ).appliedAtReload().example("20GiB"),
      CommandOption.value(
        "budget-day", "N",
        help:
          "Day of the month on which the budget begins anew, 1 to 31; where a month has no such day, its last; 1 unless given"
      ).appliedAtReload().example("15"),
      CommandOption.value(
        "metered", "RULE", fallback: "wait",
        help: "Downloads wait while the way to the network costs by the byte, or that is ignored"
      ).taking(.words(ConditionRule.allCases.map(\.rawValue))).appliedAtReload(),
      CommandOption.value(
        "metered-limit", "SIZE", fallback: "10MiB", help: "Bytes from which a download waits on a metered way"
      ).appliedAtReload(),
      CommandOption.value(
        "portal", "RULE", fallback: "wait",
        help: "Downloads wait while the network wants a log-in, as the system says, or that is ignored"
      ).taking(.words(ConditionRule.allCases.map(\.rawValue))).appliedAtReload(),
      CommandOption.value(
        "offline", "RULE", fallback: "wait",
        help: "Downloads and requests wait while this machine says that it has no network, or that is ignored"
      ).taking(.words(ConditionRule.allCases.map(\.rawValue))).appliedAtReload(),
      CommandOption.value(
        "battery-level", "N", fallback: "20",
        help:
          "Downloads wait while less percent are left in the battery that the machine runs on; 0 for never"
      ).appliedAtReload(),
      CommandOption.value(
        "on-battery", "RULE", fallback: "ignore",
        help: "Downloads wait while the machine runs on its battery, or that is ignored"
      ).taking(.words(ConditionRule.allCases.map(\.rawValue))).appliedAtReload(),
      CommandOption.value(
        "power-saver", "RULE", fallback: "wait",
        help: "Downloads wait while the machine saves power, unless it is on mains, or that is ignored"
      ).taking(.words(ConditionRule.allCases.map(\.rawValue))).appliedAtReload(),
      CommandOption.value(
        "busy", "RULE", fallback: "wait",
        help:
          "Half of the downloads wait while other work waits for the disk or for memory, or that is ignored"
      ).taking(.words(ConditionRule.allCases.map(\.rawValue))).appliedAtReload(),
      .list(
        "condition-sources", "NAME",
        help:
          "Who is heard about the conditions of this machine, such as rtnetlink; all unless given, none for no source"
      ).example("NetworkManager"),
      .list(
        "trusted-publisher-keys", "ID",
        help: "A publisher's key; content that none of these signed is refused"
      ).example("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
      .list(
        "trusted-license-keys", "KEY",
        help:
          "A public key by which the server's licenses count, in base64url; the first that the server shows, unless given"
      ).example("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"),
      CommandOption.value(
        "arrivals", "POLICY", fallback: "latest",
        help:
          "New issues and corrections that are fetched by themselves: the latest issue of each publication, all, or nothing (ask lists them, none does not)"
      ).taking(.words(ArrivalPolicy.allCases.map(\.rawValue))),
      .list(
        "arrivals-of", "PUBLICATION=POLICY",
        help: "The same for one publication, in place of --arrivals"
      ).example("com.example.heroes=all"),
      .value(
        "locale", "TAG",
        help:
          "Language of the titles of new issues and corrections, and of sections that are fetched by themselves, such as fr-FR; that of LC_ALL, LC_MESSAGES or LANG unless given"
      ).example("fr-FR"),
      .list(
        "sections", "TAG[=ask]",
        help:
          "Section of content that is fetched by itself whatever its publisher says, or with =ask only when it is asked for"
      ).example("hires=ask"),
      .flag(
        "consumption-consent",
        help: "The payment store may learn how much of a purchase was delivered when it decides on a refund"),
      .flag(
        "private-reading",
        help:
          "How far products are read stays on this device: the server is not told, nor asked about the customer's other devices"
      ),
      .value(
        "quota", "SIZE",
        help:
          "Bytes that content may take, such as 20GiB; to make room, the content that was opened longest ago goes first"
      ).example("20GiB"),
      .value(
        "keep-previous", "DURATION", fallback: "7d",
        help: "How long a version stays that a later one has replaced; a version that is open stays longer"),
      .value(
        "space-reserve", "SIZE", fallback: "32MiB", help: "Bytes that stay free on the library's file system"),
      .value(
        "metrics-listen", "ADDRESS",
        help:
          "Where GET /metrics and health are answered beside the socket, such as 127.0.0.1:8095; nowhere unless given"
      ).example("127.0.0.1:8095"),
      .value(
        "catalog-listen", "ADDRESS",
        help:
          "Where programs of this device read the library as a catalog (OPDS), such as 127.0.0.1:8094 or unix:PATH; nowhere unless given"
      ).example("127.0.0.1:8094"),
      CommandOption.value(
        "bus", "BUS",
        help:
          "D-Bus on which the agent is com.pullbox.Agent1: system, session, or none; unless given, session for a user's agent and system for the device's"
      ).taking(.words(AgentBusChoice.allCases.map(\.rawValue))).example("system"),
      .flag(
        "rebuild", environment: .none,
        help: "At this start, make the records anew from the library and the store"),
      .flag(
        "new-identity", environment: .none,
        help: "At this start, give the device a new identity and ask for every open grant anew"),
      .readyFile, .logLevel.appliedAtReload(),
    ])

  /// Runs the agent until a signal ends it; exits with the code of `ExitCode`. To be called from a
  /// synchronous `main`.
  public static func main() -> Never {
    Heap.limit()
    TaskThreads.install()
    Daemon.main(description, configuration: AgentConfiguration.self) { configuration, log, source in
      var configuration = configuration
      configuration.bus =
        configuration.bus
        ?? AgentConfiguration.standardBus(user: geteuid(), environment: ProcessEnvironment.variables)
      let service = try AgentService(
        configuration: configuration, log: log, inherited: try InheritedSockets.adopt())
      return Daemon.Parts(
        services: [service], addresses: { service.boundAddresses },
        reload: { await service.reload(from: source) })
    }
  }
}
