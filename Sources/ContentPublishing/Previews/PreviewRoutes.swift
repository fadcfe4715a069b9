import Commerce
import ContentCatalog
import ContentDelivery
package import CoreTypes
package import Database
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess

/// Covers and samples, without a ticket. See docs/publishing.md ("Covers and samples").
package struct PreviewRoutes: Sendable {
  package let database: Database
  package let clock: any WallClock

  package init(database: Database, clock: any WallClock) {
    self.database = database
    self.clock = clock
  }

  /// Pixels that a client may wish for.
  static let widths = PackagePreviews.widths

  /// Adds `GET /v1/products/{id}/cover` and `GET /v1/products/{id}/samples/{n}`, which need no key. Only
  /// previews of what is released are shown. With `width` the picture is chosen by the pixels that a client
  /// wishes for. A preview that is not there is answered with `preview-unknown`.
  package func add(to routes: inout ScopedRoutes) {
    routes.public(.get, "/v1/products/{id}/cover", query: ["version", "width"]) { request, parameters in
      let isWished = request.queryValue("width") != nil
      let width = try request.number("width", in: Self.widths, default: 1)
      return try await preview(for: request, parameters) { product, version, now, connection in
        isWished
          ? try PreviewTable.releasedCover(
            width: width, of: product, version: version, at: now, in: connection)
          : try PreviewTable.released(
            PreviewTable.cover, of: product, version: version, at: now, in: connection)
      }
    }
    routes.public(.get, "/v1/products/{id}/samples/{n}", query: ["version"]) { request, parameters in
      guard let place = Int(parameters["n"]), (1...PackagePreviews.maximumSamples).contains(place) else {
        throw Problem(.previewUnknown, "samples have numbers from 1 to \(PackagePreviews.maximumSamples)")
      }
      return try await preview(for: request, parameters) { product, version, now, connection in
        try PreviewTable.released(place, of: product, version: version, at: now, in: connection)
      }
    }
  }

  /// The content of a version never changes, so that an address that names one is good for ever; the address without changes
  /// with each release. The entity tag is the SHA-256 of the content. Throws `preview-unknown` and
  /// `precondition-failed`.
  private func preview(
    for request: HTTPRequest, _ parameters: PathParameters,
    _ find:
      @escaping @Sendable (
        ProductIdentifier, ContentVersion?, Timestamp, borrowing Connection
      ) throws -> PreviewTable.Preview?
  ) async throws -> HTTPResponse {
    let version = try request.filter("version") { ContentVersion($0) }
    let product = try CatalogRoutes.product(parameters)
    let now = clock.now()
    let found = try await database.read { connection in
      try find(product, version, now, connection)
    }
    guard let found else { throw Problem(.previewUnknown) }
    return try .preview(
      found, to: request,
      cacheControl: version == nil
        ? "public, max-age=\(CatalogRoutes.maximumAge)" : "public, max-age=31536000, immutable")
  }
}
