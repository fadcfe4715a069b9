import Commerce
import PullboxAPI
import PullboxKit

/// What the agent still has to do, by what it tells. Pure.
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

  /// The downloads that this is news of. Of those that ended before the first update nothing is said.
  mutating func take(_ update: AgentUpdate) -> [DownloadStatus] {
    switch update {
    case .snapshot(let transactions, let downloads):
      isConnected = true
      self.transactions = Dictionary(transactions.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
      return downloads.filter { take($0) }
    case .event(.transaction(let transaction)):
      transactions[transaction.id] = transaction
      return []
    case .event(.download(let download)): return take(download) ? [download] : []
    case .event(.library): return []
    case .lost:
      isConnected = false
      return []
    }
  }

  private mutating func take(_ download: DownloadStatus) -> Bool {
    guard downloads[download.id] != nil || !download.state.isFinal else { return false }
    return downloads.updateValue(download, forKey: download.id) != download
  }

  /// A transaction with a reason to wait (not approved, not released, a store that does not answer) may wait for days.
  private static func isAboutToMove(_ transaction: AgentTransaction) -> Bool {
    transaction.step != "finished" && transaction.step != "failed" && transaction.reason == nil
  }
}
