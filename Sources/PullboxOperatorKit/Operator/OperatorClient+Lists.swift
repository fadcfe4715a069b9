public import Commerce
public import CoreTypes
public import PullboxAPI
public import PullboxAPIClient
public import ServiceAPI

/// The records of a server, page by page, the newest first. `after` is the `next` of the page before; nil is the first
/// page.
extension OperatorClient {
  /// Grants as deliveries: of one product, to one device, in one state, or all of them.
  public func deliveries(
    of product: ProductIdentifier? = nil, to device: DeviceIdentifier? = nil, in state: GrantState? = nil,
    after: String? = nil
  ) async throws(APICallError) -> Page<OperatorGrant> {
    let filter = Self.filter([
      ("product", product?.description), ("device", device?.description), ("state", state?.rawValue),
    ])
    return try await api.get("/v1/operator/deliveries", query: filter + Self.page(after))
  }

  /// Grants: of one product, transaction, device or customer, only the revoked ones, or all of them.
  public func grants(
    of product: ProductIdentifier? = nil, transaction: TransactionIdentifier? = nil,
    device: DeviceIdentifier? = nil, customer: String? = nil, revokedOnly: Bool = false,
    after: String? = nil
  ) async throws(APICallError) -> Page<OperatorGrant> {
    let filter = Self.filter([
      ("product", product?.description), ("transaction", transaction?.description),
      ("device", device?.description), ("customer", customer),
      ("revoked", revokedOnly ? "true" : nil),
    ])
    return try await api.get("/v1/operator/grants", query: filter + Self.page(after))
  }

  /// The audit log: about one product, by one key's name, of one action (for example `version.release`), or
  /// all of it.
  public func audit(
    of product: ProductIdentifier? = nil, by actor: String? = nil, action: String? = nil, after: String? = nil
  ) async throws(APICallError) -> Page<AuditEntry> {
    let filter = Self.filter([("product", product?.description), ("actor", actor), ("action", action)])
    return try await api.get("/v1/operator/audit", query: filter + Self.page(after))
  }

  /// Why a customer may have the product at `moment` (now unless given), or not. The customer is named in one way: by the
  /// server's own name, by a transaction, with its store and environment where the number is not enough, by a device, or by
  /// the application's name for its user (`account`).
  public func explain(
    _ product: ProductIdentifier, customer: String? = nil, transaction: String? = nil, device: String? = nil,
    account: String? = nil, store: String? = nil, environment: String? = nil, at moment: Timestamp? = nil
  ) async throws(APICallError) -> ExplanationResponse {
    try await api.get(
      "/v1/operator/explain",
      query: Self.filter([
        ("product", product.description), ("customer", customer), ("transaction", transaction),
        ("device", device), ("account", account), ("store", store), ("environment", environment),
        ("at", moment?.description),
      ]))
  }

  /// A page of what the customer owns at `moment` (now unless given), by product: by which rule, because of which purchase, and until when. The
  /// customer is named as for ``explain(_:customer:transaction:device:account:store:environment:at:)``.
  public func entitlements(
    customer: String? = nil, transaction: String? = nil, device: String? = nil, account: String? = nil,
    store: String? = nil, environment: String? = nil, at moment: Timestamp? = nil, after: String? = nil
  ) async throws(APICallError) -> Page<CustomerEntitlement> {
    try await api.get(
      "/v1/operator/entitlements",
      query: Self.filter([
        ("customer", customer), ("transaction", transaction), ("device", device), ("account", account),
        ("store", store), ("environment", environment), ("at", moment?.description),
      ]) + Self.page(after))
  }

  /// The customers that one of these leads to, with their devices and their readers' keys.
  public func customers(
    customer: String? = nil, transaction: String? = nil, device: String? = nil, account: String? = nil,
    store: String? = nil, environment: String? = nil
  ) async throws(APICallError) -> OperatorCustomers {
    try await api.get(
      "/v1/operator/customers",
      query: Self.filter([
        ("customer", customer), ("transaction", transaction), ("device", device), ("account", account),
        ("store", store), ("environment", environment),
      ]))
  }

  /// Ends a reader's key: the next request with it is refused. Throws the server's `not-found` for a name that no key has.
  public func removeReaderKey(
    _ name: ReaderName, reason: String?
  ) async throws(APICallError) -> OperatorReaderKey {
    try await api.call(
      "POST", "/v1/operator/readers/\(name)/remove", body: ReasonBody(reason: reason),
      headers: Self.stepHeaders()
    ).value
  }

  /// The calls that the server makes to its stores: in one state, to one store, of one kind, or all of them.
  public func outboxCalls(
    in state: OutboxCall.State? = nil, to store: String? = nil, kind: String? = nil, after: String? = nil
  ) async throws(APICallError) -> Page<OutboxCall> {
    let filter = Self.filter([("state", state?.rawValue), ("store", store), ("kind", kind)])
    return try await api.get("/v1/operator/outbox", query: filter + Self.page(after))
  }

  /// Cases in which purchases seem to go from hand to hand: of one kind, or all of them.
  public func irregularities(
    of kind: Irregularity.Kind? = nil, after: String? = nil
  ) async throws(APICallError) -> Page<Irregularity> {
    try await api.get(
      "/v1/operator/irregularities",
      query: Self.filter([("kind", kind?.rawValue)]) + Self.page(after))
  }

  /// Has a call made again at once, also one that is parked or was dropped. One that the store has accepted stays
  /// as it is, and one that is held is made no earlier.
  public func retryOutboxCall(_ id: Int64) async throws(APICallError) -> OutboxCall {
    try await api.call(
      "POST", "/v1/operator/outbox/\(id)/retry", body: EmptyBody?.none, headers: Self.stepHeaders()
    ).value
  }

  /// Decides that a call is not made: its transaction stays unfinished at the store. A call that waits needs a
  /// `reason`, which is recorded in the audit log. One that was accepted or dropped before stays as it is.
  public func dropOutboxCall(_ id: Int64, reason: String?) async throws(APICallError) -> OutboxCall {
    try await api.call(
      "POST", "/v1/operator/outbox/\(id)/drop", body: ReasonBody(reason: reason), headers: Self.stepHeaders()
    ).value
  }
}
