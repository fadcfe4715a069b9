public import Commerce
public import CoreTypes

/// A download as the agent shows it.
public struct DownloadStatus: Codable, Hashable, Sendable {
  /// Where a download stands.
  public enum State: String, ListedWords, Sendable {
    case waiting
    case active
    case paused
    case finished
    case failed
    case cancelled

    /// It is not over, and ``DownloadStatus/reason`` says more: a state that a later agent adds is never a final one.
    public static var fallback: State? { .waiting }

    /// Nothing more will happen to it by itself.
    public var isFinal: Bool { self == .finished || self == .failed || self == .cancelled }
  }

  /// The download's name.
  public var id: DownloadIdentifier
  /// The product.
  public var product: ProductIdentifier
  /// The content version; absent until the server has granted one.
  public var version: ContentVersion?
  /// The transaction that pays for it.
  public var transaction: TransactionIdentifier
  /// Where it stands; ``reason`` says why.
  public var state: State
  /// Why it is in that state: `queued`, `transferring`, `store-unreachable`, `user`, …
  public var reason: String
  /// In pieces whose SHA-256 was checked; never decreases but for a piece found damaged.
  public var bytesVerified: ByteCount
  /// Absent until the grant told.
  public var bytesTotal: ByteCount?
  /// Bytes as they came over the network, repeated ones counted again.
  public var bytesReceived: ByteCount
  /// 0 to 1.
  public var progress: Double
  /// Seconds; null when unknown.
  public var timeRemaining: Double?
  /// Bytes a second over the last seconds; 0 when nothing moves.
  public var speed: Double
  /// Why it failed, or what made it wait; absent when nothing was refused.
  public var error: Problem?
  /// Only when finished: the placed file or folder.
  public var contentPath: String?
  /// Higher goes first; absent from agents that do not tell.
  public var priority: Int?
  /// When it was asked for; absent from agents that do not tell.
  public var created: Timestamp?
  /// While it waits: when it is tried again at the earliest; absent when it waits for a condition or a place.
  public var notBefore: Timestamp?
  /// The last error, in a line for people: a system call with its path and error, the message of the network library, or
  /// a service's refusal. Absent when there was none.
  public var cause: String?
  /// While it waits for room: the numbers.
  public var space: SpaceShortage?
  /// Bytes of the package that have to travel; absent until that is known.
  public var bytesNeeded: ByteCount?
  /// Bytes of the package that were on this device already; absent until that is known.
  public var bytesReused: ByteCount?
  /// The title of the content, from its manifest; absent until the agent knows it.
  public var title: String?
  /// While it is transferred and nothing has arrived for three seconds: when the last byte did. Then speed is 0 and time unknown.
  public var stalledSince: Timestamp?
  /// How urgently it is wanted; absent from agents that do not tell.
  public var urgency: DownloadUrgency?
  /// The user of this device, by number, who asked for it now, so that it passes windows and budget; absent where none did.
  public var wantedBy: UInt32?
  /// The section that it brings to content that is placed already; absent for a download of the content itself.
  public var section: SectionTag?
  /// The app that asked for it; absent where none named itself.
  public var session: SessionName?
  /// The condition of the machine that it waits for, and who tells it; absent where it waits for none.
  public var condition: DownloadCondition?
  /// The conditions that it passes, each with the user who said so; absent where it passes none.
  public var ignored: [IgnoredCondition]?

  /// Creates the document from its members.
  public init(
    id: DownloadIdentifier, product: ProductIdentifier, version: ContentVersion?,
    transaction: TransactionIdentifier,
    state: State, reason: String, bytesVerified: ByteCount, bytesTotal: ByteCount?, bytesReceived: ByteCount,
    progress: Double, timeRemaining: Double?, speed: Double, error: Problem?, contentPath: String?,
    priority: Int? = nil, created: Timestamp? = nil, notBefore: Timestamp? = nil, cause: String? = nil,
    space: SpaceShortage? = nil, bytesNeeded: ByteCount? = nil, bytesReused: ByteCount? = nil,
    title: String? = nil, stalledSince: Timestamp? = nil, urgency: DownloadUrgency? = nil,
    wantedBy: UInt32? = nil, section: SectionTag? = nil, session: SessionName? = nil,
    condition: DownloadCondition? = nil, ignored: [IgnoredCondition]? = nil
  ) {
    self.id = id
    self.product = product
    self.version = version
    self.transaction = transaction
    self.state = state
    self.reason = reason
    self.bytesVerified = bytesVerified
    self.bytesTotal = bytesTotal
    self.bytesReceived = bytesReceived
    self.progress = progress
    self.timeRemaining = timeRemaining
    self.speed = speed
    self.error = error
    self.contentPath = contentPath
    self.priority = priority
    self.created = created
    self.notBefore = notBefore
    self.cause = cause
    self.space = space
    self.bytesNeeded = bytesNeeded
    self.bytesReused = bytesReused
    self.title = title
    self.stalledSince = stalledSince
    self.urgency = urgency
    self.wantedBy = wantedBy
    self.section = section
    self.session = session
    self.condition = condition
    self.ignored = ignored
  }

