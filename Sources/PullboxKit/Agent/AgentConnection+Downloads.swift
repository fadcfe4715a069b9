public import APICalling
import Measures
public import PullboxAPI

extension AgentConnection {
  /// Every download the agent knows of, the oldest first.
  public func downloads() async throws(APICallError) -> [DownloadStatus] {
    try await api.get("/v1/downloads", as: DownloadsResponse.self).downloads
  }

  public func download(_ id: String) async throws(APICallError) -> DownloadStatus {
    try await api.get(try address(id, ""))
  }

  /// What was verified is kept. Like the two below, answers how the download stands then, and throws `download-unknown`,
  /// or `state-conflict` where its state does not allow it.
  @discardableResult
  public func pause(_ id: String) async throws(APICallError) -> DownloadStatus {
    try await steer(id, "pause")
  }

  @discardableResult
  public func resume(_ id: String) async throws(APICallError) -> DownloadStatus {
    try await steer(id, "resume")
  }

  /// What was fetched is dropped; the transaction stays unfinished.
  @discardableResult
  public func cancel(_ id: String) async throws(APICallError) -> DownloadStatus {
    try await steer(id, "cancel")
  }

  /// Higher goes first; 0 unless changed.
  @discardableResult
  public func setPriority(_ priority: Int, of id: String) async throws(APICallError) -> DownloadStatus {
    try await api.call("PATCH", try address(id, ""), body: AgentDownloadChange(priority: priority)).value
  }

  private func steer(_ id: String, _ verb: String) async throws(APICallError) -> DownloadStatus {
    try await api.call("POST", try address(id, "/\(verb)"), body: Nothing()).value
  }

  /// A name that could not be a download's never gets into a path.
  private func address(_ id: String, _ suffix: String) throws(APICallError) -> String {
    let isName =
      !id.isEmpty
      && id.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
        default: false
        }
      }
    guard isName else { throw .problem(Problem(.downloadUnknown, "'\(id)' is no download's identifier")) }
    return "/v1/downloads/\(id)\(suffix)"
  }
}
