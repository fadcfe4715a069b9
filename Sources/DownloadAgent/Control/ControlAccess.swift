import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceRuntime

/// The users that may change what the agent does: root, the agent's own user, the configured users and the members of the
/// configured group. Everyone who may open the socket may watch. Pure.
struct ControlAccess: Hashable, Sendable {
  /// The effective user of this process.
  let agentUser: UInt32
  /// The configured users, by their numbers.
  var users: Set<UInt32> = []
  /// Nil for no group.
  var group: UInt32?

  /// An access for root and the agent's own user alone.
  init(agentUser: UInt32) {
    self.agentUser = agentUser
  }

  /// Whether a process with these credentials may change something; never without any.
  func allowsChanges(by credentials: PeerCredentials?) -> Bool {
    guard let credentials else { return false }
    return credentials.user == 0 || credentials.user == agentUser || users.contains(credentials.user)
      || group.map(credentials.isMember(of:)) ?? false
  }
}

extension APIRoutes {
  /// Holds every route that does not only read to `authority`, and logs a line for each change that was asked for, also for one
  /// that was refused: the audit of what users did. Call it once every route is added: it is a wrap. HEAD
  /// counts as reading.
  mutating func guardChanges(by authority: ChangeAuthority, log: Log) {
    wrap { method, pattern in
      guard method != .get, method != .head else { return nil }
      return { request, _, respond in
        func record(_ outcome: LogValue) {
          log.info(
            "a change was asked for",
            [
              "request": "\(request.method) \(request.path)", "outcome": outcome,
              "uid": LogValue(request.credentials.map { "\($0.user)" } ?? "-"),
              "pid": LogValue(request.credentials.map { "\($0.process)" } ?? "-"),
            ])
        }
        let subject = ChangeSubject(credentials: request.credentials)
        guard await authority.allows(ChangeAction(method, pattern), subject) else {
          record("not-permitted")
          throw Problem(
            .notPermitted, "controlGroup and controlUsers of the agent's configuration say who may")
        }
        do {
          let response = try await respond(request)
          record("\(response.status.rawValue)")
          return response
        } catch {
          record(LogValue((error as? Problem)?.type ?? "\(error)"))
          throw error
        }
      }
    }
  }
}
