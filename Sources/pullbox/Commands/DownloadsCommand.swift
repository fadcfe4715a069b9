import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum DownloadsCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "downloads", summary: "Show what is being fetched",
    discussion: """
      With --watch, bars on a terminal and lines anywhere else, until nothing is
      under way any more or the command is interrupted. Downloads go on in the
      background either way.
      """,
    options: [
      .flag("watch", abbreviation: "w", environment: .some(nil), help: "Go on showing")
    ])

  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    guard context.arguments.isSet("watch") else {
      return try list(try await agent.downloads(), context.console)
    }
    if context.console.printsJSON {
      try await watchAsJSON(agent, context.console)
    } else {
      try await watch(agent, context.console)
    }
  }

  private static func list(_ downloads: [DownloadStatus], _ console: Console) throws {
    try console.print(
      downloads,
      columns: [
        .text("DOWNLOAD"), .text("PRODUCT"), .text("VERSION"), .number("DONE"), .number("SIZE"),
        .text("STATE"),
      ], whenEmpty: "no downloads"
    ) { download in
      [
        download.id.text, download.product.text, download.version?.text ?? "",
        "\(Int(min(1, max(0, download.progress)) * 100)) %", download.bytesTotal?.description ?? "",
        download.standing,
      ]
    }
  }

  private static func watch(_ agent: AgentClient, _ console: Console) async throws {
    var display = DownloadDisplay(.output, .standardOutput)
    var work = PendingWork()
    var absence = AgentOutageNotice()
    try await agent.follow { update in
      for download in work.take(update) { display.show(download) }
      if let note = absence.note(on: update) { display.note(note) }
      return work.isOver || !display.isRead ? .stop : .goOn
    }
    display.finish()
    if !work.hasSeenDownloads { console.note("nothing to download") }
  }

  private static func watchAsJSON(_ agent: AgentClient, _ console: Console) async throws {
    var work = PendingWork()
    try await agent.follow { update in
      for download in work.take(update) where try !console.print(json: download) { return .stop }
      return work.isOver ? .stop : .goOn
    }
  }
}
