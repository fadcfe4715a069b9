public import Commerce
import HTTPServer
public import ServiceRuntime

/// The configuration of a server; the keys of `--config` are the members' names. ``command`` has each option's name, default
/// and help, and the effect of a reload on it; this type says what the values are.
///
///     let arguments = ArgumentParser.parseOrExit(DeliveryConfiguration.command)
///     let configuration: DeliveryConfiguration = try ConfigurationLoader.load(arguments: arguments)
///     let server = try DeliveryServer(configuration, log: Log())
public struct DeliveryConfiguration: DaemonConfiguration {
  /// One payment store, by its own options: the sandbox store, whose purchases count.
  public struct Store: Decodable, Sendable {
    /// The name of the store in proofs.
    public var name: String
    /// Base URL of its interface.
    public var url: String
    /// The credential by which the store knows this server. Without it there are only the entries of
    /// ``DeliveryConfiguration/stores``.
    public var credential: Redacted<String>?
    /// Applications whose receipts count.
    public var bundles: [String]
    /// Devices of one customer that are granted something.
    public var deviceLimit: Int
  }

  /// TLS: where, and with which certificate.
  public struct TLS: Decodable, Hashable, Sendable {
    /// Addresses in the form of ``DeliveryConfiguration/listen``; none where sockets are handed over.
    public var listen: [String]?
    /// PEM files; read again at every SIGHUP.
    public var certificate: String
    /// The certificate's key, without a passphrase.
    public var key: String
    /// `max-age` of `Strict-Transport-Security`, which answers over TLS then have.
    public var strictTransport: ConfigurationDuration?
  }

  /// The address of the routes for operators and monitoring, where they have one of their own.
  public struct Management: Decodable, Hashable, Sendable {
    /// Addresses in the form of ``DeliveryConfiguration/listen``.
    public var listen: [String]
  }

  /// Where the console is.
  public enum ConsolePlace: String, ListedWords, Sendable {
    /// Nowhere.
    case off
    /// At the addresses of operators and monitoring alone; nowhere, where they have none of their own.
    case management
    /// At every address.
    case everywhere
  }

  /// The permissions of other sites' pages.
  public struct CORS: Decodable, Hashable, Sendable {
    /// Origins whose pages may call the public interface: `https://shop.example`, or `*` for all.
    public var origins: [String]
  }

