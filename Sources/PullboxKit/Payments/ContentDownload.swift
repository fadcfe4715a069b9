public import Commerce
public import CoreTypes
public import PullboxAPI

/// The delivery of one product's content to this device.
public struct ContentDownload: Hashable, Sendable, Identifiable {
  /// Waiting, active, paused, finished, failed or cancelled.
  public typealias State = DownloadStatus.State

  /// The agent's identifier of the download.
  public let id: DownloadIdentifier
  /// The product that is delivered.
  public let product: ProductIdentifier
  /// Nil until the server has granted one.
  public let version: ContentVersion?
  /// The purchase that pays for it.
  public let transaction: TransactionIdentifier
  /// Waiting, active, paused, finished, failed or cancelled.
  public let state: State
  /// Why it is in that state (`transferring`, `queued`, `server-unreachable`, …).
  public let reason: String
  /// 0 to 1, counting verified bytes only; 1 when finished.
  public let progress: Double
  /// Nil while it is unknown.
  public let timeRemaining: Duration?
  /// Bytes of the package; nil until the server has granted one.
  public let length: ByteCount?
  /// The server's last answer, if it was a refusal.
  public let error: Problem?
  /// The placed file or folder; nil unless finished.
  public let contentPath: String?

  init(_ status: DownloadStatus) {
    id = status.id
    product = status.product
    version = status.version
    transaction = status.transaction
    state = status.state
    reason = status.reason
    progress = min(1, max(0, status.progress))
    timeRemaining = status.timeRemaining.map { Duration(clampingSeconds: $0) }
    length = status.bytesTotal
    error = status.error
    contentPath = status.contentPath
  }
}
