import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import ServiceRuntime
import Synchronization

/// Waits for downloads to end, through restarts of the agent, and shows their progress on standard error.
enum DownloadWait {
  /// The last statuses of the downloads, for the message when the wait is given up. It may be read while the
  /// wait goes on.
  final class Latest: Sendable {
    /// The last status of each download by its identifier.
    private let downloads = Mutex<[DownloadIdentifier: DownloadStatus]>([:])

    /// Takes in a status; from any thread.
    func note(_ download: DownloadStatus) { downloads.locked { $0[download.id] = download } }

    /// How the wait ends when its time is over. What waits for room alone is told by its own code.
    var expiry: CommandFailure {
      let waiting = downloads.locked { $0.values.filter { !$0.state.isFinal }.sorted { $0.id < $1.id } }
      if let download = waiting.first(where: { $0.reason == "insufficient-space" }) {
        return CommandFailure(
          .noSpace, "\(download.name) \(download.standing); the agent goes on when there is room")
      }
      let why = waiting.first { $0.state == .waiting }.map { " (\($0.name): \($0.standing))" } ?? ""
      return CommandFailure(.undetermined, "the downloads have not ended yet\(why); the agent continues them")
    }
  }

  /// Answers how each of `identifiers` ended, or that it was paused, in their order; those that the agent
  /// forgets are left out. Every snapshot, also after a restart of the agent, is compared with what is still
  /// waited for. The caller bounds the wait and turns ``Latest/expiry`` into the failure.
  static func run(
    _ identifiers: [DownloadIdentifier], with agent: AgentClient, on console: Console, noting latest: Latest
  ) async throws -> [DownloadStatus] {
    guard !identifiers.isEmpty else { return [] }
    var display = DownloadDisplay(.error, terminal: .standardError, console: console)
    var pending = Set(identifiers)
    var ended: [DownloadIdentifier: DownloadStatus] = [:]
    func note(_ download: DownloadStatus, _ display: inout DownloadDisplay) {
      guard pending.contains(download.id) else { return }
      latest.note(download)
      display.show(download)
      // One that is paused meanwhile would be waited for without an end.
      guard download.state.isFinal || download.state == .paused else { return }
      pending.remove(download.id)
      ended[download.id] = download
    }
    func look(at id: DownloadIdentifier, _ display: inout DownloadDisplay) async throws {
      do {
        note(try await agent.download(id), &display)
      } catch {
        guard case .problem(let problem) = error, problem.code == .downloadUnknown else { throw error }
        pending.remove(id)
      }
    }
    try await agent.follow { update in
      display.noteOutage(update)
      switch update {
      case .snapshot(_, let downloads):
        for download in downloads { note(download, &display) }
        // What ended before the stream was open is in no event.
        for id in pending.subtracting(downloads.map(\.id)) { try await look(at: id, &display) }
      // Paused and resumed at once, it goes on by now.
      case .event(.download(let download)) where download.state == .paused && pending.contains(download.id):
        try await look(at: download.id, &display)
      case .event(.download(let download)): note(download, &display)
      case .event, .lost: break
      }
      return pending.isEmpty ? .stop : .continue
    }
    display.finish()
    return identifiers.compactMap { ended[$0] }
  }
}
