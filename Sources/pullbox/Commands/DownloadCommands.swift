import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import ServiceRuntime

enum DownloadsCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "downloads", summary: "Show downloads, the newest first",
    discussion: """
      --clear has the agent forget downloads that are over; content stays.
      --watch follows downloads until all have ended or the command is interrupted,
      with bars on a terminal and lines anywhere else. Downloads continue in the
      background either way.
      """,
    options: [
      .flag("watch", abbreviation: "w", environment: .none, help: "Follow downloads until they end"),
      .value(
        "limit", "N", environment: .none, fallback: "\(usualLimit)",
        help: "Show the newest N downloads at most"),
      .flag("all", environment: .none, help: "Show every download that the agent remembers"),
      .flag("clear", environment: .none, help: "Forget the downloads that are over, and print how many"),
    ])

  /// A screen of them.
  static let usualLimit = 20

  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    if context.arguments.isSet("clear") {
      guard !context.arguments.isSet("watch") else {
        throw UsageError("--clear and --watch exclude each other")
      }
      let removed = try await agent.clearDownloads()
      if context.console.printsJSON {
        try context.console.print(json: DownloadsClearResponse(removed: removed))
      } else {
        context.console.print("\(removed) forgotten")
      }
      return
    }
    guard context.arguments.isSet("watch") else {
      let limit =
        context.arguments.isSet("all")
        ? Int.max : try context.arguments.integer("limit", in: 1...1_000_000) ?? usualLimit
      // One more than is shown tells that there are more.
      let found = try await agent.downloads(limit: limit == .max ? limit : limit + 1)
      try list(Array(found.prefix(limit)), on: context.console)
      if found.count > limit {
        context.console.note("these are the newest \(limit); --all shows every download")
      }
      return
    }
    if context.console.printsJSON {
      try await watchAsJSON(agent, on: context.console)
    } else {
      try await watch(agent, on: context.console)
    }
  }

  private static func list(_ downloads: [DownloadStatus], on console: Console) throws {
    try console.print(
      downloads,
      columns: [
        .text("DOWNLOAD"), .text("PRODUCT"), .text("VERSION"), .number("DONE"), .number("SIZE"),
        .text("STATE"),
      ], whenEmpty: "no downloads"
    ) { download in
      [
        download.id.description, download.product.description, download.version?.description ?? "",
        "\(Int(clamping: min(1, max(0, download.progress)) * 100)) %", download.bytesTotal?.description ?? "",
        download.standing,
      ]
    }
  }

  private static func watch(_ agent: AgentClient, on console: Console) async throws {
    var display = DownloadDisplay(.output, terminal: .standardOutput)
    var work = PendingWork()
    var absence = AgentOutageNotice()
    try await agent.follow { update in
      for download in work.apply(update) { display.show(download) }
      if let note = absence.note(on: update) { display.note(note) }
      return work.isOver || !display.isRead ? .stop : .continue
    }
    display.finish()
    if !work.hasSeenDownloads { console.note("nothing to download") }
  }

  private static func watchAsJSON(_ agent: AgentClient, on console: Console) async throws {
    var work = PendingWork()
    try await agent.follow { update in
      for download in work.apply(update) where try !console.print(json: download) { return .stop }
      return work.isOver ? .stop : .continue
    }
  }
}

enum PauseCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "pause", summary: "Pause a download; verified pieces are kept",
    discussion: DownloadSelector.explanation, operands: [.init("DOWNLOAD")])

  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    let download = try DownloadSelector.find(try context.operand(0), among: try await agent.downloads())
    try DownloadSelector.print(try await agent.pause(download.id), on: context.console)
  }
}

enum ResumeCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "resume", summary: "Resume a download that is paused, failed or was cancelled",
    discussion: DownloadSelector.explanation, operands: [.init("DOWNLOAD")])

  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    let download = try DownloadSelector.find(try context.operand(0), among: try await agent.downloads())
    try DownloadSelector.print(try await agent.resume(download.id), on: context.console)
  }
}

