import BlobStore
import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryTesting
import Files
import Foundation
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Synchronization
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import ContentPublishing
@testable import DeliveryService

@Suite("Garbage collection")
struct GarbageCollectionTests {
  private let package = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }

  private func collect(
    _ server: ServerHarness, dryRun: Bool = false, grace: Int? = nil
  ) async throws -> GarbageCollectionReport {
    try await server.operatorAPI.call(
      "POST", "/v1/operator/collection", body: GarbageCollectionRequest(dryRun: dryRun, graceSeconds: grace),
      as: GarbageCollectionReport.self
    ).value
  }

  private func withdraw(_ server: ServerHarness) async throws {
    _ = try await server.operatorAPI.call(
      "POST", "/v1/operator/products/com.example.issue1/versions/1.0/withdraw", body: ReasonBody(),
      as: VersionRecord.self)
  }

  @Test("an upload that expired goes with its bytes; a dry run says so and changes nothing")
  func expired() async throws {
    try await ServerHarness.run(options: ["--upload-lifetime", "100s"]) { server in
      let client = UploadClient(server: server)
      let location = try await client.create(length: 5)
      _ = try await client.patch(location, at: 0, [1, 2])
      #expect(try await collect(server).uploads.isEmpty)
      server.clock.advance(by: .seconds(100))
      for dryRun in [true, true, false] {
        let report = try await collect(server, dryRun: dryRun)
        #expect(report.uploads.map(\.bytes) == [ByteCount(2)])
        #expect(report.bytes == ByteCount(2))
      }
      #expect(try await collect(server).uploads.isEmpty)
      #expect(try await client.tus("HEAD", location).status == 404)
      let page = try await server.operatorAPI.get("/v1/operator/audit", as: Page<AuditEntry>.self)
      #expect(page.items.first?.action == "upload.expire")
    }
  }

  @Test("a package whose upload never became a version goes after the grace period, and not before")
  func abandoned() async throws {
    try await ServerHarness.run(options: ["--upload-lifetime", "100s", "--gc-grace", "50s"]) {
      server in
      try await server.publish(package)
      let upload = try await server.upload(package + [1])
      let conflict = try await server.problem {
        _ = try await server.submit(upload: upload, as: "com.example.issue1")
      }
      #expect(conflict.code == .versionConflict)
      #expect(try await collect(server, grace: 0).blobs.isEmpty)
      server.clock.advance(by: .seconds(100))
      let first = try await collect(server)
      // That of the version, kept for a client that asks again, and this one.
      #expect(first.uploads.count == 2)
      #expect(first.blobs.isEmpty)
      #expect(first.waiting.map(\.digest) == [.of(package + [1])])
      server.clock.advance(by: .seconds(49))
      #expect(try await collect(server).blobs.isEmpty)
      server.clock.advance(by: .seconds(1))
      #expect(try await collect(server).blobs.map(\.digest) == [.of(package + [1])])
      #expect(try await collect(server, grace: 0).blobs.isEmpty)
    }
  }

  @Test(
    "a damaged row of one upload keeps neither the server from starting nor the others from being collected",
    .enabled(if: !TestDatabase.isOnServer))
  func damagedUpload() async throws {
    let directory = try TemporaryDirectory()
    let options = ["--upload-lifetime", "100s"]
    try await ServerHarness.run(options: options, in: directory) { server in
      let client = UploadClient(server: server)
      for _ in 1...2 { _ = try await client.patch(try await client.create(length: 5), at: 0, [1, 2]) }
      try await server.server.collector.database.write(locking: [.everything]) {
        try $0.execute(
          "UPDATE uploads SET whole_digest = x'0102' WHERE id = (SELECT min(id) FROM uploads)")
      }
    }
    try await ServerHarness.run(options: options, in: directory) { server in
      server.clock.advance(by: .seconds(1000))
      let report = try await collect(server)
      #expect(report.uploads.count == 2)
    }
  }

  @Test("withdrawn content stays unless the operator's rule says otherwise")
  func withdrawnStays() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      try await withdraw(server)
      #expect(try await collect(server, grace: 0).blobs.isEmpty)
    }
  }

  @Test("by that rule it goes, but never while a grant is live")
  func withdrawnGoes() async throws {
    try await ServerHarness.run(options: ["--collect-withdrawn", "--upload-lifetime", "100s"]) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      try await withdraw(server)
      #expect(try await collect(server, grace: 0).blobs.isEmpty)
      #expect(try await server.fetch(grant).body == package)
      #expect(try await server.complete(grant).value.state != .granted)
      server.clock.advance(by: .seconds(100))
      let report = try await collect(server, grace: 0)
      let isFinished = try await server.status(grant).state == .finished
      #expect(report.blobs.map(\.digest) == (isFinished ? [.of(package)] : []))
      #expect(try await server.fetch(grant).status == (isFinished ? 404 : 200))
    }
  }

  @Test("while a backup is taken nothing is removed; the next collection removes it")
  func backup() async throws {
    try await ServerHarness.run(options: ["--collect-withdrawn", "--upload-lifetime", "100s"]) { server in
      try await server.publish(package)
      try await withdraw(server)
      server.clock.advance(by: .seconds(100))
      let state = BlobDirectory(server.configuration.state)
      do {
        let hold = try state.holdRemovals()
        for _ in 0..<2 { #expect(try await collect(server, grace: 0).blobs.isEmpty) }
        #expect(try state.list().count == 1)
        withExtendedLifetime(hold) {}
      }
      #expect(try await collect(server, grace: 0).blobs.map(\.digest) == [.of(package)])
      #expect(try state.list().isEmpty)
    }
  }

  @Test(
    "a collected package is closed although the loops remember tickets for it, so that its space comes back")
  func collectedIsClosed() async throws {
    try await ServerHarness.run(options: ["--collect-withdrawn", "--upload-lifetime", "100s"]) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      // The first request opens the package, the second is answered on the loop, which remembers the ticket.
      let port = try #require(
        server.server.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
      for _ in 1...2 {
        let connection = try RawConnection.tcp(port: port)
        try await connection.send(
          "GET \(grant.download.contentURL)?ticket=\(grant.download.ticket) HTTP/1.1\r\nHost: a\r\n"
            + "Connection: close\r\n\r\n")
        #expect(try await connection.receiveToEnd().suffix(package.count) == package[...])
      }
      #expect(try openBlobs(of: server).count == 1)
      try await server.server.collector.database.write(locking: [.everything]) {
        try $0.execute("UPDATE grants SET state = 'finished'")
      }
      try await withdraw(server)
      server.clock.advance(by: .seconds(100))
      #expect(try await collect(server, grace: 0).blobs.map(\.digest) == [.of(package)])
      // The loops have let go once they have gone around.
      await server.server.pulse()
      #expect(try openBlobs(of: server).isEmpty)
    }
  }

  @Test("a collected package is closed although connections that had it wait for their next request")
  func collectedIsClosedByIdle() async throws {
    try await ServerHarness.run(options: ["--collect-withdrawn", "--upload-lifetime", "100s"]) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let port = try #require(
        server.server.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
      let connections = try (0..<3).map { _ in try RawConnection.tcp(port: port) }
      for connection in connections + connections {
        try await connection.send(
          "GET \(grant.download.contentURL)?ticket=\(grant.download.ticket) HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try await connection.receiveResponse().body == package)
      }
      try await server.server.collector.database.write(locking: [.everything]) {
        try $0.execute("UPDATE grants SET state = 'finished'")
      }
      try await withdraw(server)
      server.clock.advance(by: .seconds(100))
      #expect(try await collect(server, grace: 0).blobs.map(\.digest) == [.of(package)])
      await server.server.pulse()
      #expect(try openBlobs(of: server).isEmpty)
      // They are as good as before.
      for connection in connections {
        try await connection.send("GET /v1/nothing HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try await connection.receiveResponse().status == 404)
      }
    }
  }

  @Test("packages that fall out of the cache are let go by idle connections, 64 of them at a time")
  func forgottenPackages() async throws {
    try await ServerHarness.run { server in
      let contents = (0..<3).map { [UInt8](repeating: UInt8($0), count: 100) }
      for (number, content) in contents.enumerated() {
        try await server.publish(content, as: "com.example.issue\(number)")
      }
      let cache = OpenPackageCache(
        source: StoredPackages(
          blobs: server.server.components.infrastructure.blobs, database: server.server.collector.database),
        limit: 2)
      let releases = Mutex(0)
      cache.releaseIdle { releases.withLock { $0 += 1 } }
      // Each of three in turn is the one that was forgotten last.
      for number in 0..<65 { _ = try await cache.package(for: .of(contents[number % 3])) }
      #expect(releases.withLock { $0 } == 0)
      for number in 65..<130 { _ = try await cache.package(for: .of(contents[number % 3])) }
      #expect(releases.withLock { $0 } == 2)
    }
  }

  /// The descriptors that this process has of the server's blobs, removed or not.
  private func openBlobs(of server: ServerHarness) throws -> [String] {
    try FileSystem.list("/proc/self/fd").compactMap { entry in
      // A descriptor that was closed since it was listed has no target.
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(entry.name)")
    }.filter { $0.hasPrefix(server.directory.path) && $0.contains("/blobs/") }
  }

  @Test(
    "a receipt that was on its way when the version was withdrawn and collected gets no grant, first or repeated"
  )
  func withdrawnMeanwhile() async throws {
    try await ServerHarness.run(options: ["--collect-withdrawn", "--upload-lifetime", "100s"]) { server in
      try await server.publish(package)
      server.clock.advance(by: .seconds(100))
      let went = Mutex<[SHA256Digest]>([])
      server.store.state.withLock { state in
        state.duringVerification = {
          try await withdraw(server)
          let report = try await collect(server, grace: 0)
          went.withLock { $0 = report.blobs.map(\.digest) }
        }
      }
      for _ in 1...2 {
        let problem = try await server.problem { _ = try await server.grantForPurchase() }
        #expect(problem.code == .contentWithdrawn)
      }
      #expect(went.withLock { $0 } == [.of(package)])
      #expect(
        try await server.operatorAPI.get("/v1/operator/grants", as: Page<OperatorGrant>.self).items.isEmpty)
    }
  }

  @Test("a package that a grant was made for since the collection looked stays; the one before it is gone")
  func grantedMeanwhile() async throws {
    try await ServerHarness.run(options: ["--collect-withdrawn", "--upload-lifetime", "100s"]) { server in
      var packages: [SHA256Digest: GrantResponse] = [:]
      for product in ["com.example.issue1", "com.example.issue2"] {
        let record = try await server.publish(package + Array(product.utf8), as: product)
        let receipt = try server.store.receipt(
          of: [server.purchase(of: product, id: product)], device: server.device.id)
        let grant = try await server.grant(product, receipt: receipt).value
        packages[record.digest] = grant
        try await server.step("withdraw", "1.0", of: product)
      }
      @Sendable func setState(_ state: String, of grant: GrantResponse)
        -> @Sendable (borrowing Connection) throws -> Void
      {
        {
          try $0.execute(
            "UPDATE grants SET state = ? WHERE id = ?", [.text(state), .text(grant.grant.description)])
        }
      }
      server.clock.advance(by: .seconds(100))
      let grants = packages
      var collector = server.server.collector
      for grant in grants.values {
        try await collector.database.write(locking: [.everything], setState("finished", of: grant))
      }
      let kept = Mutex<SHA256Digest?>(nil)
      let database = collector.database
      collector.didRemove = { gone in
        guard let (digest, grant) = grants.first(where: { $0.key != gone }) else { return }
        kept.withLock { $0 = digest }
        do {
          try database.writeBlocking(locking: [.everything], setState("granted", of: grant))
        } catch {
          Issue.record(error)
        }
      }
      let report = try await collector.run(grace: .zero, isDryRun: false, by: "operator")
      #expect(report.blobs.count == 1)
      let rest = try #require(kept.withLock { $0 })
      #expect(report.blobs.first?.digest != rest)
      let grant = try #require(grants[rest])
      #expect(try await server.fetch(grant).status == 200)
    }
  }

  @Test("a publication of the same bytes that runs meanwhile ends with its package there")
  func race() async throws {
    try await ServerHarness.run(options: ["--upload-lifetime", "100s"]) { server in
      try await server.publish([1, 2, 3])
      for round in 1...10 {
        // Bytes that are there and that nothing needs: a version could not be made of them.
        let bytes = package + [UInt8(round)]
        let upload = try await server.upload(bytes)
        _ = try await server.problem { _ = try await server.submit(upload: upload, as: "com.example.issue1") }
        server.clock.advance(by: .seconds(100))
        _ = try await collect(server, grace: 1000)
        async let report = collect(server, grace: 0)
        let record = try await server.submit(bytes, as: "com.example.issue1", version: "2.\(round)")
        _ = try await report
        #expect(record.digest == .of(bytes))
        let blob = record.digest.hexadecimal
        let path = "\(server.directory.path)/state/blobs/\(blob.prefix(2))/\(blob.dropFirst(2))"
        #expect(try FileSystem.status(of: path)?.length == ByteCount(bytes.count))
      }
    }
  }

  @Test("only an administrator collects, and a grace period is bounded")
  func refusals() async throws {
    try await ServerHarness.run { server in
      let anonymous = try await server.problem {
        _ = try await server.api.call(
          "POST", "/v1/operator/collection", body: GarbageCollectionRequest(),
          as: GarbageCollectionReport.self)
      }
      #expect(anonymous.code == .unauthorized)
      let negative = try await server.problem { _ = try await collect(server, grace: -1) }
      #expect(negative.code == .requestMalformed)
    }
  }
}
