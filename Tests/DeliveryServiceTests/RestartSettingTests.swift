import CoreTypes
import PullboxAPI
import ServiceAPI
import ServiceRuntime
import Testing

@testable import DeliveryService

@Suite("Settings that need a restart")
struct RestartSettingTests {
  struct Change: Sendable, CustomTestStringConvertible {
    let key: String
    let make: @Sendable (inout DeliveryConfiguration) -> Void
    var testDescription: String { key }

    init(_ key: String, _ make: @escaping @Sendable (inout DeliveryConfiguration) -> Void) {
      self.key = key
      self.make = make
    }
  }

  static let changes = [
    Change("listen") { $0.listen = ["127.0.0.1:9"] },
    Change("tls.listen") { $0.tls?.listen = ["127.0.0.1:9"] },
    Change("tls.certificate") { $0.tls?.certificate = "/another" },
    Change("tls.strictTransport") { $0.tls?.strictTransport = ConfigurationDuration("365d") },
    Change("tls.key") { $0.tls?.key = "/another" },
    Change("management.listen") { $0.management = .init(listen: ["127.0.0.1:9"]) },
    Change("catalogFeeds.public") { $0.catalogFeeds = .init(public: true) },
    Change("catalogFeeds.title") { $0.catalogFeeds = .init(title: "Comics") },
    Change("catalogFeeds.territory") { $0.catalogFeeds = .init(territory: "FRA") },
    Change("catalogFeeds.shopURL") { $0.catalogFeeds = .init(shopURL: "https://shop.example/{product}") },
    Change("console") { $0.console = .everywhere },
    Change("state") { $0.state = "/elsewhere" },
    Change("node") { $0.node = "another" },
    Change("database") { $0.database = Redacted("postgresql://another/pullbox") },
    Change("databaseWriters") { $0.databaseWriters = 7 },
    Change("databaseReaders") { $0.databaseReaders = 7 },
    Change("store.name") { $0.store.name = "another" },
    Change("store.url") { $0.store.url = "http://127.0.0.1:9" },
    Change("store.credential") { $0.store.credential = Redacted("another-key-of-the-operator") },
    Change("store.bundles") { $0.store.bundles = ["com.example.another"] },
    Change("store.deviceLimit") { $0.store.deviceLimit = 77 },
    Change("stores") { $0.stores = [.init(name: "apple", kind: .apple, bundles: ["com.example.another"])] },
    Change("publicURL") { $0.publicURL = "https://content.example.com" },
    Change("storeCalls") { $0.storeCalls = 77 },
    Change("storeRefusals") { $0.storeRefusals = 77 },
    Change("storePatience") { $0.storePatience = ConfigurationDuration(.seconds(77)) },
    Change("maximumConnections") { $0.maximumConnections = 77 },
    Change("maximumConnectionsPerAddress") { $0.maximumConnectionsPerAddress = 77 },
    Change("unlimitedAddresses") { $0.unlimitedAddresses = ["10.0.0.0/8"] },
    Change("loops") { $0.loops = 77 },
    Change("headDeadline") { $0.headDeadline = ConfigurationDuration(.seconds(77)) },
    Change("idleDeadline") { $0.idleDeadline = ConfigurationDuration(.seconds(77)) },
    Change("minimumReceiveRate") { $0.minimumReceiveRate = ConfigurationSize(.kibibytes(77)) },
    Change("minimumSendRate") { $0.minimumSendRate = ConfigurationSize(.kibibytes(77)) },
    Change("drainDeadline") { $0.drainDeadline = ConfigurationDuration(.seconds(77)) },
    Change("uploadLifetime") { $0.uploadLifetime = ConfigurationDuration(.seconds(77)) },
    Change("storageQuota") { $0.storageQuota = ConfigurationSize(.gibibytes(77)) },
    Change("gcInterval") { $0.gcInterval = ConfigurationDuration(.seconds(77)) },
    Change("scrubInterval") { $0.scrubInterval = ConfigurationDuration(.seconds(77)) },
    Change("packages") { $0.packages = "s3://another" },
    Change("s3.endpoint") { $0.s3?.endpoint = "https://another.example" },
    Change("s3.region") { $0.s3?.region = "another" },
    Change("s3.accessKeyFile") { $0.s3?.accessKeyFile = "/another" },
    Change("s3.pathStyle") { $0.s3?.pathStyle = true },
    Change("s3.authority") { $0.s3?.authority = "/another" },
    Change("cache.directory") { $0.cache.directory = "/elsewhere" },
    Change("cache.size") { $0.cache.size = ConfigurationSize(.gibibytes(77)) },
    Change("scrubReads") { $0.scrubReads = true },
    Change("scrubRate") { $0.scrubRate = ConfigurationSize(.mebibytes(77)) },
    Change("gcGrace") { $0.gcGrace = ConfigurationDuration(.seconds(77)) },
    Change("collectWithdrawn") { $0.collectWithdrawn = true },
    Change("historyRetention") { $0.historyRetention = ConfigurationDuration(.seconds(77)) },
    Change("storeGrace") { $0.storeGrace = ConfigurationDuration(.seconds(77)) },
    Change("refundPoll") { $0.refundPoll = ConfigurationDuration(.seconds(77)) },
    Change("releaseBandwidth") { $0.releaseBandwidth = ConfigurationSize(.mebibytes(77)) },
    Change("stopShare") { $0.stopShare = 77 },
    Change("releaseWindow") { $0.releaseWindow = ConfigurationDuration(.seconds(77)) },
    Change("callRetention") { $0.callRetention = ConfigurationDuration(.seconds(77)) },
    Change("diagnostics") { $0.diagnostics.toggle() },
    Change("accessLog") { $0.accessLog = "/var/log/another" },
  ]

