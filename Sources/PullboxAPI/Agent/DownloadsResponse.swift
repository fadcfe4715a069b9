/// `GET /v1/downloads` of the agent.
public struct DownloadsResponse: Codable, Sendable {
  public var downloads: [DownloadStatus]

  public init(downloads: [DownloadStatus]) {
    self.downloads = downloads
  }
}
