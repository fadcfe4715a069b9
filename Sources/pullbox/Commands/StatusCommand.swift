import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `status`: how the agent is. It ends with code 7 where anything keeps it from its work, after everything is
/// printed.
enum StatusCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "status", summary: "Show how this device's agent is, and the services that it needs",
    discussion: """
      The agent asks the delivery server and the payment store anew, for five seconds
      at most. Exit code 7 when one of them does not answer or refuses this device, or
      the library cannot be used. With an operator's key it also says whether packages
      of the server are missing or damaged, with the same exit code.
      """)

  /// The agent may ask both services for this question.
  private static let updatesTimeout = Duration.seconds(10)

  /// With an operator's key it asks the server as well. Newer versions are counted only where all is well,
  /// since both services are needed for that.
  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    let status = try await agent.status(asks: true)
    if let note = note(on: status.store.url, wanted: context.arguments.value("store")) {
      context.console.note(note)
    }
    let packages = await packages(context)
    let faults = StatusReport.faults(of: status) + StatusReport.faults(of: packages)
    if context.console.printsJSON {
      try context.console.print(json: status)
    } else {
      let updates = faults.isEmpty ? await updates(agent) : nil
      for (name, text) in StatusReport.rows(of: status, updates: updates, packages: packages) {
        context.console.print(name + String(repeating: " ", count: 14 - name.count) + text)
      }
    }
    if !faults.isEmpty { throw CommandFailure(.notWell, "not well: " + faults.joined(separator: "; ")) }
  }

  /// How many products have a newer version; nil where that cannot be found out now.
  private static func updates(_ agent: AgentClient) async -> Int? {
    try? await withTimeout(updatesTimeout) {
      ContentUpdate.find(among: try await agent.restorePlan(), for: try await agent.library()).count
    } expired: {
      CancellationError()
    }
  }

  /// How the server's packages stand; nil without an operator's key, or where that cannot be found out now.
  private static func packages(_ context: CommandContext) async -> PackageScrubReport? {
    guard context.arguments.value("operator-key") != nil else { return nil }
    return try? await withTimeout(updatesTimeout) {
      try await context.operatorClient().scrubPackages(begins: false)
    } expired: {
      CancellationError()
    }
  }

  /// Nil where the agent uses the store that `--store` names, or none is named.
  static func note(on store: String, wanted: String?) -> String? {
    func bare(_ url: String) -> Substring { url.hasSuffix("/") ? url.dropLast() : url[...] }
    guard let wanted, bare(wanted) != bare(store) else { return nil }
    return
      "this agent uses the store at \(store), not the one at \(wanted) that --store or PULLBOX_STORE names"
  }
}

/// The report of an agent's status. Pure, but for the time zone.
enum StatusReport {
  /// Names and texts of the lines, from top to bottom.
  ///
  /// - Parameters:
  ///   - updates: products with a newer version; nil where that is not known.
  ///   - packages: the server's packages; nil where they were not asked about.
  static func rows(
    of status: AgentStatus, updates: Int?, packages: PackageScrubReport? = nil
  ) -> [(String, String)] {
    let downloads = status.downloads.sorted { $0.key < $1.key }.map { state, count in
      let room = status.waitingForRoom ?? 0
      guard state == DownloadStatus.State.waiting.rawValue, room > 0 else { return "\(count) \(state)" }
      return "\(count) \(state) (\(room) for room: 'pullbox downloads' says how much)"
    }
    var rows = [
      ("agent", "running since \(LocalTime.text(status.started))"),
      ("device", status.device.description),
      ("server", describe(status.server)),
      ("store", describe(status.store)),
      ("library", library(status)),
      ("downloads", downloads.isEmpty ? "none" : downloads.joined(separator: ", ")),
      ("transactions", "\(status.unfinishedTransactions) unfinished"),
    ]
    if let limits = status.network { rows.append(("limits", limitsText(limits))) }
    if let conditions = status.conditions, !conditions.isEmpty {
      rows.append(("conditions", conditionsText(conditions)))
    }
    if let updates {
      rows.append(
        (
          "updates",
          updates == 0
            ? "none" : "\(CountText.of(updates, "newer version")): 'pullbox update' fetches what changed"
        ))
    }
    if let packages {
      let state =
        packages.faults.isEmpty
        ? "none missing or damaged"
        : "\(packages.faults.count) missing or damaged: 'pullbox scrub' names them"
      rows.append(("packages", "\(packages.packages) at the server, \(state)"))
    }
    return rows
  }

