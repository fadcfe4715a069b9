/// `POST /v1/operator/products/{id}/versions/{v}/withdraw`; both members may be left out.
public struct WithdrawalRequest: Codable, Sendable, OperatorWritten {
  public var reason: String?
  /// Downloads that run are broken off, and grants made before open the content no more.
  public var stopDownloads: Bool?

  public init(reason: String? = nil, stopDownloads: Bool? = nil) {
    self.reason = reason
    self.stopDownloads = stopDownloads
  }
}
