public import APICalling
public import Commerce
public import ContentPackage
public import HTTPClient
import Measures
public import PullboxAPI

/// The operator's side of a delivery server. Every call throws `APICallError`.
public struct OperatorClient: Sendable {
  /// How long the server may take to check a package of 2 GiB.
  static let inspectionTimeout = Duration.seconds(1800)
  static let pageLength = 200

  public var serverURL: String { api.baseURL }
  let client: HTTPClient
  let api: APIClient

  /// Without a key the server refuses everything with `unauthorized`. Throws when the HTTP client cannot be made.
  public init(server: String, key: String?) throws(HTTPClientError) {
    client = try HTTPClient()
    api = APIClient(baseURL: server, credential: key, client: client)
  }

  // Products.

  /// Nil when the server does not know the product.
  public func product(_ id: ProductIdentifier) async throws(APICallError) -> OperatorProduct? {
    do {
      return try await api.get("/v1/operator/products/\(id)", as: OperatorProduct.self)
    } catch .problem(let problem) where problem.code == .productUnknown {
      return nil
    }
  }

  /// Creates the product or changes all of it. The description's `version` is a folder's own and not sent.
  @discardableResult
  public func put(
    _ id: ProductIdentifier, _ description: ProductDescription
  ) async throws(APICallError) -> OperatorProduct {
    var description = description
    description.id = id
    description.version = nil
    return try await api.call("PUT", "/v1/operator/products/\(id)", body: description).value
  }

  /// One page, `after` being the `next` of the one before.
  public func products(after: String? = nil) async throws(APICallError) -> Page<OperatorProduct> {
    try await api.get("/v1/operator/products", query: Self.page(after))
  }

  // Versions.

  /// The newest first.
  public func versions(of product: ProductIdentifier) async throws(APICallError) -> [VersionRecord] {
    try await api.get("/v1/operator/products/\(product)/versions", as: Page<VersionRecord>.self).items
  }

  /// The manifest of a version that is at the server, as its record names it. Throws ``PackageRefusal`` when the server
  /// answers other bytes.
  public func manifest(of record: VersionRecord) async throws -> Manifest {
    var api = api
    api.maximumResponseLength = PackageLimits.standard.maximumManifestLength
    let response = try await api.exchange(
      "GET", "/v1/operator/products/\(record.product)/versions/\(record.version)/manifest")
    return try UnverifiedManifest(response.body).verified(against: record.manifestDigest)
  }

  /// Makes a complete upload a version. The server checks the package against its manifest first: `package-rejected` lists
  /// every fault. The same content under the same version again is no error.
  public func createVersion(
    of product: ProductIdentifier, _ submission: VersionSubmission
  ) async throws(APICallError) -> VersionRecord {
    var api = api
    api.timeout = Self.inspectionTimeout
    return try await api.call("POST", "/v1/operator/products/\(product)/versions", body: submission).value
  }

  /// One step of review or release; the steps taken before are no error.
  @discardableResult
  public func take(
    _ step: ReviewStep, _ product: ProductIdentifier, _ version: ContentVersion, reason: String? = nil
  ) async throws(APICallError) -> VersionRecord {
    try await api.call(
      "POST", "/v1/operator/products/\(product)/versions/\(version)/\(step.rawValue)",
      body: ReviewDecision(reason: reason)
    ).value
  }

  // Deliveries.

  /// The grants the server recorded, of one product or all.
  public func deliveries(
    of product: ProductIdentifier? = nil, after: String? = nil
  ) async throws(APICallError) -> Page<GrantStatus> {
    let filter = product.map { [("product", $0.text)] } ?? []
    return try await api.get("/v1/operator/deliveries", query: filter + Self.page(after))
  }

  /// Grants, newest first; of one transaction, device or product, or only the revoked ones, where that is given.
  public func grants(
    of product: ProductIdentifier? = nil, transaction: TransactionIdentifier? = nil,
    device: DeviceIdentifier? = nil, revokedOnly: Bool = false, after: String? = nil
  ) async throws(APICallError) -> Page<GrantStatus> {
    var filter: [(String, String)] = []
    if let product { filter.append(("product", product.text)) }
    if let transaction { filter.append(("transaction", transaction.text)) }
    if let device { filter.append(("device", device.text)) }
    if revokedOnly { filter.append(("revoked", "true")) }
    return try await api.get("/v1/operator/grants", query: filter + Self.page(after))
  }

  /// Takes a grant back: its tickets open nothing any more and what is being sent stops. Once more is no error.
  public func revoke(_ grant: GrantIdentifier, reason: String?) async throws(APICallError) -> GrantStatus {
    try await api.call(
      "POST", "/v1/operator/grants/\(grant)/revoke", body: ReviewDecision(reason: reason)
    ).value
  }

  /// Gives a grant back; its device goes on where it was stopped.
  public func reinstate(_ grant: GrantIdentifier, reason: String?) async throws(APICallError) -> GrantStatus {
    try await api.call(
      "POST", "/v1/operator/grants/\(grant)/reinstate", body: ReviewDecision(reason: reason)
    ).value
  }

  /// Removes from the server what nobody needs, or says what that would be. `grace` in place of the server's own.
  public func collect(isDryRun: Bool, grace: Duration? = nil) async throws(APICallError) -> CollectionReport {
    let wish = CollectionRequest(
      dryRun: isDryRun, graceSeconds: grace.map { Int($0.components.seconds) })
    var api = api
    api.timeout = Self.inspectionTimeout
    return try await api.call("POST", "/v1/operator/collection", body: wish).value
  }

  /// Uploads that are open, the oldest first.
  public func uploads() async throws(APICallError) -> [UploadRecord] {
    try await api.get("/v1/operator/uploads", as: Page<UploadRecord>.self).items
  }

  /// Sends packages to this server.
  public func uploader(ledger: UploadLedger?) -> Uploader {
    Uploader(server: TusServer(api: api, client: client), ledger: ledger)
  }

  private static func page(_ after: String?) -> [(String, String)] {
    [("limit", String(pageLength))] + (after.map { [("after", $0)] } ?? [])
  }
}
