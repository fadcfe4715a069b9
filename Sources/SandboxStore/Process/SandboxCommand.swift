public import ServiceRuntime
import SystemCalls

/// The program `pullbox-sandbox`.
public enum SandboxCommand {
  public static let description = CommandDescription(
    "pullbox-sandbox",
    summary: "A payment store without payments, for development and tests",
    discussion: """
      Test accounts buy what the delivery server sells, for nothing. Transactions stay in a queue until the delivery \
      server finishes them; receipts are signed by certificates that are made at the first start, and judged by \
      POST /verifyReceipt.
      """,
    options: [
      .list(
        "listen", "ADDRESS", environment: "PULLBOX_SANDBOX_LISTEN", fallback: "127.0.0.1:8090",
        help: "Where to answer: 127.0.0.1:8090, [::1]:8090 or unix:PATH; port 0 takes a free one"),
      .value(
        "state", "DIR", environment: "PULLBOX_SANDBOX_STATE", fallback: "/var/lib/pullbox/sandbox",
        help: "Directory of the database, the certificates and their key; made when it is not there"),
      .value(
        "catalogue", "URL", environment: "PULLBOX_SERVER", fallback: "http://127.0.0.1:8080",
        help: "The delivery server, whose catalogue says what is for sale"),
      .value(
        "server-credential", "KEY", environment: "PULLBOX_STORE_CREDENTIAL",
        help: "What the delivery server shows to finish transactions; by default one in DIR/server-credential"
      ),
      .value(
        "bundle", "ID", environment: "PULLBOX_BUNDLE", fallback: "com.example.pullbox",
        help: "Bundle identifier of the application whose purchases are sold"),
      .configurationFile, .readyFile, .logLevel,
    ])

  /// Runs until a signal ends it. Says on standard error what it cannot work with.
  public static func run(_ arguments: ParsedArguments) async -> ExitCode {
    let log = Log()
    do {
      // Before any thread exists: each takes over which signals are blocked.
      let environment = try GroupEnvironment.process()
      let configuration = try ConfigurationLoader.load(SandboxConfiguration.self, arguments: arguments)
      log.level = try configuration.level()
      _ = try configuration.addresses()
      let readyFile = arguments.value("ready-file").map { ReadyFile(path: $0) }
      let service = SandboxService(configuration, readyFile: readyFile, log: log)
      return await ServiceGroup(
        [service], log: log, environment: environment, whenReady: { try await service.announce() }
      ).run()
    } catch let error as SystemError {
      log.error("cannot start", ["error": LogValue(error)])
      return .failed
    } catch {
      // Everything else up to here is about what the program was told.
      log.error("cannot start", ["error": LogValue(error)])
      return .usage
    }
  }
}
