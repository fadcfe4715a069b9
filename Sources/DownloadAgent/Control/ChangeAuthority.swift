import Files
import HTTPServer
import PullboxAPIServer
import SystemCalls

/// A kind of change that the agent is asked for, each with an action of its own at polkit.
enum ChangeAction: String, CaseIterable, Sendable {
  /// Downloads are paused and go on, content is opened, and presentations are not disturbed.
  case pause
  /// Pins, and how far something was read, change.
  case keep
  /// A download goes before others, and past windows and budget.
  case hasten
  /// Something is paid for.
  case buy
  /// Content that was bought is fetched again.
  case restore
  /// Content, downloads or records go.
  case remove
  /// Keys of readers' applications are made, listed and ended.
  case readers

  /// The action's name at polkit.
  var identifier: String { "com.pullbox.Agent1.\(rawValue)" }

  /// The kind of change of a route of the socket that changes something. A route without a line here is of the strictest kind.
  init(_ method: HTTPMethod, _ pattern: String) {
    switch (method, pattern) {
    case (.post, "/v1/downloads/{id}/pause"), (.post, "/v1/downloads/{id}/resume"),
      (.post, "/v1/library/{product}/opened"), (.post, "/v1/library/{product}/leases"):
      self = .pause
    case (.post, "/v1/library/{product}/pin"), (.post, "/v1/library/{product}/unpin"),
      (.put, "/v1/library/{product}/progress"), (.post, "/v1/library/{product}/verify"):
      self = .keep
    case (.patch, "/v1/downloads/{id}"): self = .hasten
    case (.post, "/v1/restore"), (.post, "/v1/library/{product}/repair"),
      (.put, "/v1/library/{product}/sections/{tag}"):
      self = .restore
    case (.post, "/v1/readers"), (.post, "/v1/readers/list"), (.post, "/v1/readers/local"),
      (.delete, "/v1/readers/{name}"):
      self = .readers
    case (.delete, _), (.post, "/v1/downloads/{id}/cancel"), (.post, "/v1/library/{product}/rollback"):
      self = .remove
    default: self = .buy
    }
  }
}

/// The one who asks for a change.
struct ChangeSubject: Hashable, Sendable {
  /// The process, its user and its groups.
  var credentials: PeerCredentials?
  /// Its unique name on the bus of the system; nil for one that came another way.
  var busName: String?
  /// Whether it came over the bus of the agent's user.
  var isOnUserBus = false
  /// When its process began, in ticks since the boot; nil where that is not known yet.
  var began: UInt64?
}

/// A judge of those whom the configuration does not name: polkit.
protocol ChangeJudge: Sendable {
  /// Whether the subject may do that. `mayAsk`: a person may be asked for a password, which takes as long as the person does. False where
  /// the judge cannot be asked.
  func allows(_ action: ChangeAction, _ subject: ChangeSubject, mayAsk: Bool) async -> Bool
}

/// A witness of where those who ask run.
protocol SandboxWitness: Sendable {
  /// Looks at the process of one who asks, which had begun by `time`, in ticks since the boot: one that began later is another. Unknown where
  /// it has ended, and where neither the kernel nor another program tells.
  func look(at process: Int32, since time: UInt64, isOnUserBus: Bool) async -> SandboxFinding
}

/// The sight that a witness had of a process.
struct SandboxFinding: Hashable, Sendable {
  /// Where it runs.
  var sandbox: ProcessSandbox
  /// When it began, in ticks since the boot; nil where that is not known.
  var began: UInt64?
  /// Whether there is a program that tells where others run: where there is none, all of a user's are as the user.
  var isTold = true

  /// Nothing is known of a process that one might tell of.
  static let unknown = SandboxFinding(sandbox: .unknown)
  /// Nothing is known, and no one tells.
  static let untold = SandboxFinding(sandbox: .unknown, isTold: false)
}

/// The rule of who may change what the agent does, by whichever way they ask: those whom ``ControlAccess`` names, without a further question; of all
/// others the judge decides, where there is one. A program of the agent's user in a sandbox of Flatpak's is not its user: it may pause and open,
/// and the judge decides of all else.
struct ChangeAuthority: Sendable {
  /// Those whom the configuration names.
  let access: ControlAccess
  /// Nil where nothing else counts.
  var judge: (any ChangeJudge)?
  /// Nil where every program counts as its user.
  var witness: (any SandboxWitness)?
  /// The judge of programs in a sandbox, of users whom the configuration names; nil where ``judge`` is theirs too.
  var judgeOfSandboxes: (any ChangeJudge)?

  /// Whether the subject may do that.
  func allows(_ action: ChangeAction, _ subject: ChangeSubject, mayAsk: Bool = false) async -> Bool {
    var subject = subject
    if access.allowsChanges(by: subject.credentials) {
      guard action != .pause, let witness, let credentials = subject.credentials,
        credentials.user == access.agentUser
      else { return true }
      let found = await witness.look(
        at: credentials.process, since: credentials.accepted ?? ProcessEntry.now(),
        isOnUserBus: subject.isOnUserBus)
      switch found.sandbox {
      case .none: return true
      case .unknown where !found.isTold: return true
      case .unknown, .application: subject.began = found.began
      }
      return await (judgeOfSandboxes ?? judge)?.allows(action, subject, mayAsk: mayAsk) ?? false
    }
    return await judge?.allows(action, subject, mayAsk: mayAsk) ?? false
  }
}
