public import Commerce
public import CoreTypes

/// `GET /v1/status` of the agent.
public struct AgentStatus: Codable, Sendable {
  /// How the last call to a service went.
  public struct Peer: Codable, Sendable {
    /// The service's address as the agent's configuration has it.
    public var url: String
    /// Whether the last call was answered; absent before the first call.
    public var reachable: Bool?
    /// When the service last answered; absent until it has.
    public var lastSuccess: Timestamp?
    /// A sentence on the last failure; absent when the last call was answered.
    public var lastError: String?
    /// The method and the path of the last call, such as `GET /healthz`; absent before the first, and from agents that do not
    /// tell.
    public var lastRequest: String?
    /// When the last call ended; absent before the first, and from agents that do not tell.
    public var lastAsked: Timestamp?
    /// The service answers, and takes no call of this device: its token is wrong, for example. Absent when the last call that
    /// could be refused so was not.
    public var refusal: Problem?

    /// Creates the document from its members.
    public init(
      url: String, reachable: Bool? = nil, lastSuccess: Timestamp? = nil, lastError: String? = nil,
      lastRequest: String? = nil, lastAsked: Timestamp? = nil, refusal: Problem? = nil
    ) {
      self.url = url
      self.reachable = reachable
      self.lastSuccess = lastSuccess
      self.lastError = lastError
      self.lastRequest = lastRequest
      self.lastAsked = lastAsked
      self.refusal = refusal
    }
  }

  /// The name that this device bears towards server and store.
  public var device: DeviceIdentifier
  /// The delivery server.
  public var server: Peer
  /// The payment store.
  public var store: Peer
  /// When the agent's process began its work.
  public var started: Timestamp
  /// The folder in which content is placed, absolute.
  public var libraryPath: String
  /// Bytes that are free where the library lies.
  public var freeSpace: ByteCount
  /// Counts by download state.
  public var downloads: [String: Int]
  /// The number of waiting downloads that lack room; absent from agents that do not tell.
  public var waitingForRoom: Int?
  /// Transactions of the store's queue that the agent has not finished yet.
  public var unfinishedTransactions: Int
  /// `offline` while the library's volume is not there, `damaged` when an item is; absent from agents that do not tell.
  public var libraryState: LibraryItem.State?
  /// Bytes that all placed files occupy; absent where that is not known.
  public var libraryLength: ByteCount?
  /// Bytes of free space that the agent never uses; absent from agents that do not tell.
  public var reserve: ByteCount?
  /// Bytes that the library may occupy; absent when only the volume bounds it.
  public var quota: ByteCount?

  /// The bounds of downloads; absent where none is set.
  public var network: NetworkLimits?
  /// The conditions of the machine that downloads wait for now, or would; absent where there is none.
  public var conditions: [MachineConditionStatus]?

  /// Creates the document from its members.
  public init(
    device: DeviceIdentifier, server: Peer, store: Peer, started: Timestamp, libraryPath: String,
    freeSpace: ByteCount, downloads: [String: Int], unfinishedTransactions: Int,
    libraryState: LibraryItem.State? = nil, libraryLength: ByteCount? = nil, reserve: ByteCount? = nil,
    quota: ByteCount? = nil, waitingForRoom: Int? = nil, network: NetworkLimits? = nil,
    conditions: [MachineConditionStatus]? = nil
  ) {
    self.device = device
    self.server = server
    self.store = store
    self.started = started
    self.libraryPath = libraryPath
    self.freeSpace = freeSpace
    self.downloads = downloads
    self.waitingForRoom = waitingForRoom
    self.unfinishedTransactions = unfinishedTransactions
    self.libraryState = libraryState
    self.libraryLength = libraryLength
    self.reserve = reserve
    self.quota = quota
    self.network = network
    self.conditions = conditions
  }
}
