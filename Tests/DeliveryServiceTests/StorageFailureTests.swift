import Commerce
import CoreTypes
import Crypto
import Database
import DeliverySchema
import DeliveryTesting
import Dispatch
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Synchronization
import SystemCalls
import Testing

@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService
@testable import PaymentStores

@Suite(
  "A disk that is full, may not be written, or holds something else", .timeLimit(.minutes(2)),
  .enabled(if: !TestDatabase.isOnServer))
struct StorageFailureTests {
  private static let package = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 29 >> 3) }
  private let package = Self.package

  private func otherDevice() throws -> Device {
    Device(id: try #require(DeviceIdentifier("another-device")))
  }

  /// Everything that writes is refused with that code and a time to try again, and the server says that it is not
  /// ready.
  private func expectRefusals(
    _ code: ProblemCode, by server: ServerHarness, completing grant: GrantResponse, _ report: CompletionReport
  ) async throws {
    let device = try otherDevice()
    let receipt = try server.store.receipt(of: [server.purchase(id: "2000000000000002")], device: device.id)
    let refusals = [
      try await server.problem { _ = try await server.grant(receipt: receipt, device: device) },
      try await server.problem { _ = try await server.complete(grant, report) },
      try await server.problem {
        _ = try await server.operatorAPI.call(
          "PUT", "/v1/operator/products/com.example.new", body: ProductDescription(), as: OperatorProduct.self
        )
      },
    ]
    for problem in refusals {
      #expect(problem.code == code)
      #expect(problem.retryAfterSeconds != nil)
    }
    let unready = try await server.problem { _ = try await server.api.exchange("GET", "/readyz") }
    #expect(unready.code == .unavailable)
  }

  private func expectRecovery(
    of server: ServerHarness, completing grant: GrantResponse, _ report: CompletionReport
  ) async throws {
    #expect(try await server.api.exchange("GET", "/readyz").status == 200)
    let device = try otherDevice()
    let receipt = try server.store.receipt(of: [server.purchase(id: "2000000000000002")], device: device.id)
    _ = try await server.grant(receipt: receipt, device: device)
    #expect(try await server.complete(grant, report).value.state == .finished)
    try await server.publish([4, 5, 6], as: "com.example.new")
  }

  @Test(
    "a full disk is 507, nothing is lost, and all goes on once there is room",
    .enabled(if: SmallDisk.isAvailable))
  func fullDisk() async throws {
    let disk = try SmallDisk(.mebibytes(80))
    try await ServerHarness.run(in: disk.directory) { server in
      try await server.publish(package)
      let grant = try await server.grant(to: server.device)
      _ = try await server.fetch(grant)
      let report = server.report(grant)
      try disk.fill()
      try await expectRefusals(.outOfSpace, by: server, completing: grant, report)
      #expect(try await server.fetch(grant).body == package)
      try disk.clear()
      try await expectRecovery(of: server, completing: grant, report)
    }
  }

  @Test(
    "a completion that is recorded is answered, whatever becomes of the call to the store",
    .enabled(if: SmallDisk.isAvailable))
  func recordedCompletion() async throws {
    let disk = try SmallDisk(.mebibytes(80))
    try await ServerHarness.run(in: disk.directory) { server in
      try await server.publish(package)
      let grant = try await server.grant(to: server.device)
      _ = try await server.fetch(grant)
      server.store.state.withLock { $0.holdsAnswers = true }
      let report = server.report(grant)
      async let answer = server.complete(grant, report)
      await server.store.waitForFinished()
      try disk.fill()
      server.store.releaseAnswers()
      #expect(try await answer.value.state == .completed)
      try disk.clear()
    }
  }

  @Test("a request that the database does not come to in time is 503, and the next one is served")
  func overload() async throws {
    var options = TestDatabase.options
    options.longestWait = .seconds(1)
    try await ServerHarness.run(database: options) { server in
      func put() async throws {
        _ = try await server.operatorAPI.call(
          "PUT", "/v1/operator/products/com.example.new", body: ProductDescription(), as: OperatorProduct.self
        )
      }
      let database = server.server.collector.database
      let gate = DispatchSemaphore(value: 0)
      let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
      async let held: Void = database.write(locking: [], waiting: .unlimited) { _ in
        continuation.yield()
        gate.wait()
        gate.signal()
      }
      for await _ in begun { break }
      let problem = try await server.problem(put)
      #expect(problem.code == .unavailable)
      #expect(problem.retryAfterSeconds != nil)
      gate.signal()
      try await held
      try await put()
    }
  }

  @Test("a grant that stands is answered while nothing can be written, though the store was asked anew")
  func standingGrant() async throws {
    var options = TestDatabase.options
    options.longestWait = .seconds(1)
    let timer = ManualMonotonicClock()
    try await ServerHarness.run(timer: timer, database: options) { server in
      try await server.publish(package)
      // A device without a key is handed a new secret each time, which is written down.
      let device = Device(id: server.device.id, publicKey: SigningKey().verificationKey)
      let receipt = try server.store.receipt(of: [server.purchase()], device: device.id)
      let first = try await server.grant(receipt: receipt, device: device).value
      timer.advance(by: VerdictCache.lifetime)
      try await server.server.collector.database.holdingWrites {
        let again = try await server.grant(receipt: receipt, device: device)
        #expect(again.status == 200)
        #expect(again.value.grant == first.grant)
      }
    }
  }

  @Test("a damaged page is 503 for what needs it, and the rest is served") func damagedPage() async throws {
    let directory = try TemporaryDirectory()
    let first = Locked<Database?>(nil)
    try await ServerHarness.run(in: directory) { server in
      try await server.publish(package)
      let database = server.server.collector.database
      first.withLock { $0 = database }
    }
    // The last one that closes it brings the log's pages into the file: later that would mend the damage.
    first.current?.close()
    let path = directory.path("state/server.db")
    let page: Int64
    do {
      let database = try Database.open(path: path, migrations: Migrations.all)
      defer { database.close() }
      page = try database.readBlocking { connection in
        try connection.first("SELECT rootpage FROM sqlite_schema WHERE name = 'grants'")?.integer("rootpage")
          ?? 0
      }
    }
    try #require(page > 1)
    do {
      let file = try FileDescriptor.open(path, .writeOnly)
      try file.write([UInt8](repeating: 0xA5, count: 4096).span, at: ByteCount((page - 1) * 4096))
    }
    try await ServerHarness.run(in: directory) { server in
      let problem = try await server.problem { _ = try await server.grant(to: server.device) }
      #expect(problem.code == .unavailable)
      #expect(problem.retryAfterSeconds != nil)
      #expect(try await server.api.exchange("GET", "/v1/products").status == 200)
      try await server.publish([4, 5, 6], as: "com.example.new")
    }
  }

  @Test(
    "a server starts on a disk that is full or nearly so, and collects what makes room",
    .enabled(if: SmallDisk.isAvailable), arguments: [0, 8, 16, 32, 64, 96, 128, 256])
  func startsOnFullDisk(kibibytes: Int) async throws {
    let disk = try SmallDisk(.mebibytes(80))
    try await ServerHarness.run(options: ["--upload-lifetime", "100s"], in: disk.directory) { server in
      _ = try await server.upload([UInt8](repeating: 7, count: 1_000_000))
    }
    try disk.fill()
    let ballast = try FileDescriptor.open(disk.path("ballast"), .writeOnly)
    try ballast.truncate(to: try ballast.status().length - .kibibytes(Int64(kibibytes)))
    try await ServerHarness.run(options: ["--upload-lifetime", "100s"], in: disk.directory) { server in
      server.clock.advance(by: .seconds(200))
      let report = try await server.server.collector.run(isDryRun: false, by: "operator")
      #expect(report.uploads.count == 1)
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.new", body: ProductDescription(), as: OperatorProduct.self)
    }
  }

  @Test("on a disk that fills, what makes room is collected", .enabled(if: SmallDisk.isAvailable))
  func collectsOnFullDisk() async throws {
    let disk = try SmallDisk(.mebibytes(80))
    try await ServerHarness.run(options: ["--upload-lifetime", "100s"], in: disk.directory) { server in
      _ = try await server.upload([UInt8](repeating: 7, count: 1_000_000))
      try disk.fill()
      server.clock.advance(by: .seconds(200))
      let problem = try await server.problem {
        _ = try await server.operatorAPI.call(
          "PUT", "/v1/operator/products/com.example.new", body: ProductDescription(), as: OperatorProduct.self
        )
      }
      #expect(problem.code == .outOfSpace)
      let report = try await server.server.collector.run(isDryRun: false, by: "operator")
      #expect(report.uploads.count == 1)
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.new", body: ProductDescription(), as: OperatorProduct.self)
    }
  }
}
