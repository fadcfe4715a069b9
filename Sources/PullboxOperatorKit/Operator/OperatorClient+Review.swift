public import Commerce
import PullboxAPI
public import PullboxAPIClient
public import ServiceAPI

/// The way of a version to its readers. Repeating a step that has been taken is no error; one that the
/// version's state does not allow throws `state-conflict`.
extension OperatorClient {
  /// One step that needs nothing but the version's name.
  @discardableResult
  public func perform(
    _ step: ReviewStep, on product: ProductIdentifier, version: ContentVersion
  ) async throws(APICallError) -> VersionRecord {
    try await post(step.rawValue, to: Self.path(of: product, version: version), body: EmptyBody())
  }

  /// Sends a version back from review. Its history keeps `reason`.
  public func reject(
    _ product: ProductIdentifier, version: ContentVersion, because reason: String?
  ) async throws(APICallError) -> VersionRecord {
    try await post(
      "reject", to: Self.path(of: product, version: version), body: ReasonBody(reason: reason))
  }

  /// Releases an approved version to all devices or a part of them, at once or at a date to come. With `tag`, only the
  /// version as it was read with that tag: else `precondition-failed`.
  public func release(
    _ product: ProductIdentifier, version: ContentVersion, with request: ReleaseRequest = ReleaseRequest(),
    ifMatch tag: String? = nil
  ) async throws(APICallError) -> VersionRecord {
    try await post("release", to: Self.path(of: product, version: version), body: request, ifMatch: tag)
  }

  /// Takes the date of its release away.
  public func cancelRelease(
    of product: ProductIdentifier, version: ContentVersion
  ) async throws(APICallError) -> VersionRecord {
    try await api.call(
      "DELETE", Self.path(of: product, version: version) + "/release", body: EmptyBody?.none,
      headers: Self.stepHeaders(), as: VersionRecord.self
    ).value
  }

  /// Ends a version's delivery, by the rules of `request`; `tag` is as in ``release(_:version:with:ifMatch:)``.
  public func withdraw(
    _ product: ProductIdentifier, version: ContentVersion, with request: WithdrawalRequest,
    ifMatch tag: String? = nil
  ) async throws(APICallError) -> VersionRecord {
    try await post("withdraw", to: Self.path(of: product, version: version), body: request, ifMatch: tag)
  }

  /// The bytes that a release would make the devices fetch that hold another version: all of them, or
  /// `percentage` (1 to 100) of them.
  public func updateSizes(
    of product: ProductIdentifier, version: ContentVersion, percentage: Int? = nil
  ) async throws(APICallError) -> UpdateSizes {
    try await api.get(
      Self.path(of: product, version: version) + "/costs",
      query: Self.filter([("percentage", percentage.map(String.init))]))
  }

  private func post(
    _ step: String, to path: String, body: some Encodable & Sendable, ifMatch tag: String? = nil
  ) async throws(APICallError) -> VersionRecord {
    try await api.call(
      "POST", path + "/" + step, body: body, headers: Self.stepHeaders(ifMatch: tag), as: VersionRecord.self
    ).value
  }

  private static func path(of product: ProductIdentifier, version: ContentVersion) -> String {
    "/v1/operator/products/\(product)/versions/\(version)"
  }
}

/// A step from a version to its readers, named in the address of the request.
public enum ReviewStep: String, Sendable, CaseIterable {
  /// From draft to submitted.
  case submit
  /// From submitted to approved.
  case approve
  /// To all devices, at once.
  case release
}