  /// Addresses to listen on: `127.0.0.1:8080`, `unix:/run/pullbox/server.sock`.
  public var listen: [String]
  /// Without it the server speaks plain HTTP alone.
  public var tls: TLS?
  /// Without it the routes for operators and monitoring are on every address.
  public var management: Management?
  /// Where operators find the console: nowhere, at the addresses for operators, or at those of devices as well.
  public var console: ConsolePlace
  /// Without it no page of another site may call this server.
  public var cors: CORS?
  /// Without it the catalog for readers' applications is closed to all.
  public var catalogFeeds: ReaderCatalog?
  /// How prices are written where that is not by the likely language of their territory: `CHE=fr-CH`.
  public var priceLocales: [String]?
  /// Requests in progress at once, operators' and uploads aside; those beyond are answered 503.
  public var requestsInProgress: Int
  /// The memory that request bodies may take together.
  public var bodyMemory: ConfigurationSize
  /// Limits of classes of requests that differ from the defaults.
  public var admissionClasses: [AdmissionClassLimits]?
  /// The directory of everything that must survive.
  public var state: String
  /// A database on PostgreSQL in place of the file in the state directory: `postgresql://…`.
  public var database: Redacted<String>?
  /// Connections to PostgreSQL that write.
  public var databaseWriters: Int
  /// Connections to PostgreSQL that read.
  public var databaseReaders: Int
  /// An object store in place of the state directory: `s3://BUCKET/PREFIX`.
  public var packages: String?
  /// The store of ``packages``.
  public var s3: PackageStore?
  /// The part of the packages in an object store that this node keeps.
  public var cache: Cache
  /// Names this server in the database's leases; the host's name without it.
  public var node: String?
  /// A payment store whose receipts count.
  public var store: Store
  /// Others, or all.
  public var stores: [PaymentStore]?
  /// An operator key with every scope.
  public var operatorKey: Redacted<String>?
  /// Keys with names and scopes of their own.
  public var operatorKeys: [OperatorKey]?
  /// A file with more of them: one table a line, readable by its owner alone. Read again at SIGHUP.
  public var operatorKeyFile: String?
  /// Whether another operator key must approve a version or a product than the one that submitted it.
  public var requireSecondKey: Bool?
  /// Whether what cannot be taken back waits for another operator key's approval.
  public var secondOperator: Bool?
  /// No product is for sale that no review has cleared.
  public var requireProductReview: Bool?
  /// Put before addresses in answers; without it they are relative.
  public var publicURL: String?
  /// How long a ticket opens its content.
  public var ticketLifetime: ConfigurationDuration
  /// The days for which a license is good.
  public var licenseDays: Int
  /// How long a completion may wait for the store's answer before it is answered 202.
  public var storePatience: ConfigurationDuration
  /// How long a store's good verdict on a proof serves while the store is away; zero: not at all.
  public var storeGrace: ConfigurationDuration
  /// How often a store is asked again about purchases whose content is being sent.
  public var refundPoll: ConfigurationDuration
  /// Calls of the outbox to one store that may run at once.
  public var storeCalls: Int
  /// The refusal of that number parks a call until an operator asks for another try.
  public var storeRefusals: Int
  /// Connections beyond are answered 503.
  public var maximumConnections: Int
  /// Connections of an IPv4 address, or of the first 64 bits of an IPv6 one; 0 is no limit.
  public var maximumConnectionsPerAddress: Int
  /// Networks whose addresses may have as many connections as there are, such as those of proxies:
  /// `10.0.0.0/8`, `::1`. Loopback always may.
  public var unlimitedAddresses: [String]?
  /// Event loops; 0 is one per processor.
  public var loops: Int
  /// How long bodies may run on after SIGTERM.
  public var drainDeadline: ConfigurationDuration
  /// How long an upload is kept after the last request that added to it.
  public var uploadLifetime: ConfigurationDuration
  /// The bytes that packages and open uploads may take together; without it, as many as the disk holds.
  public var storageQuota: ConfigurationSize?
  /// From the end of one garbage collection to the start of the next; zero: only when an operator asks.
  public var gcInterval: ConfigurationDuration
  /// How long a package must have been unneeded before it is removed.
  public var gcGrace: ConfigurationDuration
  /// Over how long the devices of a release are spread, which are told of it by their feeds; zero tells all of them to fetch it at
  /// once. Without it, as long as ``releaseBandwidth`` takes.
  public var releaseWindow: ConfigurationDuration?
  /// Bytes a second that a release may take; no bound without it.
  public var releaseBandwidth: ConfigurationSize?
  /// Percent of a release's purchases: where devices of more could not verify it, of 50 at least, it pauses; with 100 none does.
  public var stopShare: Int
  /// From one reading of a stored package, to see whether it is whole, to the next; zero: only when an operator asks.
  public var scrubInterval: ConfigurationDuration
  /// Bytes a second that are read for that.
  public var scrubRate: ConfigurationSize
  /// Whether packages in an object store are read for that, and not their lengths compared alone.
  public var scrubReads: Bool?
  /// Whether packages of withdrawn versions are removed as well, once no grant is live.
  public var collectWithdrawn: Bool?
  /// How long the histories of finished grants are kept; zero: for ever.
  public var historyRetention: ConfigurationDuration
  /// How long calls are kept that a store has taken; zero: for ever.
  public var callRetention: ConfigurationDuration
  /// Whether clients may ask what arrives here and fetch computed bytes (`/v1/diagnostics`), as `pullbox doctor` does.
  public var diagnostics: Bool
  /// error, warning, info or debug.
  public var logLevel: String
  /// The limits of the downloads of one purchase and of one device.
  public var limits: Limits
  /// Addresses and blocks of addresses of the proxies whose word on the client counts, and `unix`.
  public var trustedProxies: [String]?
  /// nginx's internal location of the blobs' directory; without it every body is sent from here.
  public var accelRedirectPrefix: String?
  /// Bodies that are longer are sent from here all the same.
  public var accelRedirectLongest: ConfigurationSize?
  /// A file, or `-` for standard error; without it there is no access log.
  public var accessLog: String?
  /// Limits of their own for some products.
  public var rateClasses: [RateClass]?
  /// From a request's first byte to its complete head.
  public var headDeadline: ConfigurationDuration
  /// Between requests of a kept connection.
  public var idleDeadline: ConfigurationDuration
  /// Bytes a second of a request's body; a slower client is cut off.
  public var minimumReceiveRate: ConfigurationSize
  /// Bytes a second of a response; a slower client is cut off.
  public var minimumSendRate: ConfigurationSize
}
