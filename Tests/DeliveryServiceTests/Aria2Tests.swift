import CoreTypes
import Crypto
import Files
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import ContentGrants
@testable import DeliveryService

/// With the real aria2c.
@Suite("Other download tools", .timeLimit(.minutes(10)))
struct Aria2Tests {
  private static let package = (0..<6_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 5) }
  let package = Self.package

  private func aria2(_ server: ServerHarness, _ grant: GrantResponse, _ options: [String]) throws
    -> ChildProcess
  {
    let url = server.api.url(
      grant.download.contentURL + ".meta4", query: [("ticket", grant.download.ticket)])
    return try ChildProcess(
      "/usr/bin/aria2c",
      [
        "--no-conf", "--dir", server.directory.path + "/aria2", "--check-integrity=true",
        "--follow-metalink=mem", "--auto-file-renaming=false", "--allow-overwrite=true",
        "--disable-ipv6", "--file-allocation=none", "--max-tries=1", "--console-log-level=warn",
        "--summary-interval=0",
      ] + options + [url],
      environment: ["HOME": server.directory.path, "PATH": "/usr/bin:/bin"],
      output: server.directory.path + "/aria2.log")
  }

  private func received(_ server: ServerHarness) throws -> [UInt8] {
    try FileSystem.read(server.directory.path + "/aria2/issue.cbz", upTo: .mebibytes(16))
  }

  @Test("aria2c downloads and verifies a gated package from its Metalink")
  func download() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let ending = try await aria2(server, grant, []).ending()
      #expect(ending == .exited(0))
      #expect(try received(server) == package)
    }
  }

  @Test("after a revocation and a reinstatement, aria2c resumes where it was and verifies the whole")
  func resume() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      let first = try aria2(server, grant, ["--max-overall-download-limit=2M", "--split=1"])
      // Not over HTTP, where so many questions in a row are refused.
      let name = try #require(GrantShortName(try server.shortName(of: grant)))
      while try await server.server.grants.status(of: name).bytesDelivered < ByteCount(3_000_000) {}
      server.server.revocations.revoke(grant: try server.handle(of: grant))
      #expect(await first.ending() != .exited(0))
      let before = try await server.status(grant).bytesDelivered
      server.server.revocations.reinstate(grant: try server.handle(of: grant))
      let ending = try await aria2(server, grant, ["--continue=true", "--split=1"]).ending()
      #expect(ending == .exited(0))
      #expect(try received(server) == package)
      let second = try await server.status(grant).bytesDelivered - before
      #expect(second < ByteCount(package.count))
    }
  }
}
