import HTTPServer
public import PullboxAPI
public import ServiceRuntime

/// What an operator configures; the keys of `--config` are the members' names.
public struct DeliveryConfiguration: Decodable, Sendable {
  /// A key and what it may do.
  public struct OperatorKey: Decodable, Sendable {
    public var name: String
    public var key: Redacted<String>
    public var scopes: [OperatorScope]
  }

  /// The payment store whose receipts count.
  public struct Store: Decodable, Sendable {
    /// What proofs call it.
    public var name: String
    public var url: String
    /// What the store knows this server by.
    public var credential: Redacted<String>
    /// Applications whose receipts count.
    public var bundles: [String]
  }

  /// TLS: where, and with which certificate.
  public struct TLS: Decodable, Hashable, Sendable {
    /// As ``DeliveryConfiguration/listen``; none where sockets are handed over.
    public var listen: [String]?
    /// PEM files; read again at every SIGHUP.
    public var certificate: String
    public var key: String
  }

  /// Addresses to listen on: `127.0.0.1:8080`, `unix:/run/pullbox/server.sock`.
  public var listen: [String]
  public var tls: TLS?
  /// The directory of everything that must survive.
  public var state: String
  public var store: Store
  /// An operator key with every scope.
  public var operatorKey: Redacted<String>?
  public var operatorKeys: [OperatorKey]?
  /// A version is approved with another operator key than it was submitted with.
  public var requireSecondKey: Bool?
  /// Put before addresses in answers; without it they are relative.
  public var publicURL: String?
  public var ticketLifetime: ConfigurationDuration
  /// How long a completion may wait for the store's answer before it is answered 202.
  public var storePatience: ConfigurationDuration
  public var maximumConnections: Int
  /// Of an IPv4 address, or of the first 64 bits of an IPv6 one; 0 is no limit.
  public var maximumConnectionsPerAddress: Int
  /// Networks whose addresses may have as many connections as there are, such as those of proxies: `10.0.0.0/8`, `::1`.
  /// Loopback always may.
  public var unlimitedAddresses: [String]?
  public var loops: Int
  public var drainDeadline: ConfigurationDuration
  /// How long an upload is kept after the last request that added to it.
  public var uploadLifetime: ConfigurationDuration
  /// What packages and open uploads may hold together; as much as the disk has without it.
  public var storageQuota: ConfigurationSize?
  /// From one collection of what nobody needs to the next; zero: only when an operator asks.
  public var collectionInterval: ConfigurationDuration
  /// How long a package must have been unneeded before it is removed.
  public var collectionGrace: ConfigurationDuration
  /// Whether packages of withdrawn versions are removed as well, once no grant is live.
  public var collectWithdrawn: Bool?
  public var logLevel: String
  public var limits: Limits
  /// Addresses and blocks of addresses of the proxies whose word on the client counts, and `unix`.
  public var trustedProxies: [String]?
  /// nginx's internal location of the blobs' directory; without it every body is sent from here.
  public var accelRedirectPrefix: String?
  /// Bodies that are longer are sent from here all the same.
  public var accelRedirectLongest: ConfigurationSize?
  /// A file, or `-` for standard error; without it there is no access log.
  public var accessLog: String?
  public var rateClasses: [RateClass]?

  /// The command line of `pullbox-server`.
  public static let command = CommandDescription(
    "pullbox-server",
    summary: "Delivers content packages to devices whose purchase the payment store confirms",
    discussion: """
      Listens for devices, apps and operators. Everything it keeps lies in the state directory: the database, the \
      packages, the ticket keys. SIGTERM finishes what is being sent and ends it.
      """,
    options: [
      .configurationFile, .readyFile, .logLevel,
      .list(
        "listen", "ADDRESS", fallback: "127.0.0.1:8080",
        help: "HOST:PORT or unix:PATH; port 0 takes a free one; may be repeated"),
      .list(
        "tls-listen", "ADDRESS", key: "tls.listen", help: "As --listen, for TLS 1.2 and 1.3; may be repeated"),
      .value(
        "tls-certificate", "FILE", key: "tls.certificate",
        help: "PEM: the certificate and its chain; read again at SIGHUP"),
      .value("tls-key", "FILE", key: "tls.key", help: "PEM: the certificate's key, without a passphrase"),
      .value("state", "DIR", fallback: "/var/lib/pullbox-server", help: "Directory of all that must survive"),
      .value(
        "public-url", "URL", key: "publicURL",
        help: "What clients put before addresses; relative addresses without it"),
      .value("operator-key", "KEY", help: "An operator key with every scope; its name is operator"),
      .flag(
        "require-second-key",
        help: "A version is approved with another operator key than it was submitted with"),
      .value(
        "store-name", "NAME", fallback: "sandbox", key: "store.name", help: "What receipts call the store"),
      .value(
        "store-url", "URL", environment: "PULLBOX_STORE", fallback: "http://127.0.0.1:8090", key: "store.url",
        help: "The payment store"),
      .value(
        "store-credential", "SECRET", key: "store.credential",
        help: "What the store knows this server by; needed to finish transactions"),
      .list(
        "bundle", "ID", environment: "PULLBOX_BUNDLES", fallback: "com.example.pullbox", key: "store.bundles",
        help: "Application whose receipts count; may be repeated"),
      .value("ticket-lifetime", "DURATION", fallback: "15m", help: "How long a ticket opens its content"),
      .value(
        "store-patience", "DURATION", fallback: "2s",
        help: "How long a completion waits for the store before it is answered 202"),
      .value("maximum-connections", "N", fallback: "4096", help: "Connections beyond are answered 503"),
      .value(
        "maximum-connections-per-address", "N", fallback: "256",
        help: "The same for one address; 0 is no limit"),
      .list(
        "unlimited-address", "NETWORK", key: "unlimitedAddresses",
        help: "Network whose addresses have no limit of their own, such as a proxy's; may be repeated"),
      .value("loops", "N", fallback: "0", help: "Event loops; 0 is one per processor"),
      .value(
        "upload-lifetime", "DURATION", fallback: "24h", help: "How long an upload waits for its next bytes"),
      .value(
        "storage-quota", "SIZE",
        help:
          "What packages and open uploads may hold together, such as 500GiB; no bound but the disk without it"
      ),
      .value(
        "collection-interval", "DURATION", fallback: "1h",
        help: "How often what nobody needs is removed; 0 is never by itself"),
      .value(
        "collection-grace", "DURATION", fallback: "24h",
        help: "How long a package must have been unneeded before it is removed"),
      .flag("collect-withdrawn", help: "Also remove packages of withdrawn versions once no grant is live"),
      .value("drain-deadline", "DURATION", fallback: "20s", help: "How long bodies may run on after SIGTERM"),
      .list(
        "trusted-proxy", "ADDRESS", environment: "PULLBOX_TRUSTED_PROXIES", key: "trustedProxies",
        help:
          "Proxy whose Forwarded and X-Forwarded fields count: an address, a block such as 10.0.0.0/8, or unix"
      ),
      .value(
        "accel-redirect-prefix", "PATH",
        help: "Let a trusted nginx send the bodies, from this internal location (X-Accel-Redirect)"),
      .value(
        "accel-redirect-longest", "SIZE",
        help: "Send longer bodies from here all the same, so that a revocation ends them; no bound without it"
      ),
      .value(
        "access-log", "PATH", help: "A line of JSON for each request goes there; - is standard error"),
      TicketKeyRotation.option,
    ] + limitOptions)
}
