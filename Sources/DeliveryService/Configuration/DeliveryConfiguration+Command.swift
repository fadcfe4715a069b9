import ContentDelivery
import ContentGrants
import PostgreSQLEngine
public import ServiceRuntime

extension DeliveryConfiguration {
  /// The command line of `pullbox-server`: every key of the file has its option.
  public static let command = CommandDescription(
    "pullbox-server",
    summary: "Delivers content packages to devices whose purchase the payment store confirms",
    discussion: """
      Listens for devices, apps and operators. Everything it keeps lies in the state directory unless told otherwise: the \
      database, the packages, the ticket keys. SIGTERM finishes what is being sent and ends it; SIGHUP reads configuration, keys and \
      certificate again. An option goes before its variable, and that before the file of --config.
      """,
    options: [
      .configurationFile, .checkConfiguration, .printConfiguration, .printSample, .readyFile,
      .logLevel.appliedAtReload(),
      .value("state", "DIR", fallback: "/var/lib/pullbox-server", help: "Directory of all that must survive"),
      .value(
        "node", "NAME",
        help:
          "Names this server in the database's leases; the host's name without it. It stays the same over restarts"
      ).example("shelf-1"),
      .value(
        "access-log", "PATH", help: "A line of JSON for each request goes there; - is standard error"
      ).example("/var/log/pullbox/access.log"),
      TicketKeyRotation.option, TicketKeyRotation.delayOption, LicenseKeys.rotationOption,
    ] + CommandOption.section("Addresses", addressOptions)
      + CommandOption.section("Catalog for readers' applications", catalogFeedOptions)
      + CommandOption.section("Database", databaseOptions)
      + CommandOption.section("Operators", operatorOptions.map { $0.appliedAtReload() })
      + CommandOption.section("Payment store", storeOptions)
      + CommandOption.section("Connections", connectionOptions)
      + CommandOption.section("Requests", admissionOptions.map { $0.appliedAtReload() })
      + CommandOption.section(
        "Limits of a purchase and a device", limitOptions.map { $0.appliedAtReload() })
      + CommandOption.section("Uploads and packages", packageOptions)
      + CommandOption.section("Packages in an object store", packageStoreOptions)
      + CommandOption.section("Retention", retentionOptions)
      + CommandOption.section("Behind a proxy", proxyOptions.map { $0.appliedAtReload() }))

  /// The options of addresses and TLS. Those of other sites and of prices alone are applied at a reload; a
  /// certificate is read again at one, from the same path.
  private static let addressOptions: [CommandOption] = [
    .list(
      "listen", "ADDRESS", fallback: "127.0.0.1:8080",
      help: "HOST:PORT or unix:PATH; port 0 takes a free one; may be repeated"),
    .list(
      "tls-listen", "ADDRESS", key: "tls.listen",
      help: "HOST:PORT or unix:PATH for TLS 1.2 and 1.3; may be repeated"
    ).example("0.0.0.0:443"),
    .value(
      "tls-certificate", "FILE", key: "tls.certificate",
      help: "PEM: the certificate and its chain; read again at SIGHUP"
    ).example("/etc/pullbox/tls/chain.pem"),
    .value(
      "tls-strict-transport", "DURATION", key: "tls.strictTransport",
      help:
        "Tell clients to reach this host by TLS alone for so long (Strict-Transport-Security), such as 365d"
    ).example("365d"),
    .value(
      "tls-key", "FILE", key: "tls.key",
      help: "PEM: the certificate's key, without a passphrase; not readable by everyone"
    ).example("/etc/pullbox/tls/key.pem"),
    .value(
      "public-url", "URL", key: "publicURL",
      help: "Address of this server, put before addresses in answers; without it they are relative"
    ).example("https://comics.example"),
    .list(
      "management-listen", "ADDRESS", key: "management.listen",
      help:
        "HOST:PORT or unix:PATH for /metrics and /v1/operator, which the other addresses then do not have; may be repeated"
    ).example("127.0.0.1:8081"),
    .value(
      "console", "WHERE", fallback: "management",
      help:
        "Pages for operators at /console/: off, management (at the addresses of --management-listen alone), or everywhere"
    ),
    .value(
      "diagnostics", "BOOLEAN", fallback: "true",
      help: "Let clients ask what arrives here and fetch computed bytes, without a purchase: pullbox doctor"),
    CommandOption.list(
      "cors-origin", "ORIGIN", environment: "PULLBOX_CORS_ORIGINS", key: "cors.origins",
      help:
        "Site whose pages may call the public interface, such as https://shop.example, or *; may be repeated"
    ).appliedAtReload().example("https://shop.example"),
    CommandOption.list(
      "price-locale", "TERRITORY=LOCALE", environment: "PULLBOX_PRICE_LOCALES", key: "priceLocales",
      help:
        "Write prices of a territory by other rules than its likely language's, such as CHE=fr-CH; may be repeated"
    ).appliedAtReload().example("CHE=fr-CH"),
  ]

