import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import ServiceAPI
import Synchronization

/// Answers as the agent does: what a test puts in is listed, and each connection to the events gets the next
/// script.
final class AgentDouble: AsyncHandler {
  private struct State {
    var transactions: [AgentTransaction] = []
    var downloads: [DownloadStatus] = []
    var ended: [DownloadStatus] = []
    var scripts: [[String]] = []
    var requests: [String] = []
    var eventsRefusal = Problem(.forbidden)
    var purchaseKeys: [String] = []
    var purchases: [PurchaseRequest] = []
    var products: AgentProductsResponse?
    var queries: [String] = []
    var lostAnswers = 0
    var restored: [ProductIdentifier]?
    var restores: [AgentRestoreRequest] = []
    var library: [LibraryItem] = []
    var laterLibraries: [[LibraryItem]] = []
  }

  private let state = Mutex(State())

  func list(transactions: [AgentTransaction] = [], downloads: [DownloadStatus] = []) {
    state.withLock { state in
      state.transactions = transactions
      state.downloads = downloads
    }
  }

  /// Sets the downloads that only lists of all downloads have, before the others.
  func list(ended: [DownloadStatus]) { state.withLock { $0.ended = ended } }

  /// Sets what the library holds each time after it was listed; the last of them stays.
  func hold(later libraries: [[LibraryItem]]) { state.withLock { $0.laterLibraries = libraries } }

  /// Each script is what one connection to the events gets, text by text; then it ends.
  func script(_ scripts: [[String]]) { state.withLock { $0.scripts = scripts } }
  /// Sets the problem that connections to the events get when there is no script left.
  func refuseEvents(with problem: Problem) { state.withLock { $0.eventsRefusal = problem } }

  /// Sets the answer to every question for products.
  func answer(products: AgentProductsResponse) { state.withLock { $0.products = products } }
  /// The queries of the questions for products.
  var queries: [String] { state.withLock { $0.queries } }

  /// Sets the answer to each restore; nil refuses it with `purchase-required`. The library holds `items`.
  func answer(restored: [ProductIdentifier]?, library items: [LibraryItem] = []) {
    state.withLock { state in
      state.restored = restored
      state.library = items
    }
  }
  /// The bodies of the requests for a restore.
  var restores: [AgentRestoreRequest] { state.withLock { $0.restores } }

  /// So many purchases are taken without an answer that arrives.
  func loseAnswers(_ count: Int) { state.withLock { $0.lostAnswers = count } }
  /// The key that each request for a purchase bore.
  var purchaseKeys: [String] { state.withLock { $0.purchaseKeys } }

  /// The bodies of the requests for a purchase.
  var purchases: [PurchaseRequest] { state.withLock { $0.purchases } }

  var requests: [String] { state.withLock { $0.requests } }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let (state, script) = self.state.withLock { state in
      state.requests.append("\(request.method) \(request.path)")
      let script =
        request.path == "/v1/events" && !state.scripts.isEmpty ? state.scripts.removeFirst() : nil
      return (state, script)
    }
    switch request.path {
    case "/v1/purchases":
      let body = (try? await request.body.collect(upTo: .mebibytes(1))) ?? []
      if let purchase = try? APIJSON.decode(PurchaseRequest.self, from: body) {
        self.state.withLock { $0.purchases.append(purchase) }
      }
      let isLost = self.state.withLock { state in
        state.purchaseKeys.append(request.headers["Idempotency-Key"] ?? "")
        state.lostAnswers -= 1
        return state.lostAnswers >= 0
      }
      guard isLost else {
        return state.transactions.first.map(Self.json) ?? Self.problem(Problem(.productUnknown))
      }
      return HTTPResponse(
        status: .created, headers: ["Content-Type": "application/json"],
        body: .stream { writer in
          try await writer.write("{")
          throw CancellationError()
        })
    case "/v1/products":
      self.state.withLock { $0.queries.append(request.queryValues("id").joined(separator: " ")) }
      return state.products.map(Self.json) ?? Self.problem(Problem(.storeUnavailable))
    case "/v1/restore":
      let body = (try? await request.body.collect(upTo: .mebibytes(1))) ?? []
      if let wanted = try? APIJSON.decode(AgentRestoreRequest.self, from: body) {
        self.state.withLock { $0.restores.append(wanted) }
      }
      guard let restored = state.restored else { return Self.problem(Problem(.purchaseRequired)) }
      return Self.json(AgentRestoreResponse(products: restored))
    case "/v1/library":
      self.state.withLock { state in
        if !state.laterLibraries.isEmpty { state.library = state.laterLibraries.removeFirst() }
      }
      return Self.json(LibraryResponse(items: state.library))
    case "/v1/transactions": return Self.json(AgentTransactionsResponse(transactions: state.transactions))
    case "/v1/downloads":
      let ended = request.queryValues("state").isEmpty ? state.ended : []
      return Self.json(DownloadsResponse(downloads: ended + state.downloads))
    case "/v1/events":
      guard let script else { return Self.problem(state.eventsRefusal) }
      return HTTPResponse(
        status: .ok, headers: ["Content-Type": "text/event-stream"],
        body: .stream { writer in
          for text in script { try await writer.write(text) }
        })
    case let path where path.hasSuffix("/pause"):
      guard let download = state.downloads.first else { return Self.problem(Problem(.downloadUnknown)) }
      return Self.json(download)
    case let path where path.hasPrefix("/v1/downloads/") && request.method == .get:
      return state.downloads.first { path == "/v1/downloads/\($0.id)" }.map(Self.json)
        ?? Self.problem(Problem(.downloadUnknown))
    case let path where path.hasPrefix("/v1/transactions/") && request.method == .get:
      return state.transactions.first { path == "/v1/transactions/\($0.id)" }.map(Self.json)
        ?? Self.problem(Problem(.transactionUnknown))
    default: return Self.problem(Problem(.notFound))
    }
  }

  static func text(_ event: AgentEvent) throws -> String {
    "event: \(event.name)\ndata: \(String(decoding: try event.encodedData(), as: UTF8.self))\n\n"
  }

  private static func json(_ value: some Encodable) -> HTTPResponse {
    guard let bytes = try? APIJSON.encode(value) else { return HTTPResponse(status: .internalServerError) }
    return HTTPResponse(status: .ok, headers: ["Content-Type": "application/json"], body: .bytes(bytes))
  }

  private static func problem(_ problem: Problem) -> HTTPResponse {
    let bytes = (try? APIJSON.encode(problem)) ?? []
    return HTTPResponse(
      status: HTTPStatus(rawValue: problem.status), headers: ["Content-Type": "application/problem+json"],
      body: .bytes(bytes))
  }
}
