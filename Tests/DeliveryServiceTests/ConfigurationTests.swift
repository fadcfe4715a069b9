import Database
import Files
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryService

@Suite("The server's configuration")
struct ConfigurationTests {
  private func load(
    _ arguments: [String], environment: [String: String] = [:]
  ) throws -> DeliveryConfiguration {
    let parser = ArgumentParser(DeliveryConfiguration.command, environment: environment)
    guard case .run(let parsed) = try parser.parse(["--store-credential", "s"] + arguments) else {
      throw UsageError("help")
    }
    return try ConfigurationLoader.load(DeliveryConfiguration.self, arguments: parsed)
  }

  @Test("every key of the file has an option and a variable")
  func everyKey() throws {
    let keys = Set(DeliveryConfiguration.command.options.compactMap(\.key))
    let configuration = try load([])
    for name in Mirror(reflecting: configuration).children.compactMap(\.label) {
      #expect(keys.contains { $0 == name || $0.hasPrefix(name + ".") }, "\(name)")
    }
    for option in DeliveryConfiguration.command.options where option.key != nil {
      #expect(option.environment?.hasPrefix("PULLBOX_") == true, "\(option.name)")
    }
  }

  @Test("a node is called what the host is, or as it is told to be")
  func node() throws {
    #expect(try load([]).nodeName() == FileSystem.hostName())
    #expect(try load(["--node", "shelf-1"]).outboxOptions().node == "shelf-1")
    for name in ["a b", "a\n", "ä", String(repeating: "n", count: 256)] {
      let configuration = try load(["--node", name])
      #expect(
        try #require(throws: ConfigurationError.self) { try configuration.nodeName() }.subject == "node")
    }
  }

  @Test("a database that does not answer is named with its setting, and may answer the same server later")
  func absentDatabase() async throws {
    let directory = try TemporaryDirectory()
    let configuration = try load(["--database", "postgresql:///records?host=\(directory.path("socket"))"])
    let error = try #require(throws: ConfigurationError.self) {
      _ = try configuration.openDatabase(Database.Options(), claim: configuration.claimOfDatabase())
    }
    #expect(error.subject == "database")
    #expect(error.mayPass)
  }

  @Test("the settings of garbage collection have their earlier names too")
  func earlierNames() throws {
    for configuration in [
      try load(["--gc-grace", "7s", "--gc-interval", "8s"]),
      try load(["--collection-grace", "7s", "--collection-interval", "8s"]),
      try load(
        [], environment: ["PULLBOX_COLLECTION_GRACE": "7s", "PULLBOX_COLLECTION_INTERVAL": "8s"]),
      try load([], environment: ["PULLBOX_GC_GRACE": "7s", "PULLBOX_GC_INTERVAL": "8s"]),
    ] {
      #expect(configuration.gcGrace.duration == .seconds(7))
      #expect(configuration.gcInterval.duration == .seconds(8))
    }
    let aliases = DeliveryConfiguration.command.options.flatMap(\.aliases)
    #expect(aliases.compactMap(\.key).sorted() == ["collectionGrace", "collectionInterval"])
  }

  @Test("of a scope that there is not the scopes are told that there are, and nothing of the key")
  func unknownScope() throws {
    let key = "{name: 'ada', key: 'secret-of-the-operator-ada', scopes: ['secret']}"
    let error = try #require(throws: ConfigurationError.self) { try load(["--named-operator-key", key]) }
    #expect(error.message == "one of the scopes is expected here: read, publish, review, admin")
    #expect(error.subject == "operatorKeys.0.scopes.0")
    #expect(!error.description.contains("secret"))
  }

  @Test("operator keys and rate classes can be given as options and as variables")
  func tables() throws {
    let key = "{name: 'ada', key: 'secret-of-the-operator-ada', scopes: ['read', 'publish']}"
    let rates = "{number: 1, products: ['com.example.free.*'], limits: {ratePerGrant: '2MiB'}}"
    for configuration in [
      try load(["--named-operator-key", key, "--rate-class", rates]),
      try load([], environment: ["PULLBOX_OPERATOR_KEYS": key, "PULLBOX_RATE_CLASSES": rates]),
    ] {
      #expect(configuration.operatorKeys?.map(\.name) == ["ada"])
      #expect(configuration.operatorKeys?.first?.scopes == [.read, .publish])
      #expect(configuration.rateClasses?.first?.limits.ratePerGrant == .bytes(2 << 20))
    }
  }
}
