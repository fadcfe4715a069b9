import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import SystemCalls
import Testing

@testable import DeliveryService

@Suite("Stored packages that are lost or damaged")
struct PackageScrubberTests {
  private let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

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

  @Test("a package that a request finds missing is written down at once")
  func missingAtRequest() async throws {
    try await ServerHarness.run { server in
      let record = try await server.publish(bytes)
      let grant = try await server.grantForPurchase()
      try FileSystem.rename(path(of: record.digest, server), to: server.directory.path("aside"))
      for _ in 0..<2 { #expect(try await server.fetch(grant).status == 404) }
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
