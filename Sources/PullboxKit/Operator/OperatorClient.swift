public import Commerce
public import ContentPackage
import CoreTypes
public import HTTPClient
public import PullboxAPI
public import PullboxAPIClient

/// The operator's side of a delivery server. Every call throws `APICallError`.
public struct OperatorClient: Sendable {
  /// How long the server may take to check a package of 2 GiB.
  static let inspectionTimeout = Duration.seconds(1800)
  static let pageLength = 200

  let client: HTTPClient
  private(set) var api: APIClient

  /// How long calls wait for a server that does not answer; nil, unless set, does not wait. Every call of an operator may be
  /// made twice. Uploads have a patience of their own.
  public var unavailabilityRetry: UnavailabilityRetry? {
    get { api.unavailabilityRetry }
    set { api.unavailabilityRetry = newValue }
  }

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

  /// One page, `after` being the `next` of the one before. Narrowed to a publication's products, or to those with a
  /// version in that state.
  public func products(
    in publication: ProductIdentifier? = nil, withVersionsIn state: VersionState? = nil, after: String? = nil
  ) async throws(APICallError) -> Page<OperatorProduct> {
    let filter = Self.filter([("publication", publication?.text), ("state", state?.rawValue)])
    return try await api.get("/v1/operator/products", query: filter + Self.page(after))
  }

  // Versions.

  /// One page, the newest first.
  public func versions(
    of product: ProductIdentifier, after: String? = nil
  ) async throws(APICallError) -> Page<VersionRecord> {
    try await api.get("/v1/operator/products/\(product)/versions", query: Self.page(after))
  }

  /// The version with its history; nil when the product has none of that name.
  public func version(
    _ product: ProductIdentifier, _ version: ContentVersion
  ) async throws(APICallError) -> VersionRecord? {
    do {
      return try await api.get("/v1/operator/products/\(product)/versions/\(version)", as: VersionRecord.self)
    } catch .problem(let problem) where problem.code == .versionUnknown {
      return nil
    }
  }

  /// The manifest of a version that is at the server, as its record names it. Throws ``PackageValidationError`` when the server
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

  /// Takes a grant back: its tickets open nothing any more and what is being sent stops. Once more is no error.
  public func revoke(_ grant: GrantIdentifier, reason: String?) async throws(APICallError) -> GrantStatus {
    try await api.call(
      "POST", "/v1/operator/grants/\(grant)/revoke", body: ReasonBody(reason: reason)
    ).value
  }

  /// Gives a grant back; its device goes on where it was stopped.
  public func reinstate(_ grant: GrantIdentifier, reason: String?) async throws(APICallError) -> GrantStatus {
    try await api.call(
      "POST", "/v1/operator/grants/\(grant)/reinstate", body: ReasonBody(reason: reason)
    ).value
  }

  /// Removes from the server what nobody needs, or says what that would be. `grace` in place of the server's own.
  public func collect(isDryRun: Bool, grace: Duration? = nil) async throws(APICallError)
    -> GarbageCollectionReport
  {
    let wish = GarbageCollectionRequest(
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
  public func uploader(ledger: UploadResumeFile?) -> Uploader {
    var api = api
    api.unavailabilityRetry = nil
    return Uploader(server: TusClient(api: api, client: client), ledger: ledger)
  }

  static func page(_ after: String?) -> [(String, String)] {
    [("limit", String(pageLength))] + filter([("after", after)])
  }

  /// Those that have a value.
  static func filter(_ parameters: [(String, String?)]) -> [(String, String)] {
    parameters.compactMap { name, value in value.map { (name, $0) } }
  }
}
