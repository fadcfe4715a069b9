import BlobStore
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import DeliveryTesting
import Files
import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import StorageTesting
import Synchronization
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import ContentPublishing
@testable import DeliveryService

/// docs/operations.md ("Backup"): a generation has the packages, wherever they lie, and is restored to either place.
@Suite(
  "Backups of a server with an object store", .enabled(if: !TestDatabase.isOnServer), .timeLimit(.minutes(5)))
struct StoreBackupTests {
  private let bytes = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  private let directory: TemporaryDirectory
  private let tested: TestedStore
  private let memory: FakeObjectStore
  private var backups: BackupDirectory { BackupDirectory(directory.path("backups")) }

  init() throws {
    directory = try TemporaryDirectory()
    tested = try TestedStore()
    memory = try #require(tested.memory)
  }

  /// Runs `body` with a server whose packages lie in the store.
  private func withServer(
    _ options: [String] = [], _ body: (ServerHarness) async throws -> Void
  ) async throws {
    let cache = try TemporaryDirectory()
    try await ServerHarness.run(
      options: tested.options + ["--cache-directory", cache.path] + options, body)
  }

  private func backup(_ server: ServerHarness, withoutPackages: Bool = false) async throws -> Backup.Outcome {
    let (state, place) = (server.configuration.state, try tested.place)
    return try await BlockingPool.shared.run {
      var backup = Backup(state: state, directory: backups, store: place)
      backup.leavesPackages = withoutPackages
      return try backup.run()
    }
  }

  private func check(
    _ state: String, store: PackageStorePlace? = nil, repairing: Bool = false, lengths: Bool = false
  ) async throws -> StateCheckReport {
    try await BlockingPool.shared.run {
      var check = StateCheck(state: state, store: store)
      check.comparesLengths = lengths
      if repairing { check.repair = PackageRepair(state: state, store: store, directory: backups) }
      return try check.run()
    }
  }

  private func restore(to name: String, store: PackageStorePlace? = nil) async throws {
    let state = directory.path("\(name)/state")
    try FileSystem.createDirectories(state)
    _ = try await BlockingPool.shared.run {
      try StateRestore(state: state, directory: backups, store: store).run()
    }
  }

  private func package(_ bytes: [UInt8]) -> String {
    let name = SHA256Digest.of(bytes).hexadecimal
    return "packages/\(name.prefix(2))/\(name.dropFirst(2))"
  }

  @Test(
    "a generation has every package, fetched once, and a server goes on from it with a directory or with another store"
  )
  func generations() async throws {
    let granted = Mutex<GrantResponse?>(nil)
    try await withServer { server in
      try await server.publish(bytes)
      let grant = try await server.grantForPurchase()
      granted.withLock { $0 = grant }
      let first = try await backup(server)
      #expect((first.linked, first.copied, first.manifest.absent) == (0, 1, []))
      try await server.publish(bytes + [1], as: "com.example.second")
      _ = memory.takeCalls()
      let second = try await backup(server)
      #expect((second.linked, second.copied, second.manifest.absent) == (1, 1, []))
      #expect(!memory.takeCalls().contains { $0.method == "GET" && $0.key.hasSuffix(package(bytes)) })
      #expect(try await check(try backups.generation(nil).path).isWhole)
    }
    let grant = try #require(granted.withLock { $0 })
    try await restore(to: "local")
    try await restored("local", options: []) { server async throws in
      #expect(try await server.fetch(grant).body.hasSameBytes(as: bytes))
    }
    let other = try TestedStore()
    let objects = memory.objects
    try await restore(to: "remote", store: try other.place)
    #expect(other.memory?.objects.keys.sorted() == objects.keys.sorted())
    // It is the same installation.
    #expect(other.memory?.objects["pullbox.json"] == objects["pullbox.json"])
    let cache = try TemporaryDirectory()
    try await restored("remote", options: other.options + ["--cache-directory", cache.path]) {
      server async throws in
      #expect(try await server.fetch(grant).body.hasSameBytes(as: bytes))
    }
    await memory.stop()
    await other.memory?.stop()
  }

  /// Runs `body` with a server in a directory that a restore has filled.
  private func restored(
    _ name: String, options: [String], _ body: (ServerHarness) async throws -> Void
  ) async throws {
    let place = try TemporaryDirectory()
    try FileSystem.rename(directory.path("\(name)/state"), to: place.path("state"))
    try await ServerHarness.run(options: options, in: place, body)
  }

