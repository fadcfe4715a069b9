import PullboxAPI
import PullboxAPIClient
import ServiceAPI

/// How far the grant's customer has read its product, on any device. Both requests are signed.
extension DeliveryClient {
  /// The last word; nil where it was not read.
  ///
  /// - Parameter timeout: for the answer: a program may wait for it.
  func progress(of grant: GrantIdentifier, timeout: Duration) async throws(APICallError) -> ReadingProgress? {
    var client = self
    client.api.timeout = timeout
    return try await client.signed("GET", "/v1/grants/\(grant)/progress", as: GrantProgress.self).progress
  }

  /// Tells how far it was read here, and returns what counts from then on.
  func tell(
    _ progress: ReadingProgress, of grant: GrantIdentifier
  ) async throws(APICallError) -> ReadingProgress? {
    try await signed("PUT", "/v1/grants/\(grant)/progress", body: progress, as: GrantProgress.self).progress
  }
}
