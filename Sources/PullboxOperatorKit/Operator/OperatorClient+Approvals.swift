public import PullboxAPI
public import PullboxAPIClient
public import ServiceAPI

/// The steps that want a second operator (`secondOperator`), and the revocation of many grants together.
extension OperatorClient {
  /// The requests, the newest first: in one state, or all of them. `after` is the `next` of the page before.
  public func approvals(
    in state: Approval.State? = nil, after: String? = nil
  ) async throws(APICallError) -> Page<Approval> {
    try await api.get(
      "/v1/operator/approvals", query: Self.filter([("state", state?.rawValue)]) + Self.page(after))
  }

  /// Approves a request, whose step is taken at once. Throws what the step is refused with, such as `precondition-failed`, and
  /// `second-key-required` for the key that asked for it.
  public func approve(_ id: Int64) async throws(APICallError) -> Approval {
    try await api.call(
      "POST", "/v1/operator/approvals/\(id)/approve", body: EmptyBody(), headers: Self.stepHeaders()
    ).value
  }

  /// Declines a request. The reason stays with it, and in the audit log.
  public func decline(_ id: Int64, reason: String?) async throws(APICallError) -> Approval {
    try await api.call(
      "POST", "/v1/operator/approvals/\(id)/decline", body: ReasonBody(reason: reason),
      headers: Self.stepHeaders()
    ).value
  }

  /// Revokes the grants that stand of a device or of a transaction, 1,000 at most; the report says whether there are more.
  public func revokeAll(_ revocation: RevocationRequest) async throws(APICallError) -> RevocationReport {
    try await api.call(
      "POST", "/v1/operator/revocations", body: revocation, headers: Self.stepHeaders()
    ).value
  }
}
