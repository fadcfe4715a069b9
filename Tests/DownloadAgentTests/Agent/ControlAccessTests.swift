import HTTPServer
import Testing

@testable import DownloadAgent

@Suite("Who may change what the agent does")
struct ControlAccessTests {
  private func allows(_ user: UInt32, _ group: UInt32 = 1, _ groups: [UInt32] = []) -> Bool {
    var access = ControlAccess(agentUser: 700)
    access.users = [800]
    access.group = 900
    return access.allowsChanges(
      by: PeerCredentials(process: 1, user: user, group: group, supplementaryGroups: groups))
  }

  @Test("root, the agent's own user, a named user, and a member of the group by either kind of group (R15)")
  func allowed() {
    #expect(allows(0) && allows(700) && allows(800))
    #expect(allows(65_534, 900) && allows(65_534, 1, [5, 900]))
  }

  @Test("no other user, and no request without credentials")
  func refused() {
    #expect(!allows(65_534) && !allows(900) && !allows(701, 700, [800]))
    #expect(!ControlAccess(agentUser: 700).allowsChanges(by: nil))
    #expect(
      !ControlAccess(agentUser: 700).allowsChanges(by: PeerCredentials(process: 1, user: 1, group: 0)))
  }
}
