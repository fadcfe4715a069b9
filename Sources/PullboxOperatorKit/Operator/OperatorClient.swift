public import Commerce
public import ContentPackage
import CoreTypes
import Crypto
public import HTTPClient
public import PullboxAPI
public import PullboxAPIClient
public import ServiceAPI

/// The operator's side of a delivery server: its catalog, its versions and their review, its grants, its
/// uploads.
///
/// Lists come page by page; `OperatorClient+Review.swift` has the way of a version to its readers, and
/// `OperatorClient+Lists.swift` what the server has recorded. Every call throws `APICallError`: `problem`
/// when the server refuses, `unreachable` when none answers.
///
/// ```swift
/// let client = try OperatorClient(server: "https://comics.example", key: key)
/// try await client.put(product, description)
/// let upload = try await client.uploader(resumeFile: nil).upload(package)
/// let record = try await client.createVersion(of: product, VersionSubmission(upload: upload, version: version))
/// try await client.perform(.submit, on: product, version: record.version)
/// ```
public struct OperatorClient: Sendable {
  /// How long the server may take to check a package of 2 GiB.
  static let inspectionTimeout = Duration.seconds(1800)
  static let pageLength = 200

  let client: HTTPClient
  private(set) var api: APIClient

  /// How long calls are repeated while the server does not answer; nil, the default, makes each call once.
  /// Every call of an operator may be made twice; steps that a repetition could take again carry a key. Uploads retry
  /// by themselves.
  public var unavailabilityRetry: UnavailabilityRetry? {
    get { api.unavailabilityRetry }
    set { api.unavailabilityRetry = newValue }
  }

  /// Called after each request and its answer, uploads excepted; nil, the default, for no one.
  public var observer: (@Sendable (APIExchange) -> Void)? {
    get { api.observer }
    set { api.observer = newValue }
  }

  /// `server` is the base URL of the delivery server, `key` an operator's key; without one the server refuses
  /// everything with `unauthorized`. `certificateAuthorityFile` is a PEM file of the authorities whose certificates
  /// count in place of the system's. Connects with the first call. Throws when the HTTP client cannot be made.
  public init(
    server: String, key: String?, certificateAuthorityFile: String? = nil
  ) throws(HTTPClientError) {
    var configuration = HTTPClientConfiguration()
    configuration.trust.certificateAuthorityFile = certificateAuthorityFile
    client = try HTTPClient(configuration: configuration)
    api = APIClient(baseURL: server, credential: key, client: client)
  }

  // Products.

  /// The product as the operator sees it; nil when the server does not know it.
  public func product(_ id: ProductIdentifier) async throws(APICallError) -> OperatorProduct? {
    do {
      return try await api.get("/v1/operator/products/\(id)", as: OperatorProduct.self)
    } catch .problem(let problem) where problem.code == .productUnknown {
      return nil
    }
  }

  /// Creates the product or replaces its description. The description's `id` and `version` are not sent: the
  /// identifier is `id`, and the version belongs to a folder that is published.
  @discardableResult
  public func put(
    _ id: ProductIdentifier, _ description: ProductDescription
  ) async throws(APICallError) -> OperatorProduct {
    try await put(id, description, headers: [])
  }

  /// Creates the product; one of that name that exists stays as it is. Whether it was created.
  @discardableResult
  public func create(
    _ id: ProductIdentifier, _ description: ProductDescription
  ) async throws(APICallError) -> Bool {
    do {
      _ = try await put(id, description, headers: [("If-None-Match", "*")])
      return true
    } catch .problem(let problem) where problem.code == .preconditionFailed {
      return false
    }
  }

  private func put(
    _ id: ProductIdentifier, _ description: ProductDescription, headers: [(String, String)]
  ) async throws(APICallError) -> OperatorProduct {
    var description = description
    description.id = id
    description.version = nil
    return try await api.call(
      "PUT", "/v1/operator/products/\(id)", body: description, headers: headers
    ).value
  }

  /// Removes a product that was described and nothing more: throws `product-unknown`, and `state-conflict` for one that was bought or
  /// has content, and for a subscription that is for sale.
  public func remove(_ id: ProductIdentifier) async throws(APICallError) {
    _ = try await api.exchange("DELETE", "/v1/operator/products/\(id)")
  }

  /// One page of products, `after` being the `next` of the page before; nil is the first. `publication`, `type`, `state` and
  /// `sale` keep the products of one publication, those of that type, those with a version in that state, and those whose
  /// sale is in that one; `next` belongs to one order.
  public func products(
    in publication: ProductIdentifier? = nil, ofType type: ProductType? = nil,
    withVersionsIn state: VersionState? = nil, sale: SaleState? = nil, order: ProductOrder = .id,
    after: String? = nil
  ) async throws(APICallError) -> Page<OperatorProduct> {
    let filter = Self.filter([
      ("publication", publication?.description), ("type", type?.rawValue), ("state", state?.rawValue),
      ("sale", sale?.rawValue), ("order", order == .id ? nil : order.rawValue),
    ])
    return try await api.get("/v1/operator/products", query: filter + Self.page(after))
  }

