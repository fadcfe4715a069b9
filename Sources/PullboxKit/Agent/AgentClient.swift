public import Commerce
import CoreTypes
public import HTTPClient
public import PullboxAPI
public import PullboxAPIClient

/// The agent on this device, over its Unix socket: every call of its control interface, and its events.
///
/// Calls ask once; ``follow(backoff:maximumFailures:clock:generator:_:)`` keeps up with the agent through its
/// restarts, and ``PaymentQueue`` is built on it. Every call throws `APICallError`: `unreachable` when no
/// agent listens there, `problem` when it refuses. A process that may open the socket may do everything.
///
/// ```swift
/// let agent = try AgentClient(socketPath: "/run/pullbox/agent.sock")
/// for download in try await agent.downloads() where download.state == .active {
///   try await agent.pause(download.id)
/// }
/// ```
public struct AgentClient: Sendable {
  /// Where the agent listens.
  public let socketPath: String
  let client: HTTPClient
  let api: APIClient

  /// Connects with the first call. Throws when the HTTP client cannot be made.
  public init(socketPath: String) throws(HTTPClientError) {
    self.init(socketPath: socketPath, client: try HTTPClient())
  }

  init(socketPath: String, client: HTTPClient) {
    self.socketPath = socketPath
    self.client = client
    api = APIClient(baseURL: "http://agent", client: client, unixSocketPath: socketPath)
  }

  /// How the agent itself stands: its services, its library's space, its counts.
  public func status() async throws(APICallError) -> AgentStatus {
    try await api.get("/v1/status")
  }

  /// Every transaction the agent knows of, finished ones too.
  public func transactions() async throws(APICallError) -> [AgentTransaction] {
    try await api.get("/v1/transactions", as: AgentTransactionsResponse.self).transactions
  }

  /// Buys at the store, in the account of the agent, and returns once the store has accepted the purchase:
  /// what follows is the agent's work and is seen in ``events()``. `quantity` is 1 to 10, and 1 when nil.
  public func buy(
    _ product: ProductIdentifier, quantity: Int? = nil
  ) async throws(APICallError) -> AgentTransaction {
    try await api.call(
      "POST", "/v1/purchases", body: AgentPurchaseRequest(product: product, quantity: quantity)
    ).value
  }

  /// Starts a download of everything that is owned and not in the library, and returns those products.
  @discardableResult
  public func restore() async throws(APICallError) -> [ProductIdentifier] {
    try await api.call("POST", "/v1/restore", body: EmptyBody(), as: AgentRestoreResponse.self).value.products
  }

  /// Everything that the account owns: what ``restore()`` compares with the library.
  public func restorePlan() async throws(APICallError) -> [EntitledProduct] {
    try await api.get("/v1/restore", as: EntitlementsResponse.self).products
  }

  /// What is placed on this device, by product and version.
  public func library() async throws(APICallError) -> [LibraryItem] {
    try await api.get("/v1/library", as: LibraryResponse.self).items
  }

  /// Removes every version of the product from this device; it can be restored later. Throws
  /// `library-item-unknown` when there is none.
  public func remove(_ product: ProductIdentifier) async throws(APICallError) {
    _ = try await api.exchange("DELETE", "/v1/library/\(product)")
  }

  /// Opens the event stream. It starts with every unfinished transaction and every live download, so that
  /// nothing is missed between this call's return and the first event. Throws `APICallError`.
  public func events() async throws -> AgentEvents {
    var request = api.request(
      "GET", api.url("/v1/events"), headers: [("Accept", "text/event-stream")])
    // A stream may rest for as long as nothing happens; a dead agent's socket is closed by the kernel.
    request.lowSpeed = nil
    request.receiveBufferLength = .kibibytes(16)
    let connection = EventConnection(request, client: client)
    try await connection.waitUntilOpen()
    return AgentEvents(connection)
  }
}

extension AgentClient {
  /// Every download the agent knows of, the oldest first.
  public func downloads() async throws(APICallError) -> [DownloadStatus] {
    try await api.get("/v1/downloads", as: DownloadsResponse.self).downloads
  }

  /// How the download stands; throws `download-unknown`.
  public func download(_ id: DownloadIdentifier) async throws(APICallError) -> DownloadStatus {
    try await api.get(address(id))
  }

  /// Pauses the download and returns its status then; what was verified is kept. Throws `download-unknown`,
  /// or `state-conflict` when its state does not allow that.
  @discardableResult
  public func pause(_ id: DownloadIdentifier) async throws(APICallError) -> DownloadStatus {
    try await request("pause", of: id)
  }

  /// Continues a paused download, or starts a failed or cancelled one again, and returns its status then.
  /// Throws `download-unknown`, or `state-conflict` when its state does not allow that.
  @discardableResult
  public func resume(_ id: DownloadIdentifier) async throws(APICallError) -> DownloadStatus {
    try await request("resume", of: id)
  }

  /// Cancels the download and returns its status then. What was fetched is dropped; the transaction stays
  /// unfinished. Throws `download-unknown`, or `state-conflict` when its state does not allow that.
  @discardableResult
  public func cancel(_ id: DownloadIdentifier) async throws(APICallError) -> DownloadStatus {
    try await request("cancel", of: id)
  }

  /// Sets the download's priority, -1000 to 1000, and returns its status then. Higher goes first; 0 unless
  /// changed.
  @discardableResult
  public func setPriority(_ priority: Int, of id: DownloadIdentifier) async throws(APICallError)
    -> DownloadStatus
  {
    try await api.call("PATCH", address(id), body: AgentDownloadChange(priority: priority)).value
  }

  private func request(
    _ verb: String, of id: DownloadIdentifier
  ) async throws(APICallError) -> DownloadStatus {
    try await api.call("POST", address(id, suffix: "/\(verb)"), body: EmptyBody()).value
  }

  private func address(_ id: DownloadIdentifier, suffix: String = "") -> String {
    "/v1/downloads/\(id)\(suffix)"
  }
}