  /// Writes ``timeRemaining`` as null when it is unknown, and leaves out every other member that is nil.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encode(product, forKey: .product)
    try container.encodeIfPresent(version, forKey: .version)
    try container.encode(transaction, forKey: .transaction)
    try container.encode(state, forKey: .state)
    try container.encode(reason, forKey: .reason)
    try container.encode(bytesVerified, forKey: .bytesVerified)
    try container.encodeIfPresent(bytesTotal, forKey: .bytesTotal)
    try container.encode(bytesReceived, forKey: .bytesReceived)
    try container.encode(progress, forKey: .progress)
    // Unknown is told as null, not by absence.
    try container.encode(timeRemaining, forKey: .timeRemaining)
    try container.encode(speed, forKey: .speed)
    try container.encodeIfPresent(error, forKey: .error)
    try container.encodeIfPresent(contentPath, forKey: .contentPath)
    try container.encodeIfPresent(priority, forKey: .priority)
    try container.encodeIfPresent(created, forKey: .created)
    try container.encodeIfPresent(notBefore, forKey: .notBefore)
    try container.encodeIfPresent(cause, forKey: .cause)
    try container.encodeIfPresent(space, forKey: .space)
    try container.encodeIfPresent(bytesNeeded, forKey: .bytesNeeded)
    try container.encodeIfPresent(bytesReused, forKey: .bytesReused)
    try container.encodeIfPresent(title, forKey: .title)
    try container.encodeIfPresent(stalledSince, forKey: .stalledSince)
    try container.encodeIfPresent(urgency, forKey: .urgency)
    try container.encodeIfPresent(wantedBy, forKey: .wantedBy)
    try container.encodeIfPresent(section, forKey: .section)
    try container.encodeIfPresent(session, forKey: .session)
    try container.encodeIfPresent(condition, forKey: .condition)
    try container.encodeIfPresent(ignored, forKey: .ignored)
  }
}

/// How urgently a download is wanted, before its priority.
public enum DownloadUrgency: String, ListedWords, Sendable, Comparable {
  /// A person waits for it: it takes the place of a download that is less urgent, which goes on later and loses no byte.
  case now
  /// It goes before what is in the background.
  case normal
  /// It goes where nothing else wants the place.
  case background

  /// The more urgent one is greater.
  public static func < (left: DownloadUrgency, right: DownloadUrgency) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .now: 2
    case .normal: 1
    case .background: 0
    }
  }
}

/// The room that a download waits for, in bytes of the volume on which the library lies, or of the quota where that is
/// what is short. It is admitted when ``needed`` fits into ``free`` without touching ``reserve``.
public struct SpaceShortage: Codable, Hashable, Sendable {
  /// The bytes that the download still has to write.
  public var needed: ByteCount
  /// The bytes that are free now, or left of the quota, and promised to no other download.
  public var free: ByteCount
  /// The bytes that the agent never uses; zero where the quota is short.
  public var reserve: ByteCount
  /// The bytes of content that could be removed from the library and fetched again later.
  public var removable: ByteCount
  /// The bytes that content and downloads may take together; absent unless this bound, and not the volume, is short.
  public var quota: ByteCount?

  /// Creates the document from its members.
  public init(
    needed: ByteCount, free: ByteCount, reserve: ByteCount, removable: ByteCount, quota: ByteCount? = nil
  ) {
    self.needed = needed
    self.free = free
    self.reserve = reserve
    self.removable = removable
    self.quota = quota
  }
}

/// Names a download on one device: 1 to 64 characters of `A-Z a-z 0-9 _ -`, so that it can be a part of an address and the
/// name of a folder. The agent makes 16 hexadecimal digits; clients take them as they are.
public struct DownloadIdentifier: Hashable, Sendable, Comparable, LosslessStringCodable {
  /// The download's name.
  public let description: String

  /// Nil when `text` is not such a name.
  public init?(_ text: String) {
    guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
    self.description = text
  }

  /// Orders names by their characters; the order has no meaning in time.
  public static func < (left: DownloadIdentifier, right: DownloadIdentifier) -> Bool {
    left.description < right.description
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
    default: false
    }
  }
}

/// `GET /v1/downloads?state=&session=&after=&limit=` of the agent.
public struct DownloadsResponse: Codable, Sendable {
  /// The downloads of this page, the newest first.
  public var downloads: [DownloadStatus]
  /// The `after` of the next page's request; absent on the last page.
  public var next: String?

  /// Creates the document from its members.
  public init(downloads: [DownloadStatus], next: String? = nil) {
    self.downloads = downloads
    self.next = next
  }
}

/// The answer to `DELETE /v1/downloads` of the agent, which forgets downloads that are over and lie in no unfinished
/// transaction.
public struct DownloadsClearResponse: Codable, Hashable, Sendable {
  /// How many were forgotten.
  public var removed: Int

  /// Creates the document from its members.
  public init(removed: Int) {
    self.removed = removed
  }
}

/// `PATCH /v1/downloads/{id}` of the agent.
public struct AgentDownloadChange: Codable, Hashable, Sendable {
  /// Higher goes first among downloads of one urgency; 0 unless changed.
  public var priority: Int?
  /// How urgently it is wanted; ``DownloadUrgency/normal`` unless changed.
  public var urgency: DownloadUrgency?
  /// The app whose download it is from now on.
  public var session: SessionName?
  /// The conditions of the machine that it passes from now on, in place of those before: of ``MachineConditionName/ignorable``.
  public var ignore: [MachineConditionName]?

  /// The values that ``AgentDownloadChange/priority`` may have.
  public static let priorities = -1000...1000

  /// Creates the request. What is nil is left out of it, and stays as it is or takes its default.
  public init(
    priority: Int? = nil, urgency: DownloadUrgency? = nil, session: SessionName? = nil,
    ignore: [MachineConditionName]? = nil
  ) {
    self.priority = priority
    self.urgency = urgency
    self.session = session
    self.ignore = ignore
  }
}
