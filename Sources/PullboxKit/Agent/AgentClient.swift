public import Commerce
import CoreTypes
import Crypto
import Glibc
public import HTTPClient
public import PullboxAPI
public import PullboxAPIClient
import SystemCalls

/// The agent on this device, over its Unix socket: every call of its control interface, and its events.
///
/// Calls ask once; ``follow(backoff:maximumFailures:clock:generator:_:)`` keeps up with the agent through its
/// restarts, and ``PaymentQueue`` is built on it. Every call throws `APICallError`: `unreachable` when no
/// agent listens there, `problem` when it refuses. A process that may open the socket may watch; the agent's configuration
/// says whose changes it takes (`not-permitted`).
///
/// ```swift
/// let agent = try AgentClient()
/// for download in try await agent.downloads() where download.state == .active {
///   try await agent.pause(download.id)
/// }
/// ```
public struct AgentClient: Sendable {
  /// Where the agent listens.
  public let socketPath: String
  let client: HTTPClient
  private(set) var api: APIClient
  /// The app that buys, redeems and restores by this client, so that it finds its own again (``downloads(of:_:)``); nil for none. A request
  /// that names an app itself goes by that name.
  public var session: SessionName?

  /// Called after each request and its answer, events excepted; nil, the default, for no one.
  public var observer: (@Sendable (APIExchange) -> Void)? {
    get { api.observer }
    set { api.observer = newValue }
  }

  /// Where an agent listens whose socket nothing names: the socket of the user's own agent where there is one, else that
  /// of the device's. A socket that an agent has left behind counts only where no other is there.
  public static var defaultSocketPath: String {
    let candidates = AgentSocket.candidates(user: geteuid(), environment: ProcessEnvironment.variables)
    return socketPath(among: candidates) ?? AgentSocket.systemPath
  }

  /// The first of these sockets at which a process listens; where none does, the first that is there, so that the error of a call names it,
  /// and else the first. Nil for none.
  static func socketPath(among candidates: [String]) -> String? {
    let found = candidates.filter(UnixSocket.isSocket)
    // Without a choice no connection is tried, which would start an agent that systemd listens for.
    guard found.count > 1 else { return found.first ?? candidates.first }
    return found.first { !UnixSocket.isAbandoned($0) } ?? found.first
  }

  /// Connects with the first call. Throws when the HTTP client cannot be made.
  public init(
    socketPath: String = AgentClient.defaultSocketPath, session: SessionName? = nil
  ) throws(HTTPClientError) {
    self.init(socketPath: socketPath, client: try HTTPClient())
    self.session = session
  }

  init(socketPath: String, client: HTTPClient) {
    self.socketPath = socketPath
    self.client = client
    api = APIClient(baseURL: "http://agent", client: client, unixSocketPath: socketPath)
    api.passesOverUnknownWords = true
  }

  /// How the agent itself stands: its services as they answered last, its library's space, its counts. With `asks`, the
  /// agent asks both services first, for five seconds at most.
  public func status(asks: Bool = false) async throws(APICallError) -> AgentStatus {
    try await api.get("/v1/status", query: asks ? [("ask", "true")] : [])
  }

  /// The transactions that the agent knows of, by identifier.
  public func transactions(_ part: AgentListPart = .all) async throws(APICallError) -> [AgentTransaction] {
    var found: [AgentTransaction] = []
    var after: String?
    repeat {
      let page = try await api.get(
        "/v1/transactions", query: part.query(after: after, limit: .max), as: AgentTransactionsResponse.self)
      found += page.transactions
      after = page.transactions.isEmpty ? nil : page.next
    } while after != nil
    return found
  }

  /// How the transaction stands; throws `transaction-unknown`.
  public func transaction(_ id: TransactionIdentifier) async throws(APICallError) -> AgentTransaction {
    try await api.get("/v1/transactions/\(id)")
  }

  /// Buys at the store, in the account of the agent, and returns once the store has accepted the purchase:
  /// what follows is the agent's work and is seen in ``events()``. `quantity` is 1 to 10, and 1 when nil.
  ///
  /// An answer that is lost, as when the agent is upgraded, is asked for again, for half a minute. Store and agent know
  /// the repetition by `key`, so that it buys once; an app that repeats a purchase later gives the same key again.
  /// Without one the call makes one up: 1 to 255 visible characters.
  public func buy(
    _ product: ProductIdentifier, quantity: Int? = nil, key: String? = nil
  ) async throws(APICallError) -> AgentTransaction {
    try await buy(AgentPurchaseRequest(product: product, quantity: quantity), key: key)
  }

