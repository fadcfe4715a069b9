package import AgentRecords
import PullboxAPI

extension AgentDatabase {
  /// All of them, the oldest first.
  package func allDownloads() throws -> [DownloadRecord] {
    try downloads(in: DownloadStatus.State.allCases, before: .max, limit: .max).reversed()
  }
}
