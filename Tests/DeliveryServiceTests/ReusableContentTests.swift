import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import Testing

@testable import DeliveryService

@Suite("Content that a device has of an earlier version")
struct ReusableContentTests {
  private let first = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 13 ^ $0 >> 9) }

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