  /// The same, with everything that a purchase may say. Throws `price-changed` where the price is not the one that was shown.
  public func buy(
    _ request: AgentPurchaseRequest, key: String? = nil
  ) async throws(APICallError) -> AgentTransaction {
    var request = request
    request.session = request.session ?? session
    return try await askOnce(key: key) { [request] fields throws(APICallError) in
      try await api.call("POST", "/v1/purchases", body: request, headers: fields).value
    }
  }

  /// Returns what a gift or promotional code gives the account of the agent, if it is redeemed now: for a question before ``redeem(_:_:key:)``,
  /// as which it throws. Nothing is redeemed. Its `preview` is nil where the store does not tell that; all of it is nil for an agent of an
  /// earlier version.
  public func preview(
    of code: String, locale: String? = nil
  ) async throws(APICallError) -> AgentCodePreview? {
    guard let code = GiftCode(code) else {
      throw .problem(Problem(.requestMalformed, "a code is letters, digits and hyphens"))
    }
    do {
      return try await api.get(
        "/v1/codes/\(code)", query: locale.map { [("locale", $0)] } ?? [], as: AgentCodePreview.self)
    } catch {
      guard case .problem(let problem) = error, problem.code == .methodNotAllowed else { throw error }
      return nil
    }
  }

  /// Redeems a gift or promotional code at the store, in the account of the agent; what follows is as with ``buy(_:quantity:key:)``, and so
  /// is `key`. Throws `request-malformed` for what is no code, `not-found` where the store knows no such code, `state-conflict` for one that is used up,
  /// that the account has redeemed, that has no price in its territory, and for what it owns. An agent of an earlier version passes over
  /// `wanted`.
  public func redeem(
    _ code: String, _ wanted: AgentRedeemRequest = AgentRedeemRequest(), key: String? = nil
  ) async throws(APICallError) -> AgentTransaction {
    guard let code = GiftCode(code) else {
      throw .problem(Problem(.requestMalformed, "a code is letters, digits and hyphens"))
    }
    var wanted = wanted
    wanted.session = wanted.session ?? session
    return try await askOnce(key: key) { [wanted] fields throws(APICallError) in
      try await api.call(
        "POST", "/v1/codes/\(code)", body: wanted, headers: fields, as: AgentTransaction.self
      ).value
    }
  }

  /// Asks again, for half a minute, while the answer is lost on its way.
  private func askOnce(
    key: String?, _ ask: ([(String, String)]) async throws(APICallError) -> AgentTransaction
  ) async throws(APICallError) -> AgentTransaction {
    let fields = [("Idempotency-Key", key ?? RandomBytes.token(bits: 128))]
    let backoff = Backoff(initial: .milliseconds(200), cap: .seconds(5))
    var generator = SystemRandomNumberGenerator()
    var losses = 0
    while true {
      do throws(APICallError) {
        return try await ask(fields)
      } catch {
        // Only a connection that was there can have lost an answer; after that, one that is not there yet is waited for.
        guard case .unreachable(let cause) = error,
          losses > 0 ? cause.isRetryable : cause.code == .connectionLost,
          losses < 10, !Task.isCancelled
        else { throw error }
        losses += 1
        try? await SystemMonotonicClock().sleep(for: backoff.delay(afterFailures: losses, using: &generator))
      }
    }
  }

  /// Starts a download of everything that is owned, wanted and not in the library, and returns those products. Throws
  /// `purchase-required`, `entitlement-expired` or `entitlement-revoked` for a wanted product that is not owned; nothing is started then.
  @discardableResult
  public func restore(
    _ wanted: AgentRestoreRequest = AgentRestoreRequest()
  ) async throws(APICallError) -> [ProductIdentifier] {
    var wanted = wanted
    wanted.session = wanted.session ?? session
    return try await api.call("POST", "/v1/restore", body: wanted, as: AgentRestoreResponse.self).value
      .products
  }

  /// Everything that the account owns: what ``restore(_:)`` compares with the library.
  public func restorePlan() async throws(APICallError) -> [EntitledProduct] {
    try await api.get("/v1/restore", as: EntitlementsResponse.self).products
  }

  /// Returns the arrivals that the agent does not fetch by itself, since its configuration says `arrivals: "ask"`; the
  /// newest first. ``restore(_:)`` fetches them.
  public func news() async throws(APICallError) -> [NewsEntry] {
    try await api.get("/v1/news", as: NewsResponse.self).entries
  }

