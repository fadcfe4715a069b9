package import Commerce
package import ContentDelivery
import CoreTypes
import DeliveryRecords
package import HTTPServer
package import PullboxAPI
import PullboxAPIServer
package import RouteAccess
import ServiceAPI
import SystemCalls

/// The catalog's HTTP interface: public lists, and the operator's side.
package struct CatalogRoutes: Sendable {
  /// Identifiers that one request may ask for.
  package static let maximumIdentifiers = 200
  /// Bytes of an import.
  static let maximumImport = ByteCount.mebibytes(64)
  /// Seconds for which a cache may answer for the catalog.
  package static let maximumAge = 60

  package let catalog: Catalog
  /// Has the languages in which prices are written, which a reload may change.
  package let settings: LiveSettings
  private let identifiers: ProductListDocuments

  /// Creates the routes of the catalog and, with them, those of publications, sales and price tiers.
  package init(catalog: Catalog, settings: LiveSettings) {
    self.catalog = catalog
    self.settings = settings
    identifiers = ProductListDocuments(of: catalog) { $0.products.map(\.id) }
  }

  /// Adds the public lists, which caches may keep for ``maximumAge`` seconds, and the operator's side: reading
  /// takes the scope `read`, writing `publish`. Publishers' keys of a product change with the scope `admin`
  /// alone.
  package func add(to routes: inout ScopedRoutes) {
    PublicationRoutes(catalog: catalog, settings: settings).add(to: &routes)
    ProductSaleRoutes(catalog: catalog).add(to: &routes)
    PriceTierRoutes(catalog: catalog).add(to: &routes)
    routes.public(.get, "/products_v1.json", query: ProductListDocuments.query) { request, _ in
      try await identifiers.response(to: request)
    }
    let query: Set<String> = ["id", "locale", "territory", "device", "application", "subscribedSince"]
    routes.public(.get, "/v1/products", query: query, repeatable: ["id"]) { request, _ in
      let names = request.queryValues("id")
      guard names.count <= Self.maximumIdentifiers else {
        throw Problem(.requestMalformed, "at most \(Self.maximumIdentifiers) ids at once")
      }
      let localizer = try ProductLocalizer(of: request, priceLocales: settings.value.priceLocales)
      let device = try request.filter("device") { DeviceIdentifier($0) }
      let application = try request.filter("application") { ApplicationIdentifier($0) }
      // Asked before: what is told may be newer than its date, and never older.
      let changed =
        ConditionalJSON.acceptsGzip(request)
        ? max(
          try await catalog.cache.current().lastChange(before: catalog.clock.now()),
          settings.value.pricesSince)
        : nil
      let products = try await catalog.products(
        names, for: device, localizer: localizer, application: application)
      let cacheControl = "\(device == nil ? "public" : "private"), max-age=\(Self.maximumAge)"
      guard let changed else {
        var response = try HTTPResponse.json(products, to: request, cacheControl: cacheControl)
        response.headers["Vary"] = "Accept-Encoding"
        return response
      }
      let document = try await BlockingPool.computing.run {
        try ConditionalJSON.Document(products, lastModified: changed)
      }
      return try ConditionalJSON.response(to: request, document: document, cacheControl: cacheControl)
    }
    routes.on(.put, "/v1/operator/products/{id}", requires: .publish) { request, parameters, actor in
      let id = try Self.product(parameters)
      let description = try await request.decode(ProductDescription.self)
      return try .json(
        try await catalog.put(
          id, description, by: actor.name, mayChangeKeys: actor.may(.admin), under: WriteConditions(request)))
    }
    routes.on(.delete, "/v1/operator/products/{id}", requires: .publish) { request, parameters, actor in
      try await catalog.removeProduct(
        try Self.product(parameters), by: actor.name, under: WriteConditions(request))
      return HTTPResponse(status: .noContent)
    }
    routes.on(.post, "/v1/operator/catalog", requires: .publish) { request, _, actor in
      let body = try await request.bytes(upTo: Self.maximumImport)
      return try .json(
        try await catalog.importAll(
          body, by: actor.name, mayChangeKeys: actor.may(.admin), under: WriteConditions(request)))
    }
    routes.on(.post, "/v1/operator/catalog/preview", requires: .publish) { request, _, actor in
      let body = try await request.bytes(upTo: Self.maximumImport)
      let (plan, tag) = try await catalog.planImport(
        body, by: actor.name, mayChangeKeys: actor.may(.admin))
      var response = try HTTPResponse.json(plan)
      response.headers["ETag"] = tag
      return response
    }
    routes.on(
      .get, "/v1/operator/products", requires: .read,
      query: HTTPRequest.pageQuery.union(["publication", "type", "state", "sale", "order"])
    ) { request, _, _ in
      let limit = try request.pageLimit()
      let filter = ProductTable.Filter(
        publication: try request.filter("publication") { ProductIdentifier($0) },
        type: try request.filter("type") { ProductType(rawValue: $0) },
        state: try request.filter("state") { VersionState(rawValue: $0) },
        sale: try request.filter("sale") { SaleState(rawValue: $0) })
      switch try request.filter("order", ProductOrder.init(rawValue:)) ?? .id {
      case .id:
        let after = try request.cursor("after") { ProductIdentifier($0) }
        return try .page(
          try await catalog.operatorProducts(after: after, matching: filter, limit: limit), of: request)
      case .changed:
        let change = try request.cursor("after") { ProductTable.Change(cursor: $0) }
        return try .page(
          try await catalog.operatorProducts(changedBefore: change, matching: filter, limit: limit),
          of: request)
      }
    }
    routes.on(.get, "/v1/operator/products/invalid", requires: .read) { _, _, _ in
      let snapshot = try await catalog.cache.current()
      return try .json(await BlockingPool.computing.run { catalog.invalid.report(near: snapshot) })
    }
    routes.on(.get, "/v1/operator/products/{id}", requires: .read) { request, parameters, _ in
      try .json(
        try await catalog.operatorProduct(try Self.product(parameters)), to: request,
        cacheControl: Self.revalidated)
    }
  }

  /// For what an operator reads to change it: kept, and asked for again each time.
  package static let revalidated = "private, no-cache"

  /// The product that a route's `{id}` names. Throws `product-unknown` for what cannot be a name.
  package static func product(_ parameters: PathParameters) throws(Problem) -> ProductIdentifier {
    guard let id = ProductIdentifier(parameters["id"]) else {
      throw Problem(.productUnknown, "not a product identifier: 1 to 255 of A-Z a-z 0-9 . _ -")
    }
    return id
  }
}

extension ProductTable.Change {
  /// Where a page that ends with this change is gone on from.
  var cursor: String { "\(revision).\(id)" }

  /// Nil for what is no cursor.
  init?(cursor: String) {
    guard let point = cursor.firstIndex(of: "."), let revision = Int64(cursor[..<point]),
      let id = ProductIdentifier(String(cursor[cursor.index(after: point)...]))
    else { return nil }
    self.init(revision: revision, id: id)
  }
}
