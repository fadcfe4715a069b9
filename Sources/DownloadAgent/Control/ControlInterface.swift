import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import HTTPServer
import LibraryCatalog
import Monitoring
import PullboxAPI
import PullboxAPIServer
import ServiceRuntime
import SystemCalls

/// The agent's API on its Unix socket: a process that may open the socket may watch, and ``ChangeAuthority`` says which may
/// change something.
struct ControlInterface: Sendable {
  /// The downloads that clients list, change and watch.
  let downloads: DownloadManager
  /// The purchases and restores.
  let transactions: TransactionManager
  /// The license, by which it is said what is owned.
  let licenses: LicenseKeeper
  /// The news from the feed.
  let arrivals: ArrivalFollower
  /// The content on this device.
  let library: Library
  /// How far it was read.
  let reading: ReadingShelf
  /// The offers of server and store together.
  let shop: Shop
  /// The hub of the event stream.
  let hub: EventHub
  /// The device, whose identifier the status tells.
  let identity: DeviceIdentity
  /// The health of the delivery server.
  let server: EndpointHealth
  /// The health of the store.
  let store: EndpointHealth
  /// The conditions of the machine.
  let conditions: ConditionWatch
  /// The probes for a status that asks.
  let probes: PeerProbes
  /// The rule of who may change something.
  let authority: ChangeAuthority
  /// The library as a catalog for programs of this device; nil where it is not served.
  let catalog: CatalogServer?
  /// The start of the process.
  let started: Timestamp
  /// The clock of heartbeats.
  let clock: any MonotonicClock
  /// The clock of what readers tell.
  let wallClock: any WallClock
  /// The log of failures and of changes that were asked for.
  let log: Log
  /// The metrics, with the counts of requests.
  let metrics: ServiceMetrics
  /// Between two comment lines of a resting event stream.
  var heartbeat: Duration = .seconds(15)

  /// A longer body of a request is refused.
  static let maximumBody = ByteCount.kibibytes(64)

  /// All routes of the socket. The check of users stands before those that change something, and before no
  /// other.
  func router() -> Router {
    var routes = self.routes()
    routes.guardChanges(by: authority, log: log)
    return router(of: routes)
  }

  /// The routes of the socket, open to all.
  func routes() -> APIRoutes {
    var routes = monitoringRoutes()
    addLists(to: &routes)
    addDownloads(to: &routes)
    addLibrary(to: &routes)
    addSections(to: &routes)
    addReading(to: &routes)
    addFiles(to: &routes)
    addVersions(to: &routes)
    addOwnership(to: &routes)
    addShop(to: &routes)
    addReaders(to: &routes)
    addConditions(to: &routes)
    routes.on(.get, "/v1/events") { request, _ in
      try events(for: request.credentials?.user, after: request.headers["Last-Event-ID"])
    }
    return routes
  }

  /// Returns the routes of an address for monitoring. They tell nothing about content and change none.
  func monitoringRouter() -> Router { router(of: monitoringRoutes()) }

  /// Metrics and health: ready as soon as it answers.
  private func monitoringRoutes() -> APIRoutes {
    var routes = APIRoutes()
    routes.onHealth(ready: { nil })
    routes.on(.get, "/metrics") { _, _ in .metrics(await metrics.page()) }
    return routes
  }

  /// Logs errors that are no problems, and counts every request by its route.
  private func router(of routes: APIRoutes) -> Router {
    let requests = metrics.routes
    return routes.router(
      reporting: { request, error in
        log.error(
          "a request failed", ["request": "\(request.method) \(request.path)", "error": LogValue(error)])
      },
      observing: { route, _, response, problem, duration in
        requests.count(
          route: route, status: response.status.rawValue, problem: problem?.code?.text, duration: duration)
      })
  }

  /// Adds the routes of status, transactions, restores and news.
  private func addLists(to routes: inout APIRoutes) {
    routes.on(.get, "/v1/status") { request, _ in
      if request.queryValue("ask") == "true" { await probes.ask() }
      return try .json(try await status())
    }
    routes.on(.get, "/v1/transactions") { request, _ in
      try .json(try await ListQuery(request).page(of: transactions))
    }
    routes.on(.get, "/v1/transactions/{id}") { _, parameters in
      guard let identifier = TransactionIdentifier(parameters["id"]),
        let known = try await transactions.status(identifier)
      else { throw Problem(.transactionUnknown) }
      return try .json(known)
    }
    routes.on(.get, "/v1/restore") { _, _ in
      try .json(EntitlementsResponse(products: try await transactions.owned()))
    }
    routes.on(.get, "/v1/news") { _, _ in
      try .json(NewsResponse(entries: try await arrivals.news()))
    }
    routes.on(.post, "/v1/restore") { request, _ in
      let wanted = try await Self.restoreRequest(request)
      return try .json(
        AgentRestoreResponse(products: try await restore(wanted, by: request.credentials?.user)),
        status: .accepted)
    }
  }

  /// Begins to fetch what is owned and missing, and answers the products. Throws the problem that stands in the way.
  func restore(_ wanted: AgentRestoreRequest, by user: UInt32?) async throws -> [ProductIdentifier] {
    try Self.check(ignored: wanted.ignore)
    return try await transactions.restorePurchases(wanted, by: user) { await shop.noteTitles(of: $0) }
  }