  /// The options of a database that several servers share, which need a restart.
  private static let databaseOptions: [CommandOption] = [
    .value(
      "database", "URL",
      help:
        "Keep the records in PostgreSQL 15 or later instead of the state directory: postgresql://USER@HOST,HOST/NAME?passfile=FILE"
    ).secret(),
    .value(
      "database-writers", "N", fallback: "\(PostgreSQLOptions().writers)",
      help: "Connections to PostgreSQL that write: 1 to 64"),
    .value(
      "database-readers", "N", fallback: "\(PostgreSQLOptions().readers)",
      help: "Connections to PostgreSQL that read: 1 to 64"),
  ]

  /// The options of operator keys, all applied at a reload. The keys themselves are shown nowhere.
  private static let operatorOptions: [CommandOption] = [
    .value(
      "operator-key", "KEY", environment: "PULLBOX_SERVER_OPERATOR_KEY",
      help: "An operator key with every scope; its name is operator"
    ).secret(),
    .list(
      "named-operator-key", "JSON5", environment: "PULLBOX_OPERATOR_KEYS", key: "operatorKeys",
      help:
        "A key with scopes of its own, as in the file: {name: 'ada', hash: 'sha256:…', scopes: ['read', 'publish']}; may be repeated"
    ).secret(),
    .value(
      "operator-key-file", "FILE",
      help: "More such keys, one table on each line; only its owner may read it; read again at SIGHUP"
    ).example("/etc/pullbox/operators"),
    .flag(
      "require-second-key",
      help:
        "A version or a product has to be approved with another operator key than the one that submitted it"),
    .flag(
      "second-operator",
      help:
        "What cannot be taken back waits until another operator key approves it; implies requireSecondKey"),
    .flag(
      "require-product-review",
      help: "No product is for sale before it was submitted with a screenshot, and approved"),
  ]

  /// The options of payment stores and of the calls to them, which need a restart. `store-name`, `store-url`,
  /// `store-credential`, `bundle` and `store-device-limit` describe one store; `payment-store` adds others.
  private static let storeOptions: [CommandOption] = [
    .value(
      "store-name", "NAME", fallback: "sandbox", key: "store.name", help: "Name of the store in proofs"),
    .value(
      "store-url", "URL", environment: "PULLBOX_STORE", fallback: "http://127.0.0.1:8090", key: "store.url",
      help: "The payment store"),
    .value(
      "store-credential", "SECRET", key: "store.credential",
      help: "Credential by which the store knows this server; needed unless there are stores"
    ).secret(),
    .list(
      "bundle", "ID", environment: "PULLBOX_BUNDLES", fallback: "com.example.pullbox", key: "store.bundles",
      help: "Application whose receipts count; may be repeated"),
    .value(
      "store-device-limit", "N", fallback: "10", key: "store.deviceLimit",
      help: "Devices of one customer that are granted something; one that is silent for 90 days makes room"),
    .list(
      "payment-store", "JSON5", environment: "PULLBOX_STORES", key: "stores",
      help:
        "A store with addresses of its own, as in the file: {name: 'apple', kind: 'apple', sharedSecretFile: '/etc/pullbox/apple', bundles: ['com.example.comics']}; may be repeated"
    ).secret(),
    .value(
      "store-patience", "DURATION", fallback: "2s",
      help: "How long a completion waits for the store before it is answered 202"),
    .value(
      "store-grace", "DURATION", fallback: "72h",
      help:
        "How long a proof that a store confirmed serves its device while the store is away; 0: not at all"),
    .value(
      "refund-poll", "DURATION", fallback: "5m",
      help:
        "How often a store is asked again about purchases whose content is being sent, 1s to 1h; a refund that it does not report ends the transfers by then"
    ),
    .value(
      "store-calls", "N", fallback: "8",
      help: "Calls that end transactions at the store and may run at once"),
    .value(
      "store-refusals", "N", fallback: "20",
      help: "A call that the store refused so often waits for an operator: pullbox outbox"),
  ]

