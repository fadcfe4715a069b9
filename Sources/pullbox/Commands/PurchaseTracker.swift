import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime

/// Follows one transaction to its end, by what the agent tells. Pure.
struct PurchaseTracker {
  enum Verdict {
    case finished
    case failed(CommandFailure)
  }

  let transaction: TransactionIdentifier
  private var downloads: [DownloadIdentifier: DownloadStatus] = [:]
  private var latest: AgentTransaction?

  init(_ transaction: TransactionIdentifier) {
    self.transaction = transaction
  }

  /// How the transaction stands, for people; nil while all goes its way.
  var obstacle: String? {
    guard let latest, let reason = latest.reason else { return nil }
    return "\(latest.step): \(latest.error?.description ?? reason)"
  }

  /// Of the transaction's downloads, those that this is news of; and the verdict when there is one.
  mutating func take(_ update: AgentUpdate) -> (news: [DownloadStatus], verdict: Verdict?) {
    switch update {
    case .snapshot(let transactions, let downloads):
      let news = downloads.filter { take($0) }
      guard let found = transactions.first(where: { $0.id == transaction }) else {
        return (news, .failed(forgotten))
      }
      latest = found
      return (news, verdict)
    case .event(.transaction(let transaction)) where transaction.id == self.transaction:
      latest = transaction
      return ([], verdict)
    case .event(.download(let download)):
      return take(download) ? ([download], verdict) : ([], nil)
    case .event, .lost:
      return ([], nil)
    }
  }

  private mutating func take(_ download: DownloadStatus) -> Bool {
    guard download.transaction == transaction else { return false }
    return downloads.updateValue(download, forKey: download.id) != download
  }

  private var verdict: Verdict? {
    guard let latest else { return nil }
    if latest.step == "finished" { return .finished }
    let why = latest.error?.description ?? latest.reason ?? latest.state
    if latest.step == "failed" || latest.state == "failed" {
      return .failed(CommandFailure(.notEntitled, "the purchase failed: \(why)"))
    }
    if let error = latest.error, ExitCode(error) == .notEntitled {
      return .failed(CommandFailure(.notEntitled, error.description))
    }
    switch latest.reason {
    case "grant-revoked": return .failed(CommandFailure(.notEntitled, "the purchase was refunded or revoked"))
    case "download-failed", "download-cancelled": return failedDownload
    default: return nil
    }
  }

  /// Nil while it is not known which one it was: its event comes before or after the transaction's.
  private var failedDownload: Verdict? {
    let failed = downloads.values.filter { $0.state == .failed || $0.state == .cancelled }
    guard let download = failed.min(by: { $0.id < $1.id }) else { return nil }
    let why = download.error?.description ?? download.reason
    return .failed(
      CommandFailure(
        ExitCode(endOf: download),
        "the download of \(download.product) \(download.state.rawValue): \(why); 'pullbox resume \(download.id)' tries again"
      ))
  }

  private var forgotten: CommandFailure {
    CommandFailure(
      .undetermined,
      "the agent does not know transaction \(transaction) any more; 'pullbox library' shows what came")
  }
}
