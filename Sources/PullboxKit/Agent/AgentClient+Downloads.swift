public import PullboxAPIClient
import CoreTypes
public import PullboxAPI

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
