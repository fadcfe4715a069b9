import CoreTypes
import Crypto
import DeliveryTesting
import Files
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import ContentPublishing
@testable import DeliveryService

@Suite("Stored packages that are lost or damaged")
struct PackageScrubberTests {
  private static let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  private let bytes = Self.bytes

  private func path(of digest: SHA256Digest, _ server: ServerHarness) -> String {
    let name = digest.hexadecimal
    return server.directory.path("state/blobs/\(name.prefix(2))/\(name.dropFirst(2))")
  }

  private func report(_ server: ServerHarness) async throws -> PackageScrubReport {
    try await server.operatorAPI.get("/v1/operator/scrub", as: PackageScrubReport.self)
  }

  /// Asks for a round, a second later than whatever was before, and waits for its end.
  private func scrub(_ server: ServerHarness) async throws -> PackageScrubReport {
    server.clock.advance(by: .seconds(1))
    let asked = try await server.operatorAPI.call(
      "POST", "/v1/operator/scrub", headers: [], as: PackageScrubReport.self)
    #expect(asked.status == 202)
    for _ in 0..<20_000 {
      let report = try await report(server)
      if report.waiting == 0 { return report }
      await Task.yield()
    }
    Issue.record("the round did not end")
    return asked.value
  }

  private func metric(_ name: String, _ server: ServerHarness) async throws -> Double? {
    let page = try await server.client.send(ClientRequest(method: "GET", url: server.api.url("/metrics")))
    return try PrometheusPage(String(decoding: page.body, as: UTF8.self)).samples[name]
  }

  @Test(
    "a round finds every package that is missing or has other bytes, says so, and says when it is whole again"
  )
  func round() async throws {
    try await ServerHarness.run { server in
      let kept = try await server.publish(bytes, as: "com.example.a")
      let flipped = try await server.publish(bytes + [1], as: "com.example.b")
      let cut = try await server.publish(bytes + [2], as: "com.example.c")
      let lost = try await server.publish(bytes + [3], as: "com.example.d")
      #expect(try await scrub(server).faults.isEmpty)
      do {
        let file = try FileDescriptor.open(path(of: flipped.digest, server), .readWrite)
        let byte: [UInt8] = [bytes[2_000_000] ^ 1]
        try file.write(byte.span, at: ByteCount(2_000_000))
        try FileDescriptor.open(path(of: cut.digest, server), .readWrite).truncate(to: ByteCount(1_048_576))
        try FileSystem.rename(path(of: lost.digest, server), to: server.directory.path("aside"))
      }
      let report = try await scrub(server)
      #expect(report.packages == 4)
      #expect(
        Dictionary(uniqueKeysWithValues: report.faults.map { ($0.digest, $0.fault) })
          == [flipped.digest: .damaged, cut.digest: .damaged, lost.digest: .missing])
      #expect(!report.faults.contains { $0.digest == kept.digest })
      #expect(try await metric("pullbox_packages_damaged", server) == 3)
      #expect(try await metric("pullbox_packages_waiting_for_check", server) == 0)
      #expect(try await metric("pullbox_package_last_check_timestamp_seconds", server) != nil)
      #expect(
        try await server.client.send(ClientRequest(method: "GET", url: server.api.url("/readyz"))).status
          == 200)

