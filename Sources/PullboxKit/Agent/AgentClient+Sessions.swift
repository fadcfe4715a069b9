import Commerce
public import PullboxAPI
public import PullboxAPIClient

extension AgentClient {
  /// The transactions that an app of that name began, by identifier.
  public func transactions(
    of session: SessionName, _ part: AgentListPart = .all
  ) async throws(APICallError) -> [AgentTransaction] {
    var found: [AgentTransaction] = []
    var after: String?
    repeat {
      let page = try await api.get(
        "/v1/transactions",
        query: part.query(after: after, limit: .max) + [("session", session.description)],
        as: AgentTransactionsResponse.self)
      found += page.transactions
      after = page.transactions.isEmpty ? nil : page.next
    } while after != nil
    return found
  }

  /// The downloads of an app of that name, the newest first: those of what it bought or restored, and those that it has made its own.
  public func downloads(
    of session: SessionName, _ part: AgentListPart = .all
  ) async throws(APICallError) -> [DownloadStatus] {
    var found: [DownloadStatus] = []
    var after: String?
    repeat {
      let page = try await api.get(
        "/v1/downloads",
        query: part.query(after: after, limit: .max) + [("session", session.description)],
        as: DownloadsResponse.self)
      found += page.downloads
      after = page.downloads.isEmpty ? nil : page.next
    } while after != nil
    return found
  }

  /// Makes the download that of an app of that name, and returns its status then.
  @discardableResult
  public func setSession(
    _ session: SessionName, of id: DownloadIdentifier
  ) async throws(APICallError) -> DownloadStatus {
    try await api.call("PATCH", "/v1/downloads/\(id)", body: AgentDownloadChange(session: session)).value
  }
}
