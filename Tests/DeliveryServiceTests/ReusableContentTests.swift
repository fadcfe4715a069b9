import Commerce
import CoreTypes
import Database
import DeliveryModel
import HTTPClient
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("Content that a device has of an earlier version")
struct ReusableContentTests {
  private static let first = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 13 ^ $0 >> 9) }
  private let first = Self.first

  private var second: [UInt8] {
    var bytes = first
    bytes[1 << 20] ^= 1
    return bytes
  }

  private func fetch(_ pieces: Range<Int>, of grant: GrantResponse, _ server: ServerHarness) async throws {
    for piece in pieces {
      let range = "bytes=\(piece << 20)-\(((piece + 1) << 20) - 1)"
      #expect(try await server.fetch(grant, headers: [("Range", range)]).status == 206)
    }
  }

  @Test("counts as delivered with the version that the device completed, and the grant names that version")
  func kept() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first, version: "1.0")
      let old = try await server.grantForPurchase()
      #expect(old.download.previous == nil)
      try await fetch(0..<3, of: old, server)
      _ = try await server.complete(old)
      try await server.publish(second, version: "1.1")
      let new = try await server.grantForPurchase()
      #expect(
        new.download.previous == PreviousContent(version: old.download.version, digest: old.download.digest))
      let problem = try await server.problem { _ = try await server.complete(new) }
      #expect(problem.missingStep == "delivery")
      try await fetch(1..<2, of: new, server)
      _ = try await server.complete(new)
    }
  }

  /// The grant of the second version to a device that has completed the first.
  private func update(_ server: ServerHarness) async throws -> GrantResponse {
    try await server.publish(first, version: "1.0")
    let old = try await server.grantForPurchase()
    try await fetch(0..<3, of: old, server)
    _ = try await server.complete(old)
    try await server.publish(second, version: "1.1")
    return try await server.grantForPurchase()
  }

  @Test("two manifests are compared once, outside the write, and for no report that is wrong")
  func compared() async throws {
    try await ServerHarness.run { server in
      let grants = server.server.grants.grantStore
      let new = try await update(server)
      func manifests(_ body: () async throws -> Void) async throws -> Int {
        _ = try await grants.database.read { $0.takeSteps() }
        try await body()
        return try await grants.database.read { $0.takeSteps() }.count { $0.sql.contains("FROM manifests") }
      }
      var wrongReport = server.report(new)
      wrongReport.digest = try #require(new.download.previous?.digest)
      let wrong = try await manifests {
        let problem = try await server.problem {
          _ = try await server.complete(new, wrongReport)
        }
        #expect(problem.missingStep == "digest")
      }
      #expect(wrong == 0)
      #expect(grants.keptLengths.comparisonCount == 0)
      for _ in 0..<3 {
        let problem = try await server.problem { _ = try await server.complete(new) }
        #expect(problem.missingStep == "delivery")
      }
      #expect(grants.keptLengths.comparisonCount == 1)
      try await fetch(1..<2, of: new, server)
      let right = try await manifests { _ = try await server.complete(new) }
      #expect(right == 0)
    }
  }

  @Test("within the write it is told that the manifests are to be compared, and nothing else is written down")
  func notInTheWrite() async throws {
    try await ServerHarness.run { server in
      let grants = server.server.grants.grantStore
      let new = try await update(server)
      try await fetch(1..<2, of: new, server)
      try await server.server.recorder.record()
      let report = ReceivedCompletion.plain(server.report(new))
      let credential = GrantCredential(
        evidence: .renewalSecret(try #require(new.renewalSecret)), method: "POST", path: "")
      let basis = try await grants.completionBasis(of: new.grant)
      let first = try await grants.complete(basis, with: report, for: credential)
      #expect(first == nil)
      #expect(try await grants.find(new.grant).machine.name == .granted)
      let whole = try await grants.completionBasis(of: new.grant, withKeptContent: true)
      // The client may have the last byte before it is counted.
      var state: GrantState?
      for _ in 0..<1000 where state == nil {
        try await server.server.recorder.record()
        state = try? await grants.complete(whole, with: report, for: credential)?.grant.machine.name
      }
      #expect(state == .finished)
    }
  }

  @Test("a device that has not completed the earlier version is held to every byte")
  func notKept() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first, version: "1.0")
      let old = try await server.grantForPurchase()
      try await fetch(0..<3, of: old, server)
      try await server.publish(second, version: "1.1")
      let new = try await server.grantForPurchase()
      #expect(new.download.previous == nil)
      try await fetch(1..<2, of: new, server)
      let problem = try await server.problem { _ = try await server.complete(new) }
      #expect(problem.missingStep == "delivery")
    }
  }
}
