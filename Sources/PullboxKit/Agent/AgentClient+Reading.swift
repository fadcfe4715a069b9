public import Commerce
public import PullboxAPI
public import PullboxAPIClient

/// The words of readers about content that the library holds.
extension AgentClient {
  /// Keeps what the library holds of the product, so that it is never removed to make room, or ends that. Throws `library-item-unknown`, and
  /// `library-offline` while the library's volume is not there.
  @discardableResult
  public func setPinned(
    _ isPinned: Bool, _ product: ProductIdentifier
  ) async throws(APICallError) -> [LibraryItem] {
    try await api.call(
      "POST", "/v1/library/\(product)/\(isPinned ? "pin" : "unpin")", body: EmptyBody(),
      as: LibraryResponse.self
    ).value.items
  }

  /// Tells that a reader opens the product now: what was opened last is removed last to make room. Throws `library-item-unknown`.
  @discardableResult
  public func noteOpened(_ product: ProductIdentifier) async throws(APICallError) -> [LibraryItem] {
    try await api.call(
      "POST", "/v1/library/\(product)/opened", body: EmptyBody(), as: LibraryResponse.self
    ).value.items
  }

  /// How far the product was read on this device, by any program. Throws `library-item-unknown`.
  public func reading(of product: ProductIdentifier) async throws(APICallError) -> ReadingResponse {
    try await api.get("/v1/library/\(product)/progress")
  }

  /// Tells how far the product is read now, and returns what counts from then on: this, or a later word of another program. Throws
  /// `library-item-unknown`, and `request-malformed` for a page that it does not have.
  @discardableResult
  public func report(
    _ report: ReadingReport, of product: ProductIdentifier
  ) async throws(APICallError) -> ReadingResponse {
    try await api.call("PUT", "/v1/library/\(product)/progress", body: report, as: ReadingResponse.self).value
  }
}
