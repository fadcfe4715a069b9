import ContentDelivery
import CoreTypes
import Crypto
import Files
import HTTPClient
import ObjectStore
import PackageStorage
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import ContentPublishing
@testable import DeliveryService

/// A delivery server whose packages lie in the object store that the environment names.
@Suite(
  "Delivery from an object store", .enabled(if: StoreUnderTest.present != nil), .timeLimit(.minutes(5)))
struct StoreDeliveryTests {
  private static let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 29 >> 3) }
  private let bytes = Self.bytes
  private let tested: StoreUnderTest
  private let client: HTTPClient
  private let store: ObjectStore
  private let limit = Duration.seconds(60)

  init() throws {
    tested = try #require(StoreUnderTest.present).fresh()
    client = try HTTPClient()
    store = try ObjectStore(
      address: ObjectStoreAddress(
        location: tested.location, endpoint: tested.endpoint, region: tested.region),
      credentials: ObjectStoreCredentials(file: tested.keyFile), client: client)
  }

  private var options: [String] {
    [
      "--packages", tested.location, "--s3-endpoint", tested.endpoint, "--s3-access-key-file", tested.keyFile,
    ] + (tested.region.map { ["--s3-region", $0] } ?? [])
  }

  /// Runs `body` with a server, and removes afterwards what is in the store.
  private func withServer(
    in directory: TemporaryDirectory? = nil, options more: [String] = [], keeping: Bool = false,
    _ body: (ServerHarness) async throws -> Void
  ) async throws {
    // Each server has a cache of its own: the one before may let go of its directory a moment later.
    let cache = try TemporaryDirectory()
    try await ServerHarness.run(
      options: options + ["--cache-directory", cache.path] + more, in: directory, body)
    guard !keeping else { return }
    for object in try await store.list(within: limit).objects {
      try await store.delete(object.key, within: limit)
    }
    client.shutDown()
  }

  private func key(of digest: SHA256Digest) -> ObjectKey {
    let name = digest.hexadecimal
    return ObjectKey("packages/\(name.prefix(2))/\(name.dropFirst(2))")
  }

  private func problem(_ response: ClientResponse) throws -> ProblemCode? {
    try APIJSON.decode(Problem.self, from: response.body).code
  }

  private func forget(_ digest: SHA256Digest, _ server: ServerHarness) async throws {
    try await server.server.components.infrastructure.storage.cache?.remove(digest)
    server.server.components.content.packages.close(digest)
  }

  private func purchase(
    _ product: String, id: String, _ server: ServerHarness
  ) async throws -> GrantResponse {
    let receipt = try server.store.receipt(
      of: [server.purchase(of: product, id: id)], device: server.device.id)
    return try await server.grant(product, receipt: receipt).value
  }

  @Test(
    "a package that is published lies in the store alone, and is bought and sent from the cache, whole and in ranges"
  )
  func published() async throws {
    try await withServer { server in
      let record = try await server.publish(bytes)
      #expect(try await store.head(key(of: record.digest), within: limit)?.length == ByteCount(bytes.count))
      #expect(try FileSystem.list(server.directory.path("state/blobs")).isEmpty)
      #expect(try FileSystem.list(server.directory.path("state/incoming")).isEmpty)
      try await forget(record.digest, server)
      let grant = try await server.grantForPurchase()
      let part = try await server.fetch(grant, headers: [("Range", "bytes=2500000-2500999")])
      #expect(part.status == 206)
      #expect(part.body.hasSameBytes(as: Array(bytes[2_500_000..<2_501_000])))
      for _ in 0..<2 {
        let whole = try await server.fetch(grant)
        #expect(whole.status == 200)
        #expect(whole.body.hasSameBytes(as: bytes))
      }
      _ = try await server.complete(grant)
    }
  }

  @Test(
    "while the store is away what is cached goes on, also the manifest, and what is missing is answered 503 with Retry-After"
  )
  func away() async throws {
    try await withServer { server in
      try await server.publish(bytes)
      let other = try await server.publish([1] + bytes, as: "com.example.other")
      let cached = try await server.grantForPurchase()
      let missing = try await purchase("com.example.other", id: "2000000000000002", server)
      try await forget(other.digest, server)
      server.server.components.infrastructure.storage.stop()
      #expect(try await server.fetch(cached).body.hasSameBytes(as: bytes))
      let refused = try await server.fetch(missing)
      #expect(refused.status == 503)
      #expect(try problem(refused) == .unavailable)
      #expect(refused.headers["Retry-After"].flatMap { Int($0) } ?? 0 > 0)
    }
  }

  @Test(
    "other bytes never reach a device: the package is set aside, and sent again once the right ones are there"
  )
  func damaged() async throws {
    try await withServer { server in
      let record = try await server.publish(bytes)
      let grant = try await server.grantForPurchase()
      var other = bytes
      other[1_500_000] ^= 1
      try await store.put(key(of: record.digest), from: .bytes(other), digest: .of(other), within: limit)
      try await forget(record.digest, server)
      // The second mebibyte is wrong: the first one may have been sent by then.
      let refused = try await server.fetch(grant, headers: [("Range", "bytes=1048576-1600000")])
      #expect(refused.status != 206)
      #expect(try problem(refused) == .contentDamaged)
      _ = try await server.submit(upload: try await server.upload(bytes), as: "com.example.repair")
      #expect(try await server.fetch(server.grantForPurchase()).body.hasSameBytes(as: bytes))
    }
  }

  @Test("a package that the store has lost is found by its length, and so is one that is shorter")
  func scrubbed() async throws {
    try await withServer { server in
      let lost = try await server.publish(bytes)
      let short = try await server.publish([1] + bytes, as: "com.example.short")
      try await server.publish([2] + bytes, as: "com.example.whole")
      try await store.delete(key(of: lost.digest), within: limit)
      try await store.put(key(of: short.digest), from: .bytes([1]), digest: .of([1]), within: limit)
      server.clock.advance(by: .seconds(31 * 86_400))
      try await server.server.scrubber.runRound()
      let faults = try await server.server.scrubber.report().faults
      #expect(
        Dictionary(uniqueKeysWithValues: faults.map { ($0.digest, $0.fault) })
          == [lost.digest: .missing, short.digest: .damaged])
    }
  }

  @Test("other bytes of the same length are found where the scrubber reads, and stay found where it does not")
  func scrubReads() async throws {
    let directory = try TemporaryDirectory()
    try await withServer(in: directory, options: ["--scrub-reads"], keeping: true) { server in
      let record = try await server.publish(bytes)
      let other = [UInt8](repeating: 1, count: bytes.count)
      try await store.put(key(of: record.digest), from: .bytes(other), digest: .of(other), within: limit)
      server.clock.advance(by: .seconds(31 * 86_400))
      try await server.server.scrubber.runRound()
      #expect(try await server.server.scrubber.report().faults.map(\.fault) == [.damaged])
    }
    try await withServer(in: directory) { server in
      server.clock.advance(by: .seconds(90 * 86_400))
      try await server.server.scrubber.runRound()
      #expect(try await server.server.scrubber.report().faults.map(\.fault) == [.damaged])
    }
  }

  @Test("a package that nothing needs is removed from the store, unless the bucket names no installation")
  func collected() async throws {
    try await withServer(options: ["--upload-lifetime", "100s", "--gc-grace", "50s"]) { server in
      try await server.publish(bytes)
      let needless = [1] + bytes
      let upload = try await server.upload(needless)
      let conflict = try await server.problem {
        _ = try await server.submit(upload: upload, as: "com.example.issue1")
      }
      #expect(conflict.code == .versionConflict)
      let mark = ObjectKey("pullbox.json")
      let document = try await store.bytes(of: mark, upTo: .kibibytes(4), within: limit)
      try await store.delete(mark, within: limit)
      // Uploads keep their package until they expire.
      server.clock.advance(by: .seconds(100))
      await #expect(throws: (any Error).self) { try await collect(server) }
      #expect(try await store.head(key(of: .of(needless)), within: limit) != nil)
      try await store.put(mark, from: .bytes(document), digest: .of(document), within: limit)
      // Unneeded from the first run on, and condemned and removed by the second one.
      try await collect(server)
      server.clock.advance(by: .seconds(50))
      try await collect(server)
      #expect(try await store.head(key(of: .of(needless)), within: limit) == nil)
      #expect(try await store.head(key(of: .of(bytes)), within: limit) != nil)
    }
  }

  private func collect(_ server: ServerHarness) async throws {
    _ = try await server.server.collector.run(isDryRun: false, by: "tests")
  }

  @Test("a server is refused another installation's bucket, and comes back to its own")
  func otherInstallation() async throws {
    let directory = try TemporaryDirectory()
    try await withServer(in: directory, keeping: true) { _ in }
    let error = try await refusal { try await withServer(keeping: true) { _ in } }
    #expect(error?.subject == "packages")
    #expect(error?.message.contains("another installation") == true)
    try await withServer(in: directory) { _ in }
  }

  private func refusal(_ body: () async throws -> Void) async throws -> ConfigurationError? {
    do {
      try await body()
      return nil
    } catch let error as ConfigurationError {
      return error
    }
  }

  @Test(
    "what is wrong is told by the name of its setting",
    arguments: [
      (["--packages", "s3://pullbox-there-is-none/a"], "packages"),
      (["--s3-endpoint", "http://127.0.0.1:9"], "s3.endpoint"),
      (["--s3-access-key-file", "/etc/hostname"], "s3.accessKeyFile"),
      (["--cache-size", "1GiB"], "cache.size"),
    ])
  func wrong(options more: [String], setting: String) async throws {
    let error = try await refusal { try await ServerHarness.run(options: options + more) { _ in } }
    #expect(error?.subject == setting)
    #expect(error?.message.contains("\n") == false)
  }

  @Test("another key is told by the name of its setting")
  func wrongKey() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("key")
    try FileDescriptor.open(path, .readWrite, options: .create, permissions: 0o600).write(
      Array("nobody\nnothing\n".utf8).span, at: .zero)
    let error = try await refusal {
      try await ServerHarness.run(options: options + ["--s3-access-key-file", path]) { _ in }
    }
    #expect(error?.subject == "s3.accessKeyFile")
  }
}
