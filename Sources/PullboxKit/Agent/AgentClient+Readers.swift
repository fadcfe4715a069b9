public import PullboxAPI
public import PullboxAPIClient

/// The keys by which applications for reading show what the agent's store account owns.
extension AgentClient {
  /// Lets an application in. Its name and its password are told once. Throws `device-limit`, `purchase-required`, and
  /// `store-unavailable` or `unavailable` while a service is away.
  public func addReader(_ reader: AgentReaderRequest) async throws(APICallError) -> NewReaderKey {
    try await api.call("POST", "/v1/readers", body: reader).value
  }

  /// The keys, the oldest first, without their passwords. Throws as ``addReader(_:)`` does.
  public func readers() async throws(APICallError) -> [ReaderKeyList.Item] {
    try await api.call("POST", "/v1/readers/list", body: EmptyBody(), as: ReaderKeyList.self).value.readers
  }

  /// Ends a key; it opens nothing from then on. Throws `not-found`, and as ``addReader(_:)`` does.
  public func removeReader(_ name: ReaderName) async throws(APICallError) {
    _ = try await api.exchange("DELETE", "/v1/readers/\(name)")
  }

  /// The key by which programs of this device read the library itself as a catalog, with its address. Throws `state-conflict` where the
  /// agent serves none.
  public func localReader() async throws(APICallError) -> NewReaderKey {
    try await api.call("POST", "/v1/readers/local", body: EmptyBody()).value
  }
}
