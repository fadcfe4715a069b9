import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryTesting
import Files
import Glibc
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import ContentPublishing
@testable import DeliveryService

/// A state directory on a real disk that takes no write any more while the server runs.
@Suite(
  "A state directory that may not be written", .timeLimit(.minutes(2)), .enabled(if: !TestDatabase.isOnServer)
)
struct ReadOnlyStateTests {
  private static let package = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 29 >> 3) }
  private let package = Self.package
  private let disk: FormattedDisk
  private let directory: TemporaryDirectory

  init() async throws {
    directory = try TemporaryDirectory()
    try FileSystem.createDirectory(directory.path("state"), permissions: 0o700)
    disk = try await FormattedDisk(.ext4, .mebibytes(96), in: directory, as: "state")
  }

  /// The state that was there before: a download whose bytes were all sent, and a grant of another device, which has a key.
  private struct Held {
    var grant: GrantResponse
    var report: CompletionReport
    var deviceWithKey: Device
    var receipt: String
    var other: GrantResponse
  }

  private func begin(on server: ServerHarness) async throws -> Held {
    try await server.publish(package)
    let grant = try await server.grantForPurchase()
    _ = try await server.fetch(grant)
    let id = try #require(DeviceIdentifier("device-with-a-key"))
    let device = Device(id: id, publicKey: SigningKey().verificationKey)
    let receipt = try server.store.receipt(of: [server.purchase(id: "2000000000000003")], device: id)
    return Held(
      grant: grant, report: server.report(grant), deviceWithKey: device, receipt: receipt,
      other: try await server.grant(receipt: receipt, device: device).value)
  }

  private func buyForAnother(at server: ServerHarness) async throws {
    let device = Device(id: try #require(DeviceIdentifier("another-device")))
    let purchase = server.purchase(id: "2000000000000002")
    let receipt = try server.store.receipt(of: [purchase], device: device.id)
    _ = try await server.grant(receipt: receipt, device: device)
  }

  private func putProduct(at server: ServerHarness) async throws {
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/com.example.new", body: ProductDescription(), as: OperatorProduct.self)
  }

  /// Expects that requests that write are answered 503 with a time to try again; the server says that it is not ready.
  private func expectRefusals(by server: ServerHarness, of held: Held) async throws {
    let refusals = [
      try await server.problem { try await buyForAnother(at: server) },
      try await server.problem { _ = try await server.complete(held.grant, held.report) },
      try await server.problem { try await putProduct(at: server) },
      try await server.problem { _ = try await server.upload([1, 2, 3]) },
    ]
    for problem in refusals {
      #expect(problem.code == .unavailable)
      #expect(problem.retryAfterSeconds != nil)
    }
    let unready = try await server.problem { _ = try await server.api.exchange("GET", "/readyz") }
    #expect(unready.code == .unavailable)
  }

  /// Expects an answer to requests that only read: content, its ranges, tickets, what operators look at, and a grant that stands.
  private func expectService(by server: ServerHarness, of held: Held) async throws {
    #expect(try await server.fetch(held.grant).body == package)
    let range = try await server.fetch(held.grant, headers: [("Range", "bytes=500-1499")])
    #expect(range.status == 206)
    #expect(range.body == Array(package[500..<1500]))
    let renewed = try await server.renew(held.grant)
    #expect(try await server.fetch(held.grant, ticket: renewed.ticket).body == package)
    #expect(try await server.status(held.grant).state == .granted)
    let again = try await server.grant(receipt: held.receipt, device: held.deviceWithKey)
    #expect(again.status == 200)
    #expect(again.value.grant == held.other.grant)
    #expect(try await server.listing() != nil)
    let deliveries = try await server.operatorAPI.get("/v1/operator/deliveries", as: Page<OperatorGrant>.self)
    #expect(deliveries.items.count == 2)
    #expect(try await server.api.exchange("GET", "/metrics").status == 200)
  }

  /// Everything that was refused succeeds, and what was there before is whole.
  private func expectRecovery(of server: ServerHarness, with held: Held) async throws {
    #expect(try await server.status(held.grant).state == .granted)
    #expect(try await server.fetch(held.grant).body == package)
    try await buyForAnother(at: server)
    #expect(try await server.complete(held.grant, held.report).value.state == .finished)
    try await server.publish([4, 5, 6], as: "com.example.new")
    #expect(try await server.api.exchange("GET", "/readyz").status == 200)
    let deliveries = try await server.operatorAPI.get("/v1/operator/deliveries", as: Page<OperatorGrant>.self)
    #expect(deliveries.items.count == 3)
  }

  /// Threads of the server that was stopped close what they had open in their own time.
  private func remountOnceIdle() async throws {
    while true {
      do {
        return try await disk.remount()
      } catch let error as SystemError where error.number == EBUSY {
        await Task.yield()
      }
    }
  }

  @Test(
    "files that may not be written for a while: writes are 503, reads go on, and then all does, without a restart",
    .enabled(if: FormattedDisk.Kind.ext4.isAvailable))
  func forbiddenFiles() async throws {
    try await ServerHarness.run(in: directory) { server in
      let held = try await begin(on: server)
      // The file in which SQLite's connections tell each other what is in memory is no part of the state.
      let entries = try FileSystem.list(directory.path("state")).filter { $0.name != "server.db-shm" }
      let names = entries.filter { $0.kind == .regular || $0.kind == .directory }.map(\.name) + [""]
      try await disk.setWritable(false, names)
      try await expectRefusals(by: server, of: held)
      try await expectService(by: server, of: held)
      try await disk.setWritable(true, names)
      try await expectRecovery(of: server, with: held)
    }
  }

  @Test(
    "a disk that the kernel made read-only: writes are 503, reads go on, and nothing is lost",
    .enabled(if: FormattedDisk.canFailToReadOnly))
  func failedDisk() async throws {
    var before: (held: Held, database: Database)?
    try await ServerHarness.run(in: directory) { server in
      let held = try await begin(on: server)
      before = (held, server.server.collector.database)
      try disk.failToReadOnly()
      try await expectRefusals(by: server, of: held)
      try await expectService(by: server, of: held)
    }
    let (held, database) = try #require(before)
    // The kernel wants such a disk mounted anew, for which nothing may be open on it.
    database.close()
    try await remountOnceIdle()
    try await ServerHarness.run(in: directory) { server in
      try await expectRecovery(of: server, with: held)
    }
  }
}
