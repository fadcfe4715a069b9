import Commerce
import ContentCatalog
import CoreTypes
import DeliveryModel
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess
import ServiceAPI

/// Versions and their review, for operators. docs/publishing.md describes the steps and docs/openapi.yaml has
/// their documents.
package struct PublishingRoutes: Sendable {
  /// A manifest of 16 MiB in base 64, and the members around it.
  static let maximumSubmissionLength = ByteCount.mebibytes(24)

  /// Makes versions of uploads.
  package let publisher: VersionPublisher
  /// Takes the steps of review, release and withdrawal.
  package let versionService: VersionService
  /// Answers how many bytes a release makes devices fetch.
  package let estimator: UpdateSizeEstimator
  /// Answers how a release goes.
  package let courses: ReleaseCourseReader
  /// Shows the pages of versions.
  package let pages: PackagePageReader

  package init(
    publisher: VersionPublisher, versionService: VersionService, estimator: UpdateSizeEstimator,
    courses: ReleaseCourseReader, pages: PackagePageReader
  ) {
    self.publisher = publisher
    self.versionService = versionService
    self.estimator = estimator
    self.courses = courses
    self.pages = pages
  }

  /// Adds the creation, the lists, the review and the release of versions below
  /// `/v1/operator/products/{id}/versions`. A version that is new is answered with 201, the same one again with
  /// 200.
  package func add(to routes: inout ScopedRoutes) {
    let versions = "/v1/operator/products/{id}/versions"
    routes.on(.post, versions, requires: .publish) { request, parameters, actor in
      let product = try CatalogRoutes.product(parameters)
      let submission = try await request.decode(VersionSubmission.self, upTo: Self.maximumSubmissionLength)
      let (record, isNew) = try await publisher.createVersion(of: product, from: submission, by: actor.name)
      return try .json(
        record, status: isNew ? .created : .ok,
        headers: ["Location": "/v1/operator/products/\(product)/versions/\(record.version)"])
    }
    addLists(versions, to: &routes)
    addReview(versions + "/{version}", to: &routes)
    addRelease(versions + "/{version}", to: &routes)
  }

  /// Adds what is read (scope `read`): the versions, one version, its manifest and its costs.
  private func addLists(_ versions: String, to routes: inout ScopedRoutes) {
    routes.on(.get, versions, requires: .read, query: HTTPRequest.pageQuery) { request, parameters, _ in
      let limit = try request.pageLimit()
      let after = try request.cursor("after") { ContentVersion($0) }
      return try .page(
        try await versionService.versions(
          of: try CatalogRoutes.product(parameters), after: after, limit: limit), of: request)
    }
    routes.on(.get, versions + "/{version}", requires: .read) { request, parameters, _ in
      try .json(
        try await versionService.version(try CatalogRoutes.product(parameters), try Self.version(parameters)),
        to: request, cacheControl: CatalogRoutes.revalidated)
    }
    routes.on(.get, versions + "/{version}/manifest", requires: .read) { _, parameters, _ in
      let bytes = try await versionService.manifest(
        of: try CatalogRoutes.product(parameters), try Self.version(parameters))
      return HTTPResponse(status: .ok, headers: ["Content-Type": "application/json"], body: .bytes(bytes))
    }
    routes.on(.get, versions + "/{version}/course", requires: .read) { _, parameters, _ in
      try .json(
        try await courses.course(of: try CatalogRoutes.product(parameters), try Self.version(parameters)))
    }
    routes.on(.get, versions + "/{version}/pages", requires: .read) { request, parameters, _ in
      try .json(
        try await pages.pages(of: try CatalogRoutes.product(parameters), try Self.version(parameters)),
        to: request, cacheControl: CatalogRoutes.revalidated)
    }
    routes.on(.get, versions + "/{version}/pages/{n}", requires: .read) { request, parameters, _ in
      guard let number = Int(parameters["n"]), number >= 1 else {
        throw Problem(.previewUnknown, "pages have numbers from 1")
      }
      let page = try await pages.page(
        number, of: try CatalogRoutes.product(parameters), try Self.version(parameters))
      return try .preview(page, to: request, cacheControl: CatalogRoutes.revalidated)
    }
    routes.on(.get, versions + "/{version}/costs", requires: .read, query: ["percentage"]) {
      request, parameters, _ in
      let percentage = try request.number("percentage", in: RolloutPercentage.range, default: 100)
      return try .json(
        try await estimator.sizes(
          of: try CatalogRoutes.product(parameters), version: try Self.version(parameters),
          reaching: try VersionService.share(percentage)))
    }
  }

  /// Adds submit (scope `publish`), approve and reject (scope `review`). Each takes an idempotency key and
  /// `If-Match`.
  private func addReview(_ version: String, to routes: inout ScopedRoutes) {
    routes.on(.post, version + "/submit", requires: .publish, takesIdempotencyKey: true) {
      request, parameters, actor in
      try .json(
        try await versionService.under(WriteConditions(request)).submit(
          try CatalogRoutes.product(parameters), try Self.version(parameters), by: actor.name))
    }
    routes.on(.post, version + "/approve", requires: .review, takesIdempotencyKey: true) {
      request, parameters, actor in
      try .json(
        try await versionService.under(WriteConditions(request)).approve(
          try CatalogRoutes.product(parameters), try Self.version(parameters), by: actor.name)
      )
    }
    routes.on(.post, version + "/reject", requires: .review, takesIdempotencyKey: true) {
      request, parameters, actor in
      let reason = try await request.reason()
      return try .json(
        try await versionService.under(WriteConditions(request)).reject(
          try CatalogRoutes.product(parameters), try Self.version(parameters),
          because: reason, by: actor.name))
    }
  }

  /// Adds release, its cancellation and withdraw (scope `publish`). Each takes an idempotency key and
  /// `If-Match`.
  private func addRelease(_ version: String, to routes: inout ScopedRoutes) {
    routes.on(.post, version + "/release", requires: .publish, takesIdempotencyKey: true) {
      request, parameters, actor in
      let release = try await request.decodeIfPresent(ReleaseRequest.self) ?? ReleaseRequest()
      return try .json(
        try await versionService.under(WriteConditions(request)).release(
          try CatalogRoutes.product(parameters), try Self.version(parameters), as: release, by: actor.name))
    }
    routes.on(.delete, version + "/release", requires: .publish, takesIdempotencyKey: true) {
      request, parameters, actor in
      try .json(
        try await versionService.under(WriteConditions(request)).cancelRelease(
          try CatalogRoutes.product(parameters), try Self.version(parameters), by: actor.name))
    }
    routes.on(
      .post, version + "/withdraw", requires: .publish, takesIdempotencyKey: true,
      approval: { request, parameters, _ in try await withdrawal(request, parameters) }
    ) { request, parameters, actor in
      var withdrawal = try await request.decodeIfPresent(WithdrawalRequest.self) ?? WithdrawalRequest()
      withdrawal.reason = try HTTPRequest.checkedReason(withdrawal.reason)
      return try .json(
        try await versionService.under(WriteConditions(request)).withdraw(
          try CatalogRoutes.product(parameters), try Self.version(parameters), as: withdrawal,
          by: actor.name))
    }
  }

  /// The withdrawal as a second operator reads it. One that the version refuses, that changes nothing, or that takes back what was not released
  /// needs no other operator as long as the version stands so.
  private func withdrawal(
    _ request: HTTPRequest, _ parameters: PathParameters
  ) async throws -> Approvals.Verdict {
    let (product, name) = (try CatalogRoutes.product(parameters), try Self.version(parameters))
    let withdrawal = try await request.decodeIfPresent(WithdrawalRequest.self) ?? WithdrawalRequest()
    let reason = try HTTPRequest.checkedReason(withdrawal.reason)
    let record = try await versionService.version(product, name)
    let stops = withdrawal.stopDownloads == true && record.downloadsStopped != true
    try WriteConditions(request).check(record)
    let tag = EntityTag.of(try APIJSON.encode(record))
    guard [.released, .superseded].contains(record.state) || record.state == .withdrawn && stops else {
      return .free(tag: tag)
    }
    return .waits(
      Approvals.Subject(
        action: "version.withdraw", subject: "\(product) \(record.version)",
        reason: stops
          ? ["its downloads are stopped", reason].compactMap { $0 }.joined(separator: ": ") : reason,
        affected: Int64(try await estimator.devices(holding: product, record.version)), tag: tag))
  }

  /// Returns the version in the address. Throws `version-unknown` for a text that is none.
  private static func version(_ parameters: PathParameters) throws(Problem) -> ContentVersion {
    guard let version = ContentVersion(parameters["version"]) else {
      throw Problem(.versionUnknown, "not a version: dotted integers, such as 1.10")
    }
    return version
  }
}
