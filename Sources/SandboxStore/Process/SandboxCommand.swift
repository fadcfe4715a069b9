import HTTPServer
public import ServiceRuntime

/// The program `pullbox-sandbox`.
public enum SandboxCommand {
  /// The options, in the order of the help.
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
        "state", "DIR", environment: "PULLBOX_SANDBOX_STATE", fallback: "/var/lib/pullbox-sandbox",
        help: "Directory of the database, the certificates and their key; made when it is not there"),
      .value(
        "catalog", "URL", environment: "PULLBOX_SANDBOX_CATALOG", fallback: "http://127.0.0.1:8080",
        aliases: [.init("catalogue", environment: "PULLBOX_SANDBOX_CATALOGUE")],
        help: "The delivery server, whose catalog says what is for sale"),
      .value(
        "server-credential", "KEY", environment: "PULLBOX_STORE_CREDENTIAL",
        help:
          "Credential by which the delivery server finishes transactions; by default one in DIR/server-credential"
      ).secret(),
      .value(
        "control-key", "KEY", environment: "PULLBOX_SANDBOX_CONTROL_KEY",
        help: "Key that requests under /sandbox/v1 need in the field Control-Key; by default they need none"
      ).secret(),
      .value(
        "shared-secret", "SECRET", environment: "PULLBOX_SANDBOX_SHARED_SECRET",
        help: "The password that /verifyReceipt asks for; by default it asks for none"
      ).secret(),
      .value(
        "environment", "NAME", environment: "PULLBOX_SANDBOX_ENVIRONMENT", fallback: "sandbox",
        help: "Environment that receipts and transactions name: sandbox or production"),
      .value(
        "bundle", "ID", environment: "PULLBOX_BUNDLE", fallback: "com.example.pullbox",
        help: "Bundle identifier of the application whose purchases are sold"),
      .value(
        "app-apple-id", "N", environment: "PULLBOX_SANDBOX_APP_APPLE_ID", key: "appAppleID",
        help: "The application's number in signed data, which a production store must have"
      ).example("1234567890"),
      .value(
        "api-issuer", "UUID", environment: "PULLBOX_SANDBOX_API_ISSUER",
        fallback: "6f1d1c8e-7a0b-4c53-9d55-0f4f3f3a2b10", key: "apiIssuer",
        help:
          "Issuer of the tokens for /inApps, which are signed with the key in DIR/AuthKey_KEYID.p8, made at the first start"
      ),
      .value(
        "notification-url", "URL", environment: "PULLBOX_SANDBOX_NOTIFICATION_URL", key: "notificationURL",
        help: "Where notifications are posted; by default they are kept for the history alone"
      ).example("https://comics.example/v1/notifications/apple"),
      .value(
        "ocsp-url", "URL", environment: "PULLBOX_SANDBOX_OCSP_URL", key: "ocspURL",
        help:
          "OCSP address that the certificates of signed data name; by default /ocsp at the first address of --listen"
      ).example("http://store.example:8090/ocsp"),
      .value(
        "google-notification-url", "URL", environment: "PULLBOX_SANDBOX_GOOGLE_NOTIFICATION_URL",
        key: "googleNotificationURL",
        help: "Where notifications are posted as Google Play's are; by default they are not"
      ).example("https://comics.example/v1/notifications/google"),
      .value(
        "google-token-url", "URL", environment: "PULLBOX_SANDBOX_GOOGLE_TOKEN_URL", key: "googleTokenURL",
        help:
          "Address for access tokens that DIR/google-service-account.json names; by default /token at the first address of --listen"
      ).example("https://store.example/token"),
      .configurationFile, .checkConfiguration, .printConfiguration, .printSample, .readyFile,
      .logLevel.appliedAtReload(),
    ]
  ).adding(paragraph: StoreControl.paragraph)

  /// Runs the store until a signal ends it, and exits with the code of `ExitCode`. To be called from a
  /// synchronous `main`.
  public static func main() -> Never {
    Daemon.main(description, configuration: SandboxConfiguration.self) { configuration, log, _ in
      _ = try configuration.addresses()
      let service = SandboxService(configuration, log: log)
      return Daemon.Parts(services: [service], addresses: { service.addresses.map(\.description) })
    }
  }
}
