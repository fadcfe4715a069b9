internal import CLinux
internal import Glibc
internal import SystemCalls

/// The process at the other end of a Unix socket, as the kernel noted it when the connection was made (unix(7),
/// `SO_PEERCRED` and `SO_PEERGROUPS`). A process that passes its connection on passes these on as well.
public struct PeerCredentials: Hashable, Sendable {
  /// The process's number; it may have ended since.
  public var process: Int32
  /// The effective user.
  public var user: UInt32
  /// The effective group.
  public var group: UInt32
  /// The supplementary groups; empty where the kernel does not tell.
  public var supplementaryGroups: [UInt32]
  /// When the connection was taken, in ticks since the boot: a process that began later has got the number of the one that made it, and is
  /// another. 0 where the kernel says that the one that made it has ended, as it may have while its connection waited for a server: every
  /// process that has its number is another then. Nil for credentials that no socket gave.
  public var accepted: UInt64?

  /// Credentials that no socket gave.
  public init(process: Int32, user: UInt32, group: UInt32, supplementaryGroups: [UInt32] = []) {
    self.process = process
    self.user = user
    self.group = group
    self.supplementaryGroups = supplementaryGroups
  }

  /// Whether the process was in the group, by its effective or a supplementary one.
  public func isMember(of group: UInt32) -> Bool {
    self.group == group || supplementaryGroups.contains(group)
  }

  /// Nil for a socket without such a peer. `accepted` is when its connection was taken.
  init?(of socket: Int32, accepted: UInt64) {
    var (process, user, group): (pid_t, uid_t, gid_t) = (0, 0, 0)
    guard unsafe clinux_peer_credentials(socket, &process, &user, &group) == 0 else { return nil }
    var groups = [gid_t](repeating: 0, count: 32)
    var count = unsafe clinux_peer_groups(socket, &groups, Int32(groups.count))
    if count > groups.count {
      groups = [gid_t](repeating: 0, count: Int(count))
      count = unsafe clinux_peer_groups(socket, &groups, count)
    }
    self.init(
      process: process, user: user, group: group,
      supplementaryGroups: Array(groups.prefix(Int(max(0, count)))))
    self.accepted = clinux_peer_has_ended(socket) == 1 ? 0 : accepted
  }
}