  /// Makes all these products as they are described, or none: throws `catalog-invalid` with every fault, whose path begins with
  /// `products.` and the number of the product from 0.
  public func importCatalog(_ items: CatalogImport) async throws(APICallError) -> CatalogImportReport {
    var patient = api
    patient.timeout = Self.inspectionTimeout
    return try await patient.call("POST", "/v1/operator/catalog", body: items).value
  }

  /// The price tiers, the free one first.
  public func priceTiers() async throws(APICallError) -> [PriceTier] {
    try await api.get("/v1/operator/price-tiers", as: PriceTierList.self).tiers
  }

  /// Removes a price tier: throws `price-tier-unknown`, and `state-conflict` while a product names it.
  public func removePriceTier(_ name: PriceTierName) async throws(APICallError) {
    _ = try await api.exchange("DELETE", "/v1/operator/price-tiers/\(name)")
  }

  /// Forgets the description of a publication; its products stay. Throws `publication-unknown`.
  public func removePublication(_ id: ProductIdentifier) async throws(APICallError) {
    _ = try await api.exchange("DELETE", "/v1/operator/publications/\(id)")
  }

  /// The publications that are described.
  public func publications() async throws(APICallError) -> [OperatorPublication] {
    var (items, after): ([OperatorPublication], String?) = ([], nil)
    repeat {
      let page: Page<OperatorPublication> = try await api.get(
        "/v1/operator/publications", query: Self.page(after))
      items += page.items
      after = page.next
    } while after != nil
    return items
  }

  /// Takes a step with a product's sale: hands it in with its picture, decides on it, or takes it off sale. Throws `product-invalid`
  /// with every fault that a reviewer would find.
  @discardableResult
  public func perform(
    _ step: ProductStep, on product: ProductIdentifier
  ) async throws(APICallError) -> OperatorProduct {
    let path = "/v1/operator/products/\(product)"
    if case .submit(let screenshot?, _) = step {
      _ = try await api.exchange(
        "PUT", path + "/screenshot", bytes: screenshot, mediaType: "application/octet-stream")
    }
    let headers = Self.stepHeaders()
    return switch step {
    case .submit(_, let notes):
      try await api.call("POST", path + "/submit", body: ProductSubmission(notes: notes), headers: headers)
        .value
    case .approve: try await api.call("POST", path + "/approve", body: EmptyBody(), headers: headers).value
    case .reject(let reason):
      try await api.call("POST", path + "/reject", body: ReasonBody(reason: reason), headers: headers).value
    case .withdraw(let reason):
      try await api.call("POST", path + "/withdraw", body: ReasonBody(reason: reason), headers: headers).value
    }
  }

  // Versions.

  /// One page of the product's versions, the newest first; `after` is the `next` of the page before.
  public func versions(
    of product: ProductIdentifier, after: String? = nil
  ) async throws(APICallError) -> Page<VersionRecord> {
    try await api.get("/v1/operator/products/\(product)/versions", query: Self.page(after))
  }

  /// The version with its history; nil when the product has none of that name.
  public func version(
    _ version: ContentVersion, of product: ProductIdentifier
  ) async throws(APICallError) -> VersionRecord? {
    try await taggedVersion(version, of: product)?.record
  }

  /// The version with its history, and the tag by which a step is taken only if it is still so; nil when the product has
  /// none of that name.
  public func taggedVersion(
    _ version: ContentVersion, of product: ProductIdentifier
  ) async throws(APICallError) -> TaggedVersion? {
    do {
      let response = try await api.call(
        "GET", "/v1/operator/products/\(product)/versions/\(version)", body: EmptyBody?.none,
        as: VersionRecord.self)
      return TaggedVersion(record: response.value, tag: response.head.headers["ETag"])
    } catch .problem(let problem) where problem.code == .versionUnknown {
      return nil
    }
  }

  /// The manifest of a version that is at the server. Throws `PackageValidationError` when the server returns
  /// other bytes than those whose digest `record` names.
  public func manifest(of record: VersionRecord) async throws -> Manifest {
    var api = api
    api.maximumResponseLength = PackageLimits.standard.maximumManifestLength
    let response = try await api.exchange(
      "GET", "/v1/operator/products/\(record.product)/versions/\(record.version)/manifest")
    return try UnverifiedManifest(response.body).verified(against: record.manifestDigest)
  }

  /// Makes a complete upload a version. The server checks the package against its manifest first, for up to
  /// half an hour: `package-rejected` lists every fault. The same content under the same version again is no
  /// error.
  public func createVersion(
    of product: ProductIdentifier, _ submission: VersionSubmission
  ) async throws(APICallError) -> VersionRecord {
    var api = api
    api.timeout = Self.inspectionTimeout
    return try await api.call("POST", "/v1/operator/products/\(product)/versions", body: submission).value
  }

