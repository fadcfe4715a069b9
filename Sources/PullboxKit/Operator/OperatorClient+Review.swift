public import Commerce
public import PullboxAPI
public import PullboxAPIClient

/// What an operator does with a version. Every step that was taken before is no error.
extension OperatorClient {
  /// One step that needs nothing but the version's name.
  @discardableResult
  public func take(
    _ step: ReviewStep, _ product: ProductIdentifier, _ version: ContentVersion
  ) async throws(APICallError) -> VersionRecord {
    try await post(step.rawValue, product, version, EmptyBody())
  }

  public func reject(
    _ product: ProductIdentifier, _ version: ContentVersion, because reason: String?
  ) async throws(APICallError) -> VersionRecord {
    try await post("reject", product, version, ReasonBody(reason: reason))
  }

  /// To all devices or a part of them, at once or at a date to come.
  public func release(
    _ product: ProductIdentifier, _ version: ContentVersion, _ request: ReleaseRequest = ReleaseRequest()
  ) async throws(APICallError) -> VersionRecord {
    try await post("release", product, version, request)
  }

  /// Takes the date of its release away.
  public func cancelRelease(
    _ product: ProductIdentifier, _ version: ContentVersion
  ) async throws(APICallError) -> VersionRecord {
    try await api.call(
      "DELETE", Self.path(product, version) + "/release", body: EmptyBody?.none, as: VersionRecord.self
    ).value
  }

  public func withdraw(
    _ product: ProductIdentifier, _ version: ContentVersion, _ request: WithdrawalRequest
  ) async throws(APICallError) -> VersionRecord {
    try await post("withdraw", product, version, request)
  }

  /// What a release to that many devices of a hundred would cost those that hold another version.
  public func costs(
    of product: ProductIdentifier, _ version: ContentVersion, percentage: Int? = nil
  ) async throws(APICallError) -> UpdateSizes {
    try await api.get(
      Self.path(product, version) + "/costs",
      query: Self.filter([("percentage", percentage.map(String.init))]))
  }

  private func post(
    _ name: String, _ product: ProductIdentifier, _ version: ContentVersion, _ body: some Encodable & Sendable
  ) async throws(APICallError) -> VersionRecord {
    try await api.call("POST", Self.path(product, version) + "/" + name, body: body, as: VersionRecord.self)
      .value
  }

  private static func path(_ product: ProductIdentifier, _ version: ContentVersion) -> String {
    "/v1/operator/products/\(product)/versions/\(version)"
  }
}

/// A step from a version to its readers, as the address of the request names it.
public enum ReviewStep: String, Sendable, CaseIterable {
  case submit
  case approve
  /// To all devices, at once.
  case release
}
