import CoreTypes
import PullboxAPI

/// The findings that follow from the observations of this device. Pure.
public enum DeviceDiagnosis {
  /// Free space beyond the reserve, and room within the quota, of less than this is called short: a package may hold 2 GiB.
  static let littleSpace = ByteCount.mebibytes(512)

  /// The findings in the order in which they are read.
  public static func findings(_ seen: DeviceObservations) -> [Finding] {
    switch seen.answer {
    case .noSocket:
      return [Finding("agent", .failure, "no agent listens at \(seen.socketPath)", cause: .agentAway)]
    case .denied(let permissions, let group):
      return [
        Finding(
          "agent", .failure,
          "\(seen.socketPath) is not for this user: mode \(String(permissions, radix: 8)), group \(group)",
          cause: .socketDenied)
      ]
    case .silent(let why):
      return [
        Finding(
          "agent", .failure, "the agent does not answer at \(seen.socketPath): \(why)", cause: .agentAway)
      ]
    case .status(let status):
      return [
        Finding("agent", .ok, "runs since \(status.started) as \(status.device)"),
        peer(
          status.server, check: "agent-server", name: "the delivery server", cause: .serverUnreachableForAgent
        ),
        peer(status.store, check: "agent-store", name: "the payment store", cause: .storeUnreachableForAgent),
        library(status, mayRead: seen.mayReadLibrary), space(status), quota(status), limits(status),
        seen.conditions.map(conditions), downloads(status),
      ].compactMap { $0 }
    }
  }

  /// A service that was not asked yet is well.
  private static func peer(_ peer: AgentStatus.Peer, check: String, name: String, cause: Cause) -> Finding {
    switch (peer.reachable, peer.refusal) {
    case (true, let refusal?):
      let isKnown = refusal.code != .storeUnknown
      return Finding(
        check, .failure,
        "\(name) at \(peer.url) \(isKnown ? "refuses this device" : "takes no purchase of this device"): \(refusal)",
        cause: isKnown ? .agentRefused : .storeNotNamed)
    case (true, nil): return Finding(check, .ok, "\(name) at \(peer.url) answered the agent")
    case (false, _):
      return Finding(
        check, .failure,
        "\(name) at \(peer.url) did not answer the agent: \(peer.lastError ?? "no reason given")",
        cause: cause)
    case (nil, _): return Finding(check, .ok, "the agent has not asked \(name) at \(peer.url) yet")
    }
  }

  /// The agent's own word goes before what this user may read.
  private static func library(_ status: AgentStatus, mayRead: Bool?) -> Finding {
    switch (status.libraryState, mayRead) {
    case (.offline, _):
      Finding("library", .failure, "the library in \(status.libraryPath) cannot be used", cause: .libraryAway)
    case (.damaged, _):
      Finding("library", .failure, "content in \(status.libraryPath) is damaged", cause: .libraryDamaged)
    case (_, false):
      Finding(
        "library", .warning, "\(status.libraryPath) cannot be read by this user", cause: .libraryUnreadable)
    default: Finding("library", .ok, "\(status.libraryPath) is there")
    }
  }

  /// A failure where nothing is left beyond the reserve, and a warning below ``littleSpace``.
  private static func space(_ status: AgentStatus) -> Finding {
    let reserve = status.reserve ?? .zero
    let usable = max(.zero, status.freeSpace - reserve)
    guard usable < littleSpace else {
      return Finding("space", .ok, "\(status.freeSpace) free, \(reserve) of that stay")
    }
    return Finding(
      "space", usable == .zero ? .failure : .warning,
      "\(status.freeSpace) free, of which \(reserve) stay: downloads have \(usable)", cause: .spaceShort)
  }

  /// Nil without a quota, and where the agent does not tell the library's length.
  private static func quota(_ status: AgentStatus) -> Finding? {
    guard let quota = status.quota, let length = status.libraryLength else { return nil }
    let room = max(.zero, quota - length)
    guard room < littleSpace else { return Finding("quota", .ok, "\(length) of \(quota) used") }
    return Finding(
      "quota", .warning, "\(length) of \(quota) used: downloads have \(room)", cause: .quotaShort)
  }

  /// Nil without limits. A limit is as its owner wants it: a spent budget is a warning, for its end may be far.
  private static func limits(_ status: AgentStatus) -> Finding? {
    guard let limits = status.network else { return nil }
    if let budget = limits.budget, budget.left == .zero {
      let until = budget.until.map { " until \($0)" } ?? ""
      return Finding(
        "limits", .warning, "the budget of \(budget.limit) a month is spent: downloads wait\(until)",
        cause: .budgetSpent)
    }
    let parts = [
      limits.maximumRate.map { "\($0) a second" },
      limits.window.map { window in
        (window.isOpen ? "a window is open" : "no window is open")
          + (window.until.map { " until \($0)" } ?? "")
      }, limits.budget.map { "\($0.left) of \($0.limit) left" },
    ]
    return Finding("limits", .ok, parts.compactMap { $0 }.joined(separator: ", "))
  }

  /// The sources of the machine's conditions, and the conditions that downloads wait for. Nothing of it is wrong.
  private static func conditions(_ told: ConditionsResponse) -> Finding {
    let speaking = told.sources.filter { $0.state == .speaks }.map(\.name)
    let held = told.conditions.filter { $0.state == .yes && $0.rule == .wait }.map { condition in
      let origin = [condition.device, condition.source.map { "by \($0)" }].compactMap { $0 }
      return "\(condition.name.rawValue) (\(origin.joined(separator: ", ")))"
    }
    let sources = speaking.isEmpty ? "no source tells any" : "told by \(speaking.joined(separator: ", "))"
    let waits = held.isEmpty ? "" : "; downloads wait for: \(held.joined(separator: ", "))"
    return Finding("conditions", .ok, sources + waits)
  }

  /// A warning at most.
  private static func downloads(_ status: AgentStatus) -> Finding {
    let failed = status.downloads["failed"] ?? 0
    guard failed > 0 else { return Finding("downloads", .ok, "none failed") }
    return Finding("downloads", .warning, "\(failed) failed", cause: .downloadsFailed)
  }
}
