import Commerce
import CoreTypes
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// The review of products and their way off sale, for operators. See docs/catalogue.md ("The sale as a state").
struct ProductSaleRoutes: Sendable {
  /// Bytes of a screenshot.
  static let maximumScreenshot = ByteCount.mebibytes(1)

  let catalog: Catalog

  /// Adds submit and withdraw (scope `publish`), approve and reject (scope `review`), which take idempotency
  /// keys and `If-Match`, and the screenshot. A screenshot is answered with fields by which no browser runs it.
  func add(to routes: inout ScopedRoutes) {
    let product = "/v1/operator/products/{id}"
    routes.on(.post, product + "/submit", requires: .publish, takesIdempotencyKey: true) {
      request, parameters, actor in
      let submission = try await request.decodeIfPresent(ProductSubmission.self)
      return try .json(
        try await catalog.submit(
          try CatalogRoutes.product(parameters), notes: try HTTPRequest.checkedReason(submission?.notes),
          by: actor.name, under: WriteConditions(request)))
    }
    routes.on(.post, product + "/approve", requires: .review, takesIdempotencyKey: true) {
      request, parameters, actor in
      try .json(
        try await catalog.approve(
          try CatalogRoutes.product(parameters), by: actor.name, under: WriteConditions(request)))
    }
    routes.on(.post, product + "/reject", requires: .review, takesIdempotencyKey: true) {
      request, parameters, actor in
      let reason = try await request.reason()
      return try .json(
        try await catalog.reject(
          try CatalogRoutes.product(parameters), because: reason, by: actor.name,
          under: WriteConditions(request)))
    }
    routes.on(
      .post, product + "/withdraw", requires: .publish, takesIdempotencyKey: true,
      approval: { request, parameters, _ in try await withdrawal(request, parameters) }
    ) { request, parameters, actor in
      let reason = try await request.reason()
      return try .json(
        try await catalog.withdraw(
          try CatalogRoutes.product(parameters), because: reason, by: actor.name,
          under: WriteConditions(request)))
    }
    routes.on(.put, product + "/screenshot", requires: .publish) { request, parameters, actor in
      let bytes = try await request.bytes(upTo: Self.maximumScreenshot)
      try await catalog.setScreenshot(bytes, of: try CatalogRoutes.product(parameters), by: actor.name)
      return HTTPResponse(status: .noContent)
    }
    routes.on(.get, product + "/screenshot", requires: .read) { _, parameters, _ in
      let found = try await catalog.screenshot(of: try CatalogRoutes.product(parameters))
      return HTTPResponse(
        status: .ok,
        headers: [
          "Content-Type": found.mediaType, "ETag": "\"\(found.digest)\"",
          "Cache-Control": CatalogRoutes.revalidated, "X-Content-Type-Options": "nosniff",
          "Content-Security-Policy": "sandbox; default-src 'none'",
        ], body: .bytes(found.content))
    }
  }

  /// The withdrawal as a second operator reads it. A product that is not for sale is withdrawn by one, as long as it stands so.
  private func withdrawal(
    _ request: HTTPRequest, _ parameters: PathParameters
  ) async throws -> Approvals.Verdict {
    let id = try CatalogRoutes.product(parameters)
    let reason = try await request.reason()
    let record = try await catalog.operatorProduct(id)
    try WriteConditions(request).check(record)
    let tag = EntityTag.of(try APIJSON.encode(record))
    guard record.sale == .cleared else { return .free(tag: tag) }
    return .waits(
      Approvals.Subject(action: "product.withdraw", subject: id.description, reason: reason, tag: tag))
  }
}
