import PullboxAPI
import PullboxKit
import ServiceRuntime

enum CancelCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "cancel", summary: "Give a download up; the purchase stays and can be restored",
    discussion: DownloadSelector.explanation, operands: [.init("DOWNLOAD")])

  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    let download = try DownloadSelector.find(try context.operand(0), among: try await agent.downloads())
    try DownloadSelector.print(try await agent.cancel(download.id), context.console)
  }
}
