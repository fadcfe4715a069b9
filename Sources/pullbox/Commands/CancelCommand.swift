import PullboxAPI
import PullboxKit
import ServiceRuntime

enum CancelCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "cancel", summary: "Give a download up; the purchase stays and can be restored",
    discussion: DownloadChoice.explanation, operands: [.init("DOWNLOAD")])

  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    let download = try DownloadChoice.find(try context.operand(0), among: try await agent.downloads())
    try DownloadChoice.print(try await agent.cancel(download.id), context.console)
  }
}