  @Test("a check reads the packages in the store, or compares their lengths, and puts back what a backup has")
  func checks() async throws {
    try await withServer { server in
      try await server.publish(bytes)
      try await server.publish(bytes + [1], as: "com.example.second")
      _ = try await backup(server)
      let (state, place) = (server.configuration.state, try tested.place)
      #expect(try await check(state, store: place).isWhole)
      var other = bytes
      other[700_000] ^= 1
      memory.objects[package(bytes)] = other
      memory.objects[package(bytes + [1])] = nil
      let report = try await check(state, store: place)
      #expect(
        Dictionary(uniqueKeysWithValues: report.faults.map { ($0.digest, $0.fault) })
          == [.of(bytes): .damaged, .of(bytes + [1]): .missing])
      _ = memory.takeCalls()
      #expect(try await check(state, store: place, lengths: true).faults.map(\.fault) == [.missing])
      #expect(!memory.takeCalls().contains { $0.range != nil })
      #expect(try await check(state, store: place, repairing: true).isWhole)
      #expect(memory.objects[package(bytes)]?.hasSameBytes(as: bytes) == true)
      #expect(try await check(state, store: place).faults.isEmpty)
    }
    await memory.stop()
  }

  @Test(
    "a package that the store lacks is named as absent, and one that it has with other bytes comes from the generation before"
  )
  func absent() async throws {
    try await withServer { server in
      try await server.publish(bytes)
      _ = try await backup(server)
      var other = bytes
      other[9] ^= 1
      memory.objects[package(bytes)] = other
      let lost = try await server.publish(bytes + [1], as: "com.example.second")
      memory.objects[package(bytes + [1])] = nil
      let outcome = try await backup(server)
      #expect(outcome.manifest.absent == [.init(digest: lost.digest, fault: .missing)])
      let faults = try await check(try backups.generation(nil).path).faults
      #expect(faults.map(\.digest) == [lost.digest] && faults.map(\.fault) == [.missing])
    }
    await memory.stop()
  }

  @Test("a generation without packages names the store, and is restored where that is named")
  func withoutPackages() async throws {
    try await withServer { server in
      try await server.publish(bytes)
      _ = memory.takeCalls()
      let outcome = try await backup(server, withoutPackages: true)
      #expect(memory.takeCalls().isEmpty)
      #expect(outcome.manifest.packages == [] && outcome.manifest.absent == [])
      #expect(outcome.manifest.packagesIn == "s3://comics/production")
      #expect(try await check(try backups.generation(nil).path).isWhole)
    }
    await #expect(throws: UsageError.self) { try await restore(to: "local") }
    try await restore(to: "remote", store: try tested.place)
    memory.objects[package(bytes)] = nil
    let error = await #expect(throws: StateCareError.self) {
      try await restore(to: "other", store: try tested.place)
    }
    #expect(error?.code == .damaged)
    await memory.stop()
  }

  @Test(
    "a restore that ends at whatever call of the store goes on when it is given again, into the bucket that it has claimed"
  )
  func restoreGoesOn() async throws {
    try await withServer { server in
      try await server.publish(bytes)
      _ = try await backup(server)
    }
    let other = try TestedStore()
    let target = try #require(other.memory)
    let place = try other.place
    try await restore(to: "trial", store: place)
    let calls = target.takeCalls().count
    #expect(calls > 5)
    for call in 0..<calls {
      target.objects = [:]
      let made = Mutex(0)
      target.refuse { _ in
        made.withLock { made in
          made += 1
          return made > call ? .forbidden : nil
        }
      }
      await #expect(throws: (any Error).self) { try await restore(to: "state-\(call)", store: place) }
      target.refuse { _ in nil }
      try await restore(to: "state-\(call)", store: place)
      #expect(target.objects[package(bytes)]?.hasSameBytes(as: bytes) == true)
    }
    await memory.stop()
    await target.stop()
  }

  @Test(
    "nothing is removed from the store while a backup holds the state directory, or the lease of a shared database"
  )
  func holds() async throws {
    try await withServer(["--upload-lifetime", "100s", "--gc-grace", "50s"]) { server in
      try await server.publish(bytes)
      let needless = [1] + bytes
      let upload = try await server.upload(needless)
      _ = try await server.problem { _ = try await server.submit(upload: upload, as: "com.example.issue1") }
      server.clock.advance(by: .seconds(100))
      try await collect(server)
      server.clock.advance(by: .seconds(50))
      let hold = try BlobDirectory(server.configuration.state).holdRemovals()
      try await collect(server)
      #expect(memory.objects[package(needless)] != nil)
      withExtendedLifetime(hold) {}
      _ = consume hold
      let now = server.clock.now()
      try await server.server.components.infrastructure.database.write(locking: []) {
        try RemovalHold.take(at: now, in: $0)
      }
      try await collect(server)
      #expect(memory.objects[package(needless)] != nil)
      server.clock.advance(by: RemovalHold.duration)
      try await collect(server)
      #expect(memory.objects[package(needless)] == nil)
      #expect(memory.objects[package(bytes)] != nil)
    }
    await memory.stop()
  }

  private func collect(_ server: ServerHarness) async throws {
    _ = try await server.server.collector.run(isDryRun: false, by: "tests")
  }
}
