import HTTPServer
import PullboxAPIServer

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
  /// Its unique name on the bus of the system; nil for one that came to the socket.
  var busName: String?
}

/// A judge of those whom the configuration does not name: polkit.
protocol ChangeJudge: Sendable {
  /// Whether the subject may do that. `mayAsk`: a person may be asked for a password, which takes as long as the person does. False where
  /// the judge cannot be asked.
  func allows(_ action: ChangeAction, _ subject: ChangeSubject, mayAsk: Bool) async -> Bool
}

/// The rule of who may change what the agent does, by whichever way they ask: those whom ``ControlAccess`` names, without a further question; of all
/// others the judge decides, where there is one.
struct ChangeAuthority: Sendable {
  /// Those whom the configuration names.
  let access: ControlAccess
  /// Nil where nothing else counts.
  let judge: (any ChangeJudge)?

  /// Whether the subject may do that.
  func allows(_ action: ChangeAction, _ subject: ChangeSubject, mayAsk: Bool = false) async -> Bool {
    if access.allowsChanges(by: subject.credentials) { return true }
    return await judge?.allows(action, subject, mayAsk: mayAsk) ?? false
  }
}
