import Commerce
import Entitlements
import PullboxAPI
import ServiceAPI
import Testing

/// The policy of a publication, docs/entitlements.md.
@Suite("Policies that operators write")
struct SubscriptionPolicyTests {
  /// Each member other than it is unless said.
  private static let other = SubscriptionPolicy(
    keepsIssuesAfterLapse: false, latestIssueAtStart: false, backIssues: 1000, toleranceSeconds: 0,
    servesInGrace: false, servesInBillingRetry: true, keepsIssuesOfUnrecoveredGrace: true,
    keepsRevokedIssues: true)

  private func members(_ policy: SubscriptionPolicy) throws -> [String: String] {
    let text = String(decoding: try APIJSON.encode(policy), as: UTF8.self)
    return try JSONText.members(text).mapValues { try JSONText.text($0) }
  }

  @Test("what is left out has the default of the page, and the members are those of the page")
  func defaults() throws {
    let rows = try DocumentedTable("entitlements.md", header: "| member | default |").rows
    let documented = rows.map { row in (name: row[0].filter { $0 != "`" }, text: row[1].filter { $0 != "`" })
    }
    #expect(documented.map(\.name).sorted() == SubscriptionPolicy.Member.allCases.map(\.rawValue).sorted())
    // Written out, they are the policy of which nothing was said.
    let body = documented.map { "\"\($0.name)\":\($0.text)" }.joined(separator: ",")
    let written = try APIJSON.decode(SubscriptionPolicy.self, from: Array("{\(body)}".utf8))
    #expect(try members(written).count == 8)
    #expect(written.policy == SubscriptionPolicy().policy)
    #expect(SubscriptionPolicy().policy == PublicationPolicy.standard)
  }

  @Test("a member changes what it names, and no other", arguments: SubscriptionPolicy.Member.allCases)
  func apart(member: SubscriptionPolicy.Member) throws {
    var policy = SubscriptionPolicy()
    policy.take(member, from: Self.other)
    #expect(try members(policy) == members(Self.other).filter { $0.key == member.rawValue })
    var expected = PublicationPolicy.standard
    switch member {
    case .keepsIssuesAfterLapse: expected.keepsIssuesAfterLapse = false
    case .latestIssueAtStart: expected.unlocksLatestIssue = false
    case .backIssues: expected.backIssues = 1000
    case .toleranceSeconds: expected.tolerance = .zero
    case .servesInGrace: expected.servesInGrace = false
    case .servesInBillingRetry: expected.servesInBillingRetry = true
    case .keepsIssuesOfUnrecoveredGrace: expected.keepsIssuesOfUnrecoveredGrace = true
    case .keepsRevokedIssues: expected.keepsRevokedIssues = true
    }
    #expect(policy.policy == expected)
    #expect(expected != .standard)
  }

  @Test("members that are taken one by one are the whole, and one that is absent there is taken away")
  func all() throws {
    var policy = SubscriptionPolicy()
    for member in SubscriptionPolicy.Member.allCases { policy.take(member, from: Self.other) }
    #expect(policy == Self.other)
    for (count, member) in SubscriptionPolicy.Member.allCases.enumerated() {
      policy.take(member, from: SubscriptionPolicy())
      #expect(try members(policy).count == 7 - count)
    }
  }
}