enum CancelCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "cancel", summary: "Cancel a download; the purchase stays and can be restored",
    discussion: DownloadSelector.explanation, operands: [.init("DOWNLOAD")])

  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    let download = try DownloadSelector.find(try context.operand(0), among: try await agent.downloads())
    try DownloadSelector.print(try await agent.cancel(download.id), on: context.console)
  }
}

/// Finds the download that an operand names.
enum DownloadSelector {
  static let explanation =
    "DOWNLOAD is the download's identifier, as 'pullbox downloads' shows it, the beginning of that, or the product's identifier."

  /// The download with that identifier; else the one live download of that product, or its only one; else the one whose
  /// identifier begins with `text`, which has at least 4 characters.
  static func find(_ text: String, among downloads: [DownloadStatus]) throws(APICallError) -> DownloadStatus {
    if let exact = downloads.first(where: { $0.id.description == text }) { return exact }
    let ofProduct = downloads.filter { $0.product.description == text }
    let live = ofProduct.filter { !$0.state.isFinal }
    if let one = live.count == 1 ? live.first : ofProduct.count == 1 ? ofProduct.first : nil { return one }
    let matching =
      ofProduct.isEmpty && text.utf8.count >= 4
      ? downloads.filter { $0.id.description.hasPrefix(text) } : ofProduct
    switch matching.count {
    case 1: return matching[0]
    case 0: throw .problem(Problem(.downloadUnknown, "'\(text)'; 'pullbox downloads' lists them"))
    default:
      let names = matching.map(\.id.description).joined(separator: ", ")
      throw .problem(Problem(.downloadUnknown, "'\(text)' may be any of \(names)"))
    }
  }

  static func print(_ download: DownloadStatus, on console: Console) throws {
    if console.printsJSON {
      try console.print(json: download)
    } else {
      console.print("\(download.id)  \(download.line.plain)")
    }
  }
}

/// What the agent still has to do, by its updates. Pure.
struct PendingWork {
  private var downloads: [DownloadIdentifier: DownloadStatus] = [:]
  private var transactions: [TransactionIdentifier: AgentTransaction] = [:]
  private var isConnected = false

  init() {}

  /// Nothing is under way, and nothing is about to be.
  var isOver: Bool {
    isConnected && downloads.values.allSatisfy(\.state.isFinal)
      && !transactions.values.contains(where: Self.isAboutToMove)
  }

  var hasSeenDownloads: Bool { !downloads.isEmpty }

  /// Answers the downloads that changed, without those that had ended before the first update.
  mutating func apply(_ update: AgentUpdate) -> [DownloadStatus] {
    switch update {
    case .snapshot(let transactions, let downloads):
      isConnected = true
      self.transactions = Dictionary(transactions.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
      return downloads.filter { apply($0) }
    case .event(.transaction(let transaction)):
      transactions[transaction.id] = transaction
      return []
    case .event(.download(let download)): return apply(download) ? [download] : []
    case .event(.library): return []
    case .lost:
      isConnected = false
      return []
    }
  }

  private mutating func apply(_ download: DownloadStatus) -> Bool {
    guard downloads[download.id] != nil || !download.state.isFinal else { return false }
    return downloads.updateValue(download, forKey: download.id) != download
  }

  /// A transaction with a reason to wait (not approved, not released, a store that does not answer) may wait for days.
  private static func isAboutToMove(_ transaction: AgentTransaction) -> Bool {
    transaction.step != "finished" && transaction.step != "failed" && transaction.reason == nil
  }
}

/// Notes once that the agent does not answer, however often it is tried, and once that it is back.
struct AgentOutageNotice {
  private var isGone = false

  init() {}

  mutating func note(on update: AgentUpdate) -> String? {
    switch update {
    case .lost where !isGone:
      isGone = true
      return "the agent does not answer; waiting for it to come back"
    case .snapshot where isGone:
      isGone = false
      return "the agent is back"
    case .lost, .snapshot, .event: return nil
    }
  }
}
