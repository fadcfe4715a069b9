import AgentRecords
import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The query of `GET /v1/downloads` and `GET /v1/transactions`: `state`, `session`, `after` and `limit`.
struct ListQuery: Hashable, Sendable {
  /// The values of `limit` that are taken.
  static let limits = 1...1000
  /// The limit where none is given.
  static let usualLimit = 200

  /// `live`, `over`, or a word that the list's own states have; nil for all.
  let state: String?
  /// The app whose items are asked for; nil for all.
  let session: SessionName?
  /// The last item of the page before.
  let after: String?
  /// Items of the page, at most.
  let limit: Int

  /// Throws `request-malformed`.
  init(_ request: HTTPRequest) throws(Problem) {
    try request.requireQuery(only: ["state", "session", "after", "limit"])
    state = request.queryValue("state")
    let name = request.queryValue("session")
    session = name.flatMap { SessionName($0) }
    guard name == nil || session != nil else {
      throw Problem(.requestMalformed, "session is 1 to 64 characters of A-Z a-z 0-9 . _ -")
    }
    after = request.queryValue("after")
    limit = try request.number("limit", in: Self.limits, default: Self.usualLimit)
  }

  /// The states of downloads that are asked for. Throws `request-malformed` for one that downloads do not have.
  func downloadStates() throws(Problem) -> Set<DownloadStatus.State> {
    let all = DownloadStatus.State.allCases
    switch state {
    case nil: return Set(all)
    case "live": return Set(all.filter { !$0.isFinal })
    case "over": return Set(all.filter(\.isFinal))
    case let word?:
      guard let state = DownloadStatus.State(rawValue: word) else {
        throw Problem(.requestMalformed, "state is live, over, or a download's state")
      }
      return [state]
    }
  }

  /// Throws `request-malformed` for another state than live and over. Nil for all.
  func transactionFilter() throws(Problem) -> TransactionFilter? {
    switch state {
    case nil: nil
    case "live": .unfinished
    case "over": .over
    default: throw Problem(.requestMalformed, "state is live or over")
    }
  }

  /// A page of downloads, the newest first.
  func page(of downloads: DownloadManager) async throws -> DownloadsResponse {
    let states = try downloadStates()
    let after = try place { DownloadIdentifier($0) }
    let items = try await downloads.downloads(
      in: states, of: session, after: after, limit: limit + 1)
    let (page, next) = cut(items) { $0.id.description }
    return DownloadsResponse(downloads: page, next: next)
  }

  /// A page of transactions, by identifier.
  func page(of transactions: TransactionManager) async throws -> AgentTransactionsResponse {
    let filter = try transactionFilter()
    let after = try place { TransactionIdentifier($0) }
    let items = try await transactions.statuses(
      filter, of: session, after: after, limit: limit + 1)
    let (page, next) = cut(items) { $0.id.description }
    return AgentTransactionsResponse(transactions: page, next: next)
  }

  /// Throws `request-malformed` for a mark that is no identifier.
  private func place<Identifier>(_ make: (String) -> Identifier?) throws(Problem) -> Identifier? {
    guard let after else { return nil }
    guard let place = make(after) else {
      throw Problem(.requestMalformed, "after: the list does not have '\(after)'")
    }
    return place
  }

  /// Cuts `items` to the page, and returns the identifier of its last item if there are more. The caller reads one item
  /// more than the page holds, so that it shows whether another page follows.
  private func cut<Item>(_ items: [Item], identifier: (Item) -> String) -> (page: [Item], next: String?) {
    let page = Array(items.prefix(limit))
    return (page, items.count > limit ? page.last.map(identifier) : nil)
  }
}