  /// The conditions that are waited for, who tells them, since when, and how many wait.
  private static func conditionsText(_ conditions: [MachineConditionStatus]) -> String {
    conditions.map { condition in
      let origin = [
        condition.device, condition.source.map { "by \($0)" },
        condition.since.map { "since \(LocalTime.text($0))" },
      ].compactMap { $0 }.joined(separator: ", ")
      guard condition.holds > 0 else { return "\(condition.name.rawValue) (\(origin))" }
      let passage = ConditionsReport.passage(of: condition.name)
      return "\(condition.name.rawValue) (\(origin)): \(CountText.of(condition.holds, "download")) waiting"
        + (passage.isEmpty ? "" : ", passed by 'pullbox resume' with \(passage)")
    }.joined(separator: "; ")
  }

  /// How fast, when, and how much a month.
  private static func limitsText(_ limits: NetworkLimits) -> String {
    var parts: [String] = []
    if let rate = limits.maximumRate { parts.append("\(rate) a second") }
    if let window = limits.window {
      let until = window.until.map { " until \(LocalTime.text($0))" } ?? ""
      parts.append(window.isOpen ? "downloads run\(until)" : "downloads wait\(until)")
    }
    if let budget = limits.budget {
      let until = budget.until.map { " until \(LocalTime.text($0))" } ?? ""
      parts.append("\(budget.left) of \(budget.limit) left\(until)")
    }
    return parts.joined(separator: ", ")
  }

  /// Nil has none.
  static func faults(of packages: PackageScrubReport?) -> [String] {
    guard let count = packages?.faults.count, count > 0 else { return [] }
    return ["\(CountText.of(count, "package")) of the server missing or damaged"]
  }

  /// Returns the faults that the status shows, in words; empty when all is well.
  static func faults(of status: AgentStatus) -> [String] {
    var faults = [("server", status.server), ("store", status.store)].compactMap { name, peer in
      fault(of: peer).map { "the \(name) \($0)" }
    }
    switch status.libraryState {
    case .offline: faults.append("the library's volume is not there")
    case .damaged: faults.append("the library is damaged")
    case .present, nil: break
    }
    return faults
  }

  /// Nil where the service answers, and where it was not asked yet.
  private static func fault(of peer: AgentStatus.Peer) -> String? {
    switch (peer.reachable, peer.refusal) {
    case (false?, _): "does not answer"
    case (_, let refusal?): describe(refusal)
    default: nil
    }
  }

  /// The option is named that the agent misses where the server does not know its store.
  private static func describe(_ refusal: Problem) -> String {
    guard refusal.code == .storeUnknown else { return "refuses this device: \(refusal)" }
    return "takes no purchase of this device: \(refusal); give pullbox-agent --store-name"
  }

  /// One line for a service: its address, whether it answers, the last question, and the last success where it does not
  /// answer.
  private static func describe(_ peer: AgentStatus.Peer) -> String {
    let asked = [peer.lastRequest, peer.lastAsked.map(LocalTime.text)].compactMap { $0 }
    let question = asked.isEmpty ? "" : " (\(asked.joined(separator: ", ")))"
    let last = peer.lastSuccess.map { "; it answered last at \(LocalTime.text($0))" } ?? ""
    switch (peer.reachable, peer.refusal) {
    case (nil, _): return "\(peer.url), not asked yet"
    case (false?, _):
      let why = peer.lastError.map { ": \($0)" } ?? ""
      return "\(peer.url), does not answer\(why)\(question)\(last)"
    case (true?, let refusal?): return "\(peer.url), \(describe(refusal))\(question)"
    case (true?, nil): return "\(peer.url), answers\(question)"
    }
  }

  /// The path with its state, then the room: free, kept free, used.
  private static func library(_ status: AgentStatus) -> String {
    let place =
      switch status.libraryState {
      case .offline: "\(status.libraryPath), its volume is not there: downloads wait for it"
      case .damaged: "\(status.libraryPath), damaged: 'pullbox library --verify' shows what"
      case .present, nil: status.libraryPath
      }
    let parts = [
      "\(status.freeSpace) free", status.reserve.map { "\($0) of that are kept" },
      status.libraryLength.map { length in
        status.quota.map { "\(length) of \($0) used" } ?? "\(length) used"
      },
    ]
    return ([place] + parts.compactMap { $0 }).joined(separator: ", ")
  }
}