  /// Returns the request's body. Without a body, and for each member that is missing, the request is for everything.
  private static func restoreRequest(_ request: HTTPRequest) async throws -> AgentRestoreRequest {
    let wanted =
      try await request.decodeIfPresent(AgentRestoreRequest.self, upTo: maximumBody) ?? AgentRestoreRequest()
    if let limit = wanted.limit, limit < 1 {
      throw Problem(.requestMalformed, "limit is 1 or more")
    }
    return wanted
  }

  /// Adds the routes of downloads. Clearing forgets transactions that are over, too.
  private func addDownloads(to routes: inout APIRoutes) {
    routes.on(.get, "/v1/downloads") { request, _ in
      try .json(try await ListQuery(request).page(of: downloads))
    }
    routes.on(.delete, "/v1/downloads") { _, _ in
      let removed = try await downloads.clearHistory()
      _ = try await transactions.clearHistory()
      return try .json(DownloadsClearResponse(removed: removed))
    }
    routes.on(.get, "/v1/downloads/{id}") { _, parameters in
      try .json(try await downloads.status(try Self.download(parameters)))
    }
    let requests: [(String, DownloadMachine.Event)] = [
      ("pause", .pauseRequested), ("resume", .resumeRequested), ("cancel", .cancelRequested),
    ]
    for (name, event) in requests {
      routes.on(.post, "/v1/downloads/{id}/\(name)") { _, parameters in
        try .json(try await downloads.request(event, of: try Self.download(parameters)))
      }
    }
    routes.on(.patch, "/v1/downloads/{id}") { request, parameters in
      let change = try await request.decode(AgentDownloadChange.self, upTo: Self.maximumBody)
      guard change != AgentDownloadChange() else {
        return try .json(try await downloads.status(try Self.download(parameters)))
      }
      guard change.priority.map(AgentDownloadChange.priorities.contains) ?? true else {
        throw Problem(.requestMalformed, "priority is a number from -1000 to 1000")
      }
      try Self.check(ignored: change.ignore)
      return try .json(
        try await downloads.change(
          change, of: try Self.download(parameters), by: request.credentials?.user))
    }
  }

  /// The download of the path. Throws `download-unknown` for a text that cannot be one.
  static func download(_ parameters: PathParameters) throws(Problem) -> DownloadIdentifier {
    guard let identifier = DownloadIdentifier(parameters["id"]) else {
      throw Problem(.downloadUnknown, "that is no download's identifier")
    }
    return identifier
  }

  /// Everything is as it was last known; ``PeerProbes`` asks before that where a client wants it.
  private func status() async throws -> AgentStatus {
    let held = try await libraryStatus()
    var counts: [String: Int] = [:]
    for (state, count) in try await downloads.counts() { counts[state.rawValue] = count }
    return AgentStatus(
      device: identity.identifier, server: server.status, store: store.status, started: started,
      libraryPath: library.paths.library, freeSpace: held.free, downloads: counts,
      unfinishedTransactions: await transactions.unfinishedCount, libraryState: held.state,
      libraryLength: held.length, reserve: library.space.reserve, quota: library.space.quota,
      waitingForRoom: await downloads.waitingForRoomCount, network: await downloads.networkLimits,
      conditions: await conditions.heldConditions())
  }
}

extension ControlInterface {
  /// Server-sent events (WHATWG HTML §9.2): first every unfinished transaction and every live download, then
  /// every change. A reader that comes back with `Last-Event-ID` gets what came behind that event, or `reset` and the state anew where not
  /// all of it is kept. A comment line now and then shows both sides that the other is there. The stream ends when
  /// the agent ends, when the reader closes it, and for a reader that falls too far behind. Throws
  /// `too-many-requests` for an observer too many.
  func events(for user: UInt32?, after identifier: String?) throws -> HTTPResponse {
    guard let observer = hub.subscribe(user: user, after: identifier) else {
      throw Problem(
        .tooManyRequests,
        "at most \(EventHub.maximumObservers) observers, \(EventHub.maximumObserversOfUser) of one user",
        retryAfterSeconds: 5)
    }
    return HTTPResponse(
      status: .ok,
      headers: [
        "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
      ],
      body: .stream { writer in
        defer { hub.unsubscribe(observer) }
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            while true {
              try await clock.sleep(for: heartbeat)
              observer.postHeartbeat()
            }
          }
          defer { group.cancelAll() }
          // A first line at once tells the observer that it is connected, even when nothing happens.
          try await writer.write(": pullbox agent\n\n")
          while let item = await observer.next() { try await writer.write(lines(item)) }
        }
      })
  }

  /// An item as it stands in the stream. JSON has no line breaks, so that one `data` line holds it. An event without data is none, and
  /// sets the identifier that a reader comes back with.
  func lines(_ item: EventObserver.Item) throws -> [UInt8] {
    switch item {
    case .heartbeat: Array(":\n\n".utf8)
    case .reset: Array("event: reset\ndata: {}\n\n".utf8)
    case .mark(let number): Array("id: \(hub.identifier(of: number))\n\n".utf8)
    case .event(let event): try lines(event, "")
    case .numbered(let event, let number): try lines(event, "\nid: \(hub.identifier(of: number))")
    }
  }

  private func lines(_ event: AgentEvent, _ identifier: String) throws -> [UInt8] {
    Array("event: \(event.name)\ndata: ".utf8) + (try event.encodedData()) + Array("\(identifier)\n\n".utf8)
  }
}
