public import Commerce
public import CoreTypes

/// `GET /v1/status` of the agent.
public struct AgentStatus: Codable, Sendable {
  /// How the last call to a service went.
  public struct Peer: Codable, Sendable {
    public var url: String
    public var reachable: Bool?
    public var lastSuccess: Timestamp?
    public var lastError: String?

    public init(url: String, reachable: Bool? = nil, lastSuccess: Timestamp? = nil, lastError: String? = nil)
    {
      self.url = url
      self.reachable = reachable
      self.lastSuccess = lastSuccess
      self.lastError = lastError
    }
  }

  public var device: DeviceIdentifier
  public var server: Peer
  public var store: Peer
  public var started: Timestamp
  public var libraryPath: String
  public var freeSpace: ByteCount
  /// Counts by download state.
  public var downloads: [String: Int]
  public var unfinishedTransactions: Int

  public init(
    device: DeviceIdentifier, server: Peer, store: Peer, started: Timestamp, libraryPath: String,
    freeSpace: ByteCount, downloads: [String: Int], unfinishedTransactions: Int
  ) {
    self.device = device
    self.server = server
    self.store = store
    self.started = started
    self.libraryPath = libraryPath
    self.freeSpace = freeSpace
    self.downloads = downloads
    self.unfinishedTransactions = unfinishedTransactions
  }
}