  private func configuration() throws -> DeliveryConfiguration {
    let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
    guard
      case .run(let parsed) = try parser.parse([
        "--store-credential", "secret", "--tls-certificate", "/c", "--tls-key", "/k", "--s3-endpoint",
        "https://store.example",
      ])
    else {
      throw UsageError("the arguments ask for help")
    }
    return try ConfigurationLoader.load(DeliveryConfiguration.self, arguments: parsed)
  }

  private func restarts(of new: DeliveryConfiguration, since old: DeliveryConfiguration) -> [String] {
    new.keysThatNeedRestart(since: old, options: DeliveryConfiguration.command.options)
  }

  @Test("each is told by its key when it has changed, and no other is", arguments: changes)
  func change(_ change: Change) throws {
    let old = try configuration()
    var new = old
    change.make(&new)
    #expect(restarts(of: new, since: old) == [change.key])
    #expect(restarts(of: new, since: new) == [])
  }

  @Test("TLS where there was none is told, and so is its end")
  func wholeTable() throws {
    let new = try configuration()
    var old = new
    old.tls = nil
    #expect(restarts(of: new, since: old) == ["tls.certificate", "tls.key"])
    #expect(restarts(of: old, since: new) == ["tls.certificate", "tls.key"])
  }

  @Test("there is no setting that a reload neither applies nor tells to need a restart")
  func completeness() throws {
    let keys = DeliveryConfiguration.command.options.filter { $0.reload == .needsRestart }.compactMap(\.key)
    #expect(Set(keys) == Set(Self.changes.map(\.key)))
  }

  @Test("what a reload applies is not told")
  func applied() throws {
    let old = try configuration()
    var new = old
    new.operatorKey = Redacted("another-key-of-the-operator")
    new.operatorKeys = [.init(name: "ada", key: Redacted("a-key-of-the-operator-ada"), scopes: [.read])]
    new.operatorKeyFile = "/etc/pullbox/operators"
    new.requireSecondKey = true
    new.requireProductReview = true
    new.secondOperator = true
    new.ticketLifetime = ConfigurationDuration(.seconds(77))
    new.logLevel = "debug"
    new.limits.bodiesPerGrant = 7
    new.trustedProxies = ["10.0.0.0/8"]
    new.accelRedirectPrefix = "/blobs/"
    #expect(restarts(of: new, since: old) == [])
  }
}