  /// Takes a grant back: its tickets open nothing any more and what is being sent stops. Revoking it again is
  /// no error. `reason` is recorded in the audit log.
  public func revoke(
    _ grant: GrantShortName, reason: String?
  ) async throws(APICallError) -> OperatorGrant {
    try await api.call(
      "POST", "/v1/operator/grants/\(grant)/revoke", body: ReasonBody(reason: reason),
      headers: Self.stepHeaders()
    ).value
  }

  /// Gives a grant back; its device continues where it was stopped. `reason` is recorded in the audit log.
  public func reinstate(
    _ grant: GrantShortName, reason: String?
  ) async throws(APICallError) -> OperatorGrant {
    try await api.call(
      "POST", "/v1/operator/grants/\(grant)/reinstate", body: ReasonBody(reason: reason),
      headers: Self.stepHeaders()
    ).value
  }

  /// Removes from the server what is not needed any more, or reports what that would be. `grace` replaces the
  /// server's own grace period; whole seconds.
  public func collectGarbage(isDryRun: Bool, grace: Duration? = nil) async throws(APICallError)
    -> GarbageCollectionReport
  {
    let request = GarbageCollectionRequest(
      dryRun: isDryRun, graceSeconds: grace.map { Int($0.components.seconds) })
    var api = api
    api.timeout = Self.inspectionTimeout
    return try await api.call("POST", "/v1/operator/collection", body: request).value
  }

  /// How the server's packages stand; with `begins`, all of them are read anew from now on.
  public func scrubPackages(begins: Bool) async throws(APICallError) -> PackageScrubReport {
    if begins {
      return try await api.call("POST", "/v1/operator/scrub", headers: [], as: PackageScrubReport.self).value
    }
    return try await api.get("/v1/operator/scrub", as: PackageScrubReport.self)
  }

  /// The server's payment stores, and how it stands with each.
  public func stores() async throws(APICallError) -> [StoreStatus] {
    try await api.get("/v1/operator/stores", as: StoreStatuses.self).stores
  }

  /// Returns the sales. `query` has the parameters of `GET /v1/operator/reports`.
  public func salesReport(_ query: [(String, String)]) async throws(APICallError) -> SalesReport {
    try await api.get("/v1/operator/reports", query: query)
  }

  /// Returns the money that was paid and given back, by territory and currency. `query` is as for ``salesReport(_:)``,
  /// without `by`.
  public func moneyReport(_ query: [(String, String)]) async throws(APICallError) -> MoneyReport {
    try await api.get("/v1/operator/reports/money", query: query)
  }

  /// The same as comma-separated values.
  public func salesReportText(_ query: [(String, String)]) async throws(APICallError) -> [UInt8] {
    try await api.exchange("GET", "/v1/operator/reports", query: query + [("format", "csv")]).body
  }

  /// Uploads that are open, the oldest first.
  public func uploads() async throws(APICallError) -> [UploadRecord] {
    var (items, after): ([UploadRecord], String?) = ([], nil)
    repeat {
      let page: Page<UploadRecord> = try await api.get("/v1/operator/uploads", query: Self.page(after))
      items += page.items
      after = page.next
    } while after != nil
    return items
  }

  /// Sends packages to this server. `resumeFile` is where uploads are remembered that a later process can
  /// resume; nil remembers none.
  public func uploader(resumeFile: UploadResumeFile?) -> Uploader {
    var api = api
    api.unavailabilityRetry = nil
    return Uploader(server: TusClient(api: api, client: client), resumeFile: resumeFile)
  }

  /// A fresh key, which all repetitions of one call have; with `tag`, the call is for that state only.
  static func stepHeaders(ifMatch tag: String? = nil) -> [(String, String)] {
    [("Idempotency-Key", RandomBytes.token(bits: 128))] + (tag.map { [("If-Match", $0)] } ?? [])
  }

  static func page(_ after: String?) -> [(String, String)] {
    [("limit", String(pageLength))] + filter([("after", after)])
  }

  /// The parameters that have a value.
  static func filter(_ parameters: [(String, String?)]) -> [(String, String)] {
    parameters.compactMap { name, value in value.map { (name, $0) } }
  }
}

/// A step of a product on its way to the shop window and out of it.
public enum ProductStep: Sendable {
  /// With the bytes of a picture, PNG or JPEG, at most 1 MiB; nil keeps the one that is there.
  case submit(screenshot: [UInt8]?, notes: String?)
  /// For sale from now on.
  case approve
  /// Not for sale.
  case reject(reason: String?)
  /// Off sale; those who bought it keep what they own.
  case withdraw(reason: String?)
}

/// A version as the server showed it, and the tag of that state.
public struct TaggedVersion: Sendable {
  /// The version with its history.
  public var record: VersionRecord
  /// The `ETag`; nil from a server that sends none.
  public var tag: String?
}
