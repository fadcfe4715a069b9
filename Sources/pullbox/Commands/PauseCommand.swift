import PullboxAPI
import PullboxKit
import ServiceRuntime

enum PauseCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "pause", summary: "Let a download rest; what it has is kept",
    discussion: DownloadSelector.explanation, operands: [.init("DOWNLOAD")])

  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    let download = try DownloadSelector.find(try context.operand(0), among: try await agent.downloads())
    try DownloadSelector.print(try await agent.pause(download.id), context.console)
  }
}
