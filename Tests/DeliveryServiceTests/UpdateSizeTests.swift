import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import DeliveryService

@Suite("The size of an update")
struct UpdateSizeTests {
  private static let first = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
  private let first = Self.first
  private static let second = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  private let second = Self.second

  private func updateSize(
    _ server: ServerHarness, _ version: String, percentage: Int? = nil
  ) async throws -> UpdateSizes {
    let query = percentage.map { [("percentage", String($0))] } ?? []
    return try await server.operatorAPI.get(
      server.path("com.example.issue1", version) + "/costs", query: query, as: UpdateSizes.self)
  }

  @Test("devices count by the version they last reported as placed, and only those")
  func holders() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      try await server.deliver(try await server.grant(to: ServerHarness.early), to: ServerHarness.early)
      try await server.deliver(try await server.grant(to: ServerHarness.late), to: ServerHarness.late)
      // Granted, and not placed.
      _ = try await server.grant(to: server.device)
      try await server.approve(second, "1.1")
      let size = try await updateSize(server, "1.1")
      #expect(size.length == ByteCount(60_000))
      #expect(size.holders.map(\.version.description) == ["1.0"])
      #expect(size.holders.first?.devices == 2)
      #expect(size.holders.first?.bytesToFetch == ByteCount(60_000))
      #expect(size.holders.first?.bytesKept == .zero)
      #expect(size.bytesToFetch == ByteCount(120_000))
    }
  }

  @Test("a staged rollout counts only the devices that it reaches")
  func part() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      for device in [ServerHarness.early, ServerHarness.late] {
        try await server.deliver(try await server.grant(to: device), to: device)
      }
      try await server.approve(second, "1.1")
      let size = try await updateSize(server, "1.1", percentage: 10)
      #expect(size.percentage == 10)
      #expect(size.holders.first?.devices == 2)
      #expect(size.holders.first?.devicesReached == 1)
      #expect(size.bytesToFetch == ByteCount(60_000))
    }
  }

  @Test("a device that went back to the older version holds that one")
  func rolledBack() async throws {
    try await ServerHarness.run { server in
      let device = ServerHarness.late
      try await server.publish(first)
      try await server.deliver(try await server.grant(to: device), to: device)
      server.clock.advance(by: .seconds(60))
      try await server.approve(second, "1.1")
      try await server.release("1.1")
      try await server.deliver(try await server.grant(to: device), to: device)
      #expect(try await updateSize(server, "1.0").holders.map(\.version.description) == ["1.1"])
      server.clock.advance(by: .seconds(60))
      try await server.release("1.0")
      try await server.deliver(try await server.grant(to: device), to: device)
      #expect(try await updateSize(server, "1.1").holders.map(\.version.description) == ["1.0"])
    }
  }

  @Test("a device whose grant was revoked holds nothing, until the grant is given back")
  func revoked() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      let grant = try await server.grant(to: ServerHarness.early)
      try await server.deliver(grant, to: ServerHarness.early)
      try await server.deliver(try await server.grant(to: ServerHarness.late), to: ServerHarness.late)
      try await server.approve(second, "1.1")
      let path = "/v1/operator/grants/\(try server.shortName(of: grant))"
      _ = try await server.operatorAPI.call(
        "POST", path + "/revoke", body: EmptyBody?.none, as: OperatorGrant.self)
      #expect(try await updateSize(server, "1.1").holders.map(\.devices) == [1])
      #expect(try await updateSize(server, "1.1").bytesToFetch == ByteCount(60_000))
      _ = try await server.operatorAPI.call(
        "POST", path + "/reinstate", body: EmptyBody?.none, as: OperatorGrant.self)
      #expect(try await updateSize(server, "1.1").holders.map(\.devices) == [2])
    }
  }

  @Test("a device that holds the version by another grant as well counts when one of them is revoked")
  func revokedOnce() async throws {
    try await ServerHarness.run { server in
      let device = ServerHarness.late
      try await server.publish(first)
      let grant = try await server.grant(to: device)
      try await server.deliver(grant, to: device)
      try await server.approve(second, "1.1")
      try await server.release("1.1")
      server.clock.advance(by: .seconds(60))
      let newer = try await server.grant(to: device)
      try await server.deliver(newer, to: device)
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/grants/\(server.shortName(of: newer))/revoke", body: EmptyBody?.none,
        as: OperatorGrant.self)
      #expect(try await updateSize(server, "1.1").holders.map(\.version.description) == ["1.0"])
    }
  }

  @Test("devices that hold the version already fetch nothing")
  func held() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      try await server.deliver(try await server.grant(to: ServerHarness.late), to: ServerHarness.late)
      let size = try await updateSize(server, "1.0")
      #expect(size.holders.map(\.bytesToFetch) == [.zero])
      #expect(size.holders.map(\.filesUnchanged) == [1])
      #expect(size.bytesToFetch == .zero)
    }
  }

  @Test("an unknown version has no update size")
  func unknown() async throws {
    try await ServerHarness.run { server in
      try await server.publish(first)
      let version = try await server.problem { _ = try await updateSize(server, "7.0") }
      #expect(version.code == .versionUnknown)
    }
  }
}