  /// Returns the content that is placed on this device, by product and version.
  public func library() async throws(APICallError) -> [LibraryItem] {
    try await api.get("/v1/library", as: LibraryResponse.self).items
  }

  /// Reads every placed file of the product, compares it with its manifest, and returns what was found. Throws
  /// `library-item-unknown`, and `library-offline` while the library's volume is not there.
  public func verify(_ product: ProductIdentifier) async throws(APICallError) -> [LibraryVerification] {
    var patient = api
    // A slow card reads a gibibyte in a minute.
    patient.timeout = .seconds(3600)
    return try await patient.call(
      "POST", "/v1/library/\(product)/verify", body: EmptyBody(), as: LibraryVerificationResponse.self
    ).value.items
  }

  /// Fetches what is missing or damaged of the product, and returns the downloads that do; none when nothing is to be
  /// fetched. A damaged version that a whole newer one replaces is removed. Throws as ``verify(_:)`` does.
  @discardableResult
  public func repair(_ product: ProductIdentifier) async throws(APICallError) -> [DownloadStatus] {
    var patient = api
    patient.timeout = .seconds(3600)
    return try await patient.call(
      "POST", "/v1/library/\(product)/repair", body: EmptyBody(), as: LibraryRepairResponse.self
    ).value.downloads
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
  /// The downloads that the agent knows of, the newest first; at most `limit`.
  public func downloads(
    _ part: AgentListPart = .all, limit: Int = .max
  ) async throws(APICallError) -> [DownloadStatus] {
    try await downloads(state: part == .all ? nil : part.rawValue, limit: limit)
  }

  /// The downloads in that state, the newest first; at most `limit`.
  public func downloads(
    in state: DownloadStatus.State, limit: Int = .max
  ) async throws(APICallError) -> [DownloadStatus] {
    try await downloads(state: state.rawValue, limit: limit)
  }

  private func downloads(state: String?, limit: Int) async throws(APICallError) -> [DownloadStatus] {
    var found: [DownloadStatus] = []
    var after: String?
    repeat {
      let page = try await api.get(
        "/v1/downloads", query: AgentListPart.query(state: state, after: after, limit: limit - found.count),
        as: DownloadsResponse.self)
      found += page.downloads
      after = page.downloads.isEmpty ? nil : page.next
    } while after != nil && found.count < limit
    return Array(found.prefix(limit))
  }

  /// Has the agent forget the downloads that are over, but for those of unfinished transactions; returns how many.
  @discardableResult
  public func clearDownloads() async throws(APICallError) -> Int {
    let response = try await api.exchange("DELETE", "/v1/downloads")
    do {
      return try APIJSON.decode(DownloadsClearResponse.self, from: response.body).removed
    } catch {
      throw .unexpectedResponse(status: response.status, detail: APIJSON.explain(error))
    }
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

  /// Says how urgently the download is wanted, and returns its status then. One that is wanted ``DownloadUrgency/now`` takes
  /// the place of a less urgent one within a moment; that one goes on later, and loses nothing.
  @discardableResult
  public func setUrgency(_ urgency: DownloadUrgency, of id: DownloadIdentifier) async throws(APICallError)
    -> DownloadStatus
  {
    try await api.call("PATCH", address(id), body: AgentDownloadChange(urgency: urgency)).value
  }

  /// Has the download pass these conditions of the machine, and no others, and returns its status then. Only those of
  /// `MachineConditionName.ignorable` can be passed.
  @discardableResult
  public func ignore(
    _ conditions: [MachineConditionName], for id: DownloadIdentifier
  ) async throws(APICallError) -> DownloadStatus {
    try await api.call("PATCH", address(id), body: AgentDownloadChange(ignore: conditions)).value
  }

  /// The conditions of the machine that downloads may wait for, and who tells them.
  public func conditions() async throws(APICallError) -> ConditionsResponse {
    try await api.get("/v1/conditions")
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

/// Which entries of the agent's lists are wanted.
public enum AgentListPart: String, Sendable {
  /// All of them, as far as the agent keeps what is over.
  case all
  /// Those to which something may still happen by itself.
  case live
  /// Those that have ended.
  case over

  /// A page of the agent's has at most 1,000 entries.
  func query(after: String?, limit: Int) -> [(String, String)] {
    Self.query(state: self == .all ? nil : rawValue, after: after, limit: limit)
  }

  static func query(state: String?, after: String?, limit: Int) -> [(String, String)] {
    var query = [("limit", "\(min(max(1, limit), 1000))")]
    if let state { query.append(("state", state)) }
    if let after { query.append(("after", after)) }
    return query
  }
}