  /// The options of the HTTP server's connections and their deadlines, which need a restart.
  private static let connectionOptions: [CommandOption] = [
    .value("loops", "N", fallback: "0", help: "Event loops; 0 is one per processor"),
    .value("maximum-connections", "N", fallback: "4096", help: "Connections beyond are answered 503"),
    .value(
      "maximum-connections-per-address", "N", fallback: "256",
      help: "The same for one address; 0 is no limit"),
    .list(
      "unlimited-address", "NETWORK", key: "unlimitedAddresses",
      help: "Network whose addresses have no limit of their own, such as a proxy's; may be repeated"
    ).example("10.0.0.0/8"),
    .value(
      "head-deadline", "DURATION", fallback: "15s",
      help: "From a request's first byte to its complete head, and for a TLS handshake"),
    .value("idle-deadline", "DURATION", fallback: "60s", help: "Between requests of a kept connection"),
    .value(
      "minimum-receive-rate", "BYTES", fallback: "256",
      help: "Bytes a second of a request's body, over 30 s; a slower client is cut off"),
    .value(
      "minimum-send-rate", "BYTES", fallback: "1024",
      help: "Bytes a second of a response, over 60 s; a slower client is cut off"),
    .value("drain-deadline", "DURATION", fallback: "20s", help: "How long bodies may run on after SIGTERM"),
  ]

  /// The options of uploads, garbage collection, releases and scrubbing, which need a restart.
  private static let packageOptions: [CommandOption] = [
    .value(
      "upload-lifetime", "DURATION", fallback: "24h", help: "How long an upload waits for its next bytes"),
    .value(
      "storage-quota", "SIZE",
      help:
        "Bytes that packages and open uploads may take together, such as 500GiB; without it, only the disk limits them"
    ).example("500GiB"),
    .value(
      "gc-interval", "DURATION", fallback: "1h", aliases: ["collection-interval"],
      help: "Time between two garbage collections; with 0 only an operator starts one"),
    .value(
      "gc-grace", "DURATION", fallback: "24h", aliases: ["collection-grace"],
      help: "How long a package must have been unneeded before garbage collection removes it"),
    .value(
      "release-window", "DURATION",
      help:
        "Time over which the devices of a release are spread, each in a slot that its feed tells; with 0 all fetch it at once; without it, the time that --release-bandwidth needs"
    ).example("2h"),
    .value(
      "release-bandwidth", "SIZE",
      help:
        "Bytes a second that a release may take: its devices are spread over the time that all devices with a feed would need together, a day at most"
    ).example("100MiB"),
    .value(
      "stop-share", "PERCENT", fallback: "2",
      help:
        "Pause a release once its content could not be verified for more than this percentage of purchases, of 50 at least; with 100 none is paused"
    ),
    .value(
      "scrub-interval", "DURATION", fallback: "30d",
      help:
        "Read every stored package again after so long, to see whether it is whole; with 0 only when asked"),
    .value("scrub-rate", "SIZE", fallback: "16MiB", help: "Bytes a second that are read for that"),
    .flag("collect-withdrawn", help: "Also remove packages of withdrawn versions once no grant is live"),
  ]

  /// The options of ``Retention/Rules``, which need a restart. 0 keeps for ever.
  private static let retentionOptions: [CommandOption] = [
    .value(
      "history-retention", "DURATION", fallback: "400d",
      help: "How long the histories of finished grants, and the records of runs, are kept; 0 for ever"),
    .value(
      "call-retention", "DURATION", fallback: "90d",
      help: "How long calls are kept that a payment store has taken; 0 for ever"),
  ]

  /// The options for servers behind a proxy, all applied at a reload. See docs/delivery.md
  /// ("X-Accel-Redirect").
  private static let proxyOptions: [CommandOption] = [
    .list(
      "trusted-proxy", "ADDRESS", environment: "PULLBOX_TRUSTED_PROXIES", key: "trustedProxies",
      help:
        "Proxy whose Forwarded and X-Forwarded fields count: an address, a block such as 10.0.0.0/8, or unix"
    ).example("127.0.0.1"),
    .value(
      "accel-redirect-prefix", "PATH",
      help: "Let a trusted nginx send the bodies, from this internal location (X-Accel-Redirect)"
    ).example("/blobs/"),
    .value(
      "accel-redirect-longest", "SIZE",
      help: "Send longer bodies from here all the same, so that a revocation ends them; no bound without it"
    ).example("64MiB"),
  ]
}
