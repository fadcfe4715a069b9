import Commerce
import CoreTypes
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// docs/delivery.md, "Revocation": of many grants each is revoked by a write of its own.
@Suite("Revocations of many grants by a server that is killed", .serialized, .timeLimit(.minutes(10)))
struct RevocationKillTests {
  private static let device = "device-that-was-lost"
  private static let count = 6

  @Test(
    "killed at any of its commits it has revoked the newest and no others, and asked again it revokes the rest"
  )
  func killed() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let killPoint = try await KillPoint(in: stack.directory)
      let file = try await Material.file("issue.cbz", length: 3000, seed: 7, in: stack.directory)
      var grants: [GrantResponse] = []
      for number in 0..<Self.count {
        let product = "com.example.lost\(number)"
        try await stack.publish(file, as: product)
        grants.append(try await stack.grant(of: product, device: Self.device))
      }
      var revoked = 0
      for step in [1, 2, 3] where revoked < Self.count {
        await stack.kill(.server)
        try await stack.start(.server, environment: killPoint.environment(step: step, .syncs))
        try killPoint.arm()
        let answer = try? await stack.operatorWeb.post(
          "/v1/operator/revocations", RevocationRequest(device: Self.device, reason: "lost"))
        #expect(answer?.status != 200)
        #expect(try await stack.ending(of: .server) == .killed(signal: 9))
        _ = try killPoint.disarm()
        try await stack.restart(.server)
        let found = try await Self.revoked(of: grants, in: stack)
        // What was committed stays, also where no sync has said so yet: it may be all.
        #expect(found >= revoked)
        revoked = found
      }
      let rest = try await stack.operatorWeb.post(
        "/v1/operator/revocations", RevocationRequest(device: Self.device, reason: "lost")
      ).decoded(RevocationReport.self)
      #expect(rest.revoked == Int64(Self.count - revoked) && !rest.hasMore)
      #expect(try await Self.revoked(of: grants, in: stack) == Self.count)
    }
  }

  /// How many are revoked: the newest, each in the audit log once, and those alone open nothing.
  private static func revoked(of grants: [GrantResponse], in stack: Stack) async throws -> Int {
    let listed = try await stack.operatorWeb.get("/v1/operator/grants?device=\(device)&limit=200")
      .decoded(Page<OperatorGrant>.self).items
    let states = listed.map(\.state)
    let count = states.prefix { $0 == .revoked }.count
    #expect(states.dropFirst(count).allSatisfy { $0 == .granted } && states.count == Self.count)
    let entries = try await stack.operatorWeb.get("/v1/operator/audit?action=grant.revoke&limit=200")
      .decoded(Page<AuditEntry>.self).items
    #expect(Set(entries.map(\.subject)) == Set(listed.prefix(count).map(\.grant.description)))
    #expect(entries.count == count && entries.allSatisfy { $0.detail == "lost" })
    for (number, grant) in grants.enumerated() {
      let renewed = try await stack.device(holding: grant).post("/v1/grants/\(grant.grant)/tickets")
      let isRevoked = number >= grants.count - count
      #expect(renewed.problem?.code == (isRevoked ? .entitlementRevoked : nil))
    }
    return count
  }
}
