import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum StatusCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription("status", summary: "Show the state of this device's agent")

  static func run(_ context: CommandContext) async throws {
    let status = try await context.agent().status()
    if let note = note(on: status.store.url, wanted: context.arguments.value("store")) {
      context.console.note(note)
    }
    if context.console.printsJSON {
      try context.console.print(json: status)
      return
    }
    let downloads = status.downloads.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    let rows = [
      ("agent", "running since \(status.started)"),
      ("device", status.device.description),
      ("server", describe(status.server)),
      ("store", describe(status.store)),
      ("library", library(status)),
      ("downloads", downloads.isEmpty ? "none" : downloads.joined(separator: ", ")),
      ("transactions", "\(status.unfinishedTransactions) unfinished"),
    ]
    for (name, text) in rows {
      context.console.print(name + String(repeating: " ", count: 14 - name.count) + text)
    }
  }

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

  /// Nil where the agent uses the store that `--store` names, or none is named.
  static func note(on store: String, wanted: String?) -> String? {
    func bare(_ url: String) -> Substring { url.hasSuffix("/") ? url.dropLast() : url[...] }
    guard let wanted, bare(wanted) != bare(store) else { return nil }
    return
      "this agent uses the store at \(store), not the one at \(wanted) that --store or PULLBOX_STORE names"
  }

  private static func describe(_ peer: AgentStatus.Peer) -> String {
    switch peer.reachable {
    case true: "\(peer.url), answers"
    case false: "\(peer.url), does not answer\(peer.lastError.map { ": \($0)" } ?? "")"
    case nil: "\(peer.url), not asked yet"
    }
  }
}
