public import Commerce
public import CoreTypes
public import PullboxAPI

/// The delivery of one product's content to this device.
public struct ContentDownload: Hashable, Sendable, Identifiable {
  public typealias State = DownloadStatus.State

  public let id: DownloadIdentifier
  public let product: ProductIdentifier
  /// Nil until the server has granted one.
  public let version: ContentVersion?
  public let transaction: TransactionIdentifier
  public let state: State
  /// Why it is in that state (`transferring`, `queued`, `server-unreachable`, …).
  public let reason: String
  /// 0 to 1, of what is verified.
  public let progress: Double
  /// Nil while it cannot be told.
  public let timeRemaining: Duration?
  public let length: ByteCount?
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
    progress = status.progress
    timeRemaining = status.timeRemaining.map { .seconds($0) }
    length = status.bytesTotal
    error = status.error
    contentPath = status.contentPath
  }
}
