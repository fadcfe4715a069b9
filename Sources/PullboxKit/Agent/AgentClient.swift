public import Commerce
import CoreTypes
public import HTTPClient
public import PullboxAPI
public import PullboxAPIClient

/// The agent on this device, over its Unix socket.
///
/// Every call throws `APICallError`: `unreachable` when no agent listens there, `problem` when it refuses. Whoever may open
/// the socket may do everything.
public struct AgentClient: Sendable {
  public let socketPath: String
  let client: HTTPClient
  let api: APIClient

  /// Connects when something is asked, not before. Throws when the HTTP client cannot be made.
  public init(socketPath: String) throws(HTTPClientError) {
    self.init(socketPath: socketPath, client: try HTTPClient())
  }

  init(socketPath: String, client: HTTPClient) {
    self.socketPath = socketPath
    self.client = client
    api = APIClient(baseURL: "http://agent", client: client, unixSocketPath: socketPath)
  }

  public func status() async throws(APICallError) -> AgentStatus {
    try await api.get("/v1/status")
  }

  /// Every transaction the agent knows of, finished ones too.
  public func transactions() async throws(APICallError) -> [AgentTransaction] {
    try await api.get("/v1/transactions", as: AgentTransactionsResponse.self).transactions
  }

  /// Buys at the store, in the account the agent has. Answers as soon as the store has taken the purchase: what follows is
  /// the agent's work and is seen in ``events()``.
  public func buy(
    _ product: ProductIdentifier, quantity: Int? = nil
  ) async throws(APICallError) -> AgentTransaction {
    try await api.call(
      "POST", "/v1/purchases", body: AgentPurchaseRequest(product: product, quantity: quantity)
    ).value
  }

  /// Starts a download of everything that is owned and not in the library; answers which products that is.
  @discardableResult
  public func restore() async throws(APICallError) -> [ProductIdentifier] {
    try await api.call("POST", "/v1/restore", body: EmptyBody(), as: AgentRestoreResponse.self).value.products
  }

  /// What ``restore()`` would look at: everything that is owned.
  public func restorePlan() async throws(APICallError) -> [EntitledProduct] {
    try await api.get("/v1/restore", as: EntitlementsResponse.self).products
  }

  public func library() async throws(APICallError) -> [LibraryItem] {
    try await api.get("/v1/library", as: LibraryResponse.self).items
  }

  /// Takes every version of the product off this device; it can be restored later.
  public func remove(_ product: ProductIdentifier) async throws(APICallError) {
    _ = try await api.exchange("DELETE", "/v1/library/\(product)")
  }

  /// Opens the event stream. It starts with every unfinished transaction and every live download, so that nothing is missed
  /// between this call's return and the first event.
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

  public func download(_ id: DownloadIdentifier) async throws(APICallError) -> DownloadStatus {
    try await api.get(address(id))
  }

  /// What was verified is kept. Like the two below, answers how the download stands then, and throws `download-unknown`,
  /// or `state-conflict` where its state does not allow it.
  @discardableResult
  public func pause(_ id: DownloadIdentifier) async throws(APICallError) -> DownloadStatus {
    try await steer(id, "pause")
  }

  @discardableResult
  public func resume(_ id: DownloadIdentifier) async throws(APICallError) -> DownloadStatus {
    try await steer(id, "resume")
  }

  /// What was fetched is dropped; the transaction stays unfinished.
  @discardableResult
  public func cancel(_ id: DownloadIdentifier) async throws(APICallError) -> DownloadStatus {
    try await steer(id, "cancel")
  }

  /// Higher goes first; 0 unless changed.
  @discardableResult
  public func setPriority(_ priority: Int, of id: DownloadIdentifier) async throws(APICallError)
    -> DownloadStatus
  {
    try await api.call("PATCH", address(id), body: AgentDownloadChange(priority: priority)).value
  }

  private func steer(_ id: DownloadIdentifier, _ verb: String) async throws(APICallError) -> DownloadStatus {
    try await api.call("POST", address(id, "/\(verb)"), body: EmptyBody()).value
  }

  private func address(_ id: DownloadIdentifier, _ suffix: String = "") -> String {
    "/v1/downloads/\(id)\(suffix)"
  }
}
