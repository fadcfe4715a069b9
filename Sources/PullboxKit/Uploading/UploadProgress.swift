public import PullboxAPIClient
public import CoreTypes

/// How an upload stands.
public struct UploadProgress: Sendable {
  public enum Activity: Sendable {
    /// Asking where the upload stands, or beginning one.
    case asking
    case sending
    /// The connection or the server is gone; it is tried again after `retryIn`.
    case waiting(APICallError, retryIn: Duration)
  }

  public var activity: Activity
  /// At the server, as far as is known; goes back when a connection broke with bytes under way.
  public var sent: ByteCount
  public var total: ByteCount
  /// Where this run found the upload: more than zero when an earlier one had begun it.
  public var resumedAt: ByteCount
}
