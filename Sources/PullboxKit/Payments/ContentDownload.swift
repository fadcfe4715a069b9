public import Commerce
public import CoreTypes
public import Foundation
public import PullboxAPI

/// The delivery of one product's content to this device.
public struct ContentDownload: Hashable, Sendable, Identifiable {
  /// Waiting, active, paused, finished, failed or cancelled.
  public typealias State = DownloadStatus.State

  /// The download as the agent tells it, with every member.
  public let status: DownloadStatus
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
  /// The title of the content; nil until the agent knows it.
  public let title: String?
  /// From -1000 to 1000; a higher one goes first. Nil from agents that do not tell.
  public let priority: Int?
  /// When the agent began it; nil from agents that do not tell.
  public let created: Timestamp?
  /// The time before which it is not tried again, while it waits; nil where it is tried as soon as it can be.
  public let notBefore: Timestamp?
  /// A line for people on what went wrong last, such as a system call with its path; nil where nothing did.
  public let cause: String?
  /// How much room is needed and how much there is, while it waits for room (`insufficient-space`).
  public let space: SpaceShortage?
  /// Bytes of the package that have to travel; nil until that is known.
  public let bytesNeeded: ByteCount?
  /// Bytes of the package that were on this device already; nil until that is known.
  public let bytesReused: ByteCount?
  /// When the last byte arrived, while it is transferred and nothing has for three seconds.
  public let stalledSince: Timestamp?
  /// The section that it brings to content that is placed already; nil for a download of the content itself.
  public let section: SectionTag?

  init(_ status: DownloadStatus) {
    self.status = status
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
    title = status.title
    priority = status.priority
    created = status.created
    notBefore = status.notBefore
    cause = status.cause
    space = status.space
    bytesNeeded = status.bytesNeeded
    bytesReused = status.bytesReused
    stalledSince = status.stalledSince
    section = status.section
  }

  /// The name for people: the title, else the product's identifier.
  public var name: String { title ?? product.description }

  /// ``progress`` in percent, rounded down: 0 to 100.
  public var percent: Int { Int(clamping: progress * 100) }

  /// How it stands, in words for people: `waits for room: needs 1.9 GiB, 1.2 GiB free`, `failed: …`, `finished`. In English, as all of the
  /// kit's texts are; an app of another language reads ``state`` and ``reason``.
  public var statusText: String { StandingText.of(status) }
}

extension ContentDownload {
  /// ``timeRemaining`` in words for people, in as many figures as it is worth: `12 seconds`, `about 3 minutes`. Nil while it is unknown.
  public var timeRemainingText: String? { timeRemaining.map { DurationText.estimateInWords($0) } }

  /// The placed file or folder as a URL; nil unless finished.
  public var contentURL: URL? { contentPath.map { URL(filePath: $0) } }

  /// The content that it brings, to be read through the agent while it comes and after it is placed: see ``AgentClient/files(of:)``.
  public var content: ReadableContent { .download(id) }
}