      try FileSystem.rename(server.directory.path("aside"), to: path(of: lost.digest, server))
      // The same bytes uploaded again take the place of damaged ones.
      let again = try await server.submit(bytes + [1], as: "com.example.b", version: "1.0")
      #expect(again.digest == flipped.digest)
      #expect(try await scrub(server).faults.map(\.digest) == [cut.digest])
      #expect(try await metric("pullbox_packages_damaged", server) == 1)
    }
  }

  private func flip(_ digest: SHA256Digest, _ server: ServerHarness) throws {
    let file = try FileDescriptor.open(path(of: digest, server), .readWrite)
    let byte: [UInt8] = [bytes[2_000_000] ^ 1]
    try file.write(byte.span, at: ByteCount(2_000_000))
  }

  private func code(_ body: () async throws -> Void) async throws -> ProblemCode? {
    do {
      try await body()
      return nil
    } catch APICallError.problem(let problem) {
      #expect((60...90).contains(problem.retryAfterSeconds ?? 0))
      return problem.code
    }
  }

  @Test("nothing of a damaged package is sent, granted or renewed, also by the next server (M12, K20)")
  func notSent() async throws {
    let directory = try TemporaryDirectory()
    try await ServerHarness.run(in: directory) { server in
      let damaged = try await server.publish(bytes)
      let other = try await server.publish(bytes + [1], as: "com.example.other")
      let grant = try await server.grantForPurchase()
      #expect(try await server.fetch(grant).status == 200)
      try flip(damaged.digest, server)
      #expect(try await scrub(server).faults.map(\.digest) == [damaged.digest])

      // The ticket is one that the loops have verified before.
      #expect(try await server.fetch(grant).status == 503)
      #expect(try await code { _ = try await server.grantForPurchase() } == .contentDamaged)
      #expect(
        try await code {
          _ = try await server.renew(grant)
        } == .contentDamaged)
      let receipt = try server.store.receipt(
        of: [server.purchase(of: "com.example.other", id: "2")], device: server.device.id)
      let whole = try await server.grant("com.example.other", receipt: receipt).value
      #expect(whole.download.digest == other.digest)
      #expect(try await server.fetch(whole).status == 200)
    }
    try await ServerHarness.run(in: directory) { server in
      let answer = try await code { _ = try await server.grantForPurchase() }
      #expect(answer == .contentDamaged)
    }
  }

  @Test("bodies of a package that is found damaged end, others go on (M12)")
  func runningBodies() async throws {
    let large = [UInt8](repeating: 7, count: 32 << 20)
    // The questions after its end count for the address's rate.
    try await ServerHarness.run(options: ["--scrub-rate", "1GiB"]) { server in
      let record = try await server.publish(large)
      let reader = try await server.slowReader(of: try await server.grantForPurchase())
      try flip(record.digest, server)
      #expect(try await scrub(server).faults.count == 1)
      var rest = 0
      await #expect(throws: (any Error).self) {
        while true {
          let bytes = try await reader.receive()
          guard !bytes.isEmpty else { throw EndOfBody() }
          rest += bytes.count
        }
      }
      #expect(rest < large.count - 1000)
    }
  }

  private struct EndOfBody: Error {}

  @Test("the same bytes uploaded again are delivered at once, whether their loss was noticed or not (M12)")
  func uploadedAgain() async throws {
    try await ServerHarness.run { server in
      let record = try await server.publish(bytes)
      let grant = try await server.grantForPurchase()
      for isNoticed in [true, false] {
        try flip(record.digest, server)
        if isNoticed { #expect(try await scrub(server).faults.count == 1) }
        let again = try await server.submit(bytes, as: "com.example.issue1", version: "1.0")
        #expect(again.digest == record.digest)
        #expect(try await server.fetch(grant).body == bytes)
        #expect(try await report(server).faults.isEmpty)
      }
    }
  }

  @Test(
    "a file that another process puts in the place of a damaged one is noticed and delivered (M12)",
    .enabled(if: !TestDatabase.isOnServer))
  func repairedBeside() async throws {
    try await ServerHarness.run { server in
      let record = try await server.publish(bytes)
      let grant = try await server.grantForPurchase()
      let backups = BackupDirectory(server.directory.path("backups"))
      _ = try Backup(state: server.configuration.state, directory: backups).run()
      let scrubber = server.server.scrubber
      for isLost in [false, true] {
        if isLost {
          try FileSystem.removeFile(path(of: record.digest, server))
        } else {
          try flip(record.digest, server)
        }
        #expect(try await scrub(server).faults.map(\.fault) == [isLost ? .missing : .damaged])
        let checks = await scrubber.checks
        try await scrubber.lookAtFaulty()
        // It is still the same file: it is not read again.
        #expect(await scrubber.checks == checks)
        #expect(
          try PackageRepair(state: server.configuration.state, directory: backups).repair(record.digest))
        try await scrubber.lookAtFaulty()
        #expect(try await report(server).faults.isEmpty)
        #expect(try await server.fetch(grant).body == bytes)
      }
    }
  }

  @Test("a package that a request finds missing is written down at once")
  func missingAtRequest() async throws {
    try await ServerHarness.run { server in
      let record = try await server.publish(bytes)
      let grant = try await server.grantForPurchase()
      try FileSystem.rename(path(of: record.digest, server), to: server.directory.path("aside"))
      for _ in 0..<2 {
        let answer = try await server.fetch(grant)
        #expect(answer.status == 503)
        let seconds = try #require(answer.headers["Retry-After"].flatMap { Int($0) })
        #expect((60...90).contains(seconds))
        #expect(String(decoding: answer.body, as: UTF8.self).contains("content-damaged"))
      }
      #expect(try await report(server).faults.map(\.fault) == [.missing])
      #expect(try await metric("pullbox_packages_damaged", server) == 1)
    }
  }

  @Test("a package is read again after the interval and not before; what came with a version was just read")
  func interval() async throws {
    try await ServerHarness.run(options: ["--scrub-interval", "10d"]) { server in
      try await server.publish(bytes)
      for (days, checks) in [(9, Int64(0)), (1, 1), (9, 1), (1, 2)] {
        server.clock.advance(by: .seconds(days * 86_400))
        try await server.server.scrubber.runRound()
        #expect(await server.server.scrubber.checks == checks)
      }
    }
  }

  @Test("with an interval of zero nothing is read before an operator asks")
  func never() async throws {
    try await ServerHarness.run(options: ["--scrub-interval", "0"]) { server in
      try await server.publish(bytes)
      server.clock.advance(by: .seconds(1000 * 86_400))
      try await server.server.scrubber.runRound()
      #expect(await server.server.scrubber.checks == 0)
      #expect(try await report(server).waiting == 0)
      #expect(try await scrub(server).faults.isEmpty)
      #expect(await server.server.scrubber.checks == 1)
    }
  }
}
