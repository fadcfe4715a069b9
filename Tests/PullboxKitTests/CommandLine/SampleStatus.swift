import Commerce
import CoreTypes
import PullboxAPI
import Testing

/// Values as the agent sends them.
enum Sample {
  static func download(
    id: String = "d1", product: String = "com.example.heroes.issue42", transaction: String = "20",
    _ state: DownloadStatus.State = .active, _ reason: String = "transferring", verified: Int64 = 0,
    total: Int64? = 10 << 20, speed: Double = 0, timeRemaining: Double? = nil, error: Problem? = nil
  ) throws -> DownloadStatus {
    DownloadStatus(
      id: try #require(DownloadIdentifier(id)), product: try #require(ProductIdentifier(product)),
      version: ContentVersion("1.0"),
      transaction: try #require(TransactionIdentifier(transaction)), state: state, reason: reason,
      bytesVerified: ByteCount(verified), bytesTotal: total.map { ByteCount($0) },
      bytesReceived: ByteCount(verified),
      progress: total.map { Double(verified) / Double($0) } ?? 0, timeRemaining: timeRemaining, speed: speed,
      error: error, contentPath: state == .finished ? "/library/x" : nil)
  }

  static func transaction(
    _ id: String = "20", state: String = "purchased", step: String = "delivering", reason: String? = nil,
    error: Problem? = nil, downloads: [String] = ["d1"]
  ) throws -> AgentTransaction {
    AgentTransaction(
      id: try #require(TransactionIdentifier(id)),
      product: try #require(ProductIdentifier("com.example.heroes.issue42")),
      state: state, step: step, reason: reason, error: error,
      downloads: try downloads.map { try #require(DownloadIdentifier($0)) })
  }
}
