import PullboxAPI
import PullboxKit
import ServiceRuntime

enum ResumeCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "resume", summary: "Go on with a download that rests, failed or was cancelled",
    discussion: DownloadSelector.explanation, operands: [.init("DOWNLOAD")])

  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    let download = try DownloadSelector.find(try context.operand(0), among: try await agent.downloads())
    try DownloadSelector.print(try await agent.resume(download.id), context.console)
  }
}
