import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

/// `downloads`: lists them, follows them, or has the agent forget those that are over.
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
      CommandOption.value(
        "state", "STATE", environment: .none,
        help: "Show only downloads in this state: \(stateWords.joined(separator: ", "))"
      ).taking(.words(stateWords)),
      CommandOption.value("product", "ID", environment: .none, help: "Show only downloads of this product")
        .taking(.listed(CompleteCommand.List.library.rawValue)),
      .value(
        "limit", "N", environment: .none, fallback: "\(usualLimit)",
        help: "Show the newest N downloads at most"),
      .flag("all", environment: .none, help: "Show every download that the agent remembers"),
      .flag("clear", environment: .none, help: "Forget the downloads that are over, and print how many"),
    ])

  /// A screen of them.
  static let usualLimit = 20
  /// The parts of the agent's list, then the states of single downloads.
  private static let stateWords =
    [AgentListPart.live, .over].map(\.rawValue) + DownloadStatus.State.allCases.map(\.rawValue)

  /// A filter does not go with `--watch` or `--clear`, and is wrong usage there.
  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let filters = ["state", "product"].filter { arguments.value($0) != nil }
    let modes = ["watch", "clear"].filter { arguments.isSet($0) }
    if modes.count > 1 { throw UsageError("--clear and --watch exclude each other") }
    if let mode = modes.first, let filter = filters.first {
      throw UsageError("--\(filter) does not go with --\(mode)")
    }
    switch modes.first {
    case "clear": try await clear(context)
    case "watch":
      if context.console.printsJSON {
        try await watchAsJSON(try context.agent(), on: context.console)
      } else {
        try await watch(try context.agent(), on: context.console)
      }
    default: try await list(context)
    }
  }

  /// Prints how many the agent has forgotten.
  private static func clear(_ context: CommandContext) async throws {
    let removed = try await context.agent().clearDownloads()
    if context.console.printsJSON {
      try context.console.print(json: DownloadsClearResponse(removed: removed))
    } else {
      context.console.print("\(removed) forgotten")
    }
  }

  /// The agent filters by state. The product is filtered here, for which the whole list is asked for.
  private static func list(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let limit =
      arguments.isSet("all") ? Int.max : try arguments.integer("limit", in: 1...1_000_000) ?? usualLimit
    let product = try arguments.value("product").map(CommandContext.product)
    // One more than is shown tells that there are more. The agent does not know a list by product.
    let enough = product == nil && limit < .max ? limit + 1 : .max
    let state = arguments.value("state")
    let agent = try context.agent()
    var found: [DownloadStatus]
    if let state, let own = DownloadStatus.State(rawValue: state) {
      found = try await agent.downloads(in: own, limit: enough)
    } else if let part = AgentListPart(rawValue: state ?? AgentListPart.all.rawValue) {
      found = try await agent.downloads(part, limit: enough)
    } else {
      throw UsageError("--state takes one of \(stateWords.joined(separator: ", ")), not '\(state ?? "")'")
    }
    if let product { found.removeAll { $0.product != product } }
    try print(Array(found.prefix(limit)), on: context.console)
    if found.count > limit {
      context.console.note("these are the newest \(limit); --all shows every download")
    }
  }

  /// Speed and size are left out where they are not known.
  static func print(_ downloads: [DownloadStatus], on console: Console) throws {
    try console.print(
      downloads,
      columns: [
        .name("DOWNLOAD"), .text("TITLE"), .name("VERSION"), .number("DONE"), .number("SIZE"),
        .number("SPEED"), .sentence("STATE"),
      ], whenEmpty: "no downloads"
    ) { download in
      [
        download.id.description, download.name, download.version?.description ?? "",
        "\(Int(clamping: min(1, max(0, download.progress)) * 100)) %", download.bytesTotal?.description ?? "",
        download.speed >= 1 ? "\(ByteCount(Int64(clamping: download.speed)))/s" : "", download.standing,
      ]
    }
  }

  /// Ends when nothing is under way or about to be, and when the reader of standard output has closed it.
  private static func watch(_ agent: AgentClient, on console: Console) async throws {
    var display = DownloadDisplay(.output, terminal: .standardOutput, console: console)
    var work = PendingWork()
    try await agent.follow { update in
      for download in work.apply(update) { display.show(download) }
      display.noteOutage(update)
      return work.isOver || !display.isRead ? .stop : .continue
    }
    display.finish()
    if !work.hasSeenDownloads { console.note("nothing to download") }
  }

  /// Each change of a download is an object.
  private static func watchAsJSON(_ agent: AgentClient, on console: Console) async throws {
    var work = PendingWork()
    try await agent.follow { update in
      for download in work.apply(update) where try !console.print(json: download) { return .stop }
      return work.isOver ? .stop : .continue
    }
  }
}

/// The work that the agent still has to do, by its updates. Pure.
struct PendingWork {
  /// The last status of each download that was live at some time since the first update.
  private var downloads: [DownloadIdentifier: DownloadStatus] = [:]
  /// The last state of each transaction; a snapshot replaces all of them.
  private var transactions: [TransactionIdentifier: AgentTransaction] = [:]
  /// Whether a snapshot has come since the connection was made or lost. Until then nothing counts as over.
  private var isConnected = false

  /// The state before the first update: nothing is known, and so nothing is over.
  init() {}

  /// Nothing is under way, and nothing is about to be.
  var isOver: Bool {
    isConnected && downloads.values.allSatisfy(\.state.isFinal)
      && !transactions.values.contains(where: Self.isAboutToMove)
  }

  /// False while every download that was told of had ended before.
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
    case .event(.library), .event(.issueReady), .event(.correctionReady), .event(.owned): return []
    case .lost:
      isConnected = false
      return []
    }
  }

  /// Whether the download is to be shown: one that is new and not over, or one that changed.
  private mutating func apply(_ download: DownloadStatus) -> Bool {
    guard downloads[download.id] != nil || !download.state.isFinal else { return false }
    return downloads.updateValue(download, forKey: download.id) != download
  }

  /// A transaction with a reason to wait (not approved, not released, a store that does not answer) may wait for days.
  private static func isAboutToMove(_ transaction: AgentTransaction) -> Bool {
    transaction.step != "finished" && transaction.step != "failed" && transaction.reason == nil
  }
}
