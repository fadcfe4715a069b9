import PullboxAPIServer
import HTTPServer
import PullboxAPI
import ServiceRuntime

extension DeliveryComponents {
  /// Everything that is not answered on a loop.
  func routes(_ metrics: ServiceMetrics) -> APIRoutes {
    let (database, publicURL) = (infrastructure.database, infrastructure.configuration.publicURL ?? "")
    let catalog = Catalog(database: database, clock: infrastructure.clock)
    let publisher = VersionPublisher(
      database: database, blobs: infrastructure.blobs, uploads: uploads, collector: collector,
      clock: infrastructure.clock)
    var routes = APIRoutes()
    CatalogRoutes(catalog: catalog, list: ProductListCache(catalog: catalog), keys: operators).add(
      to: &routes)
    GrantRoutes(grants: grants, settings: settings).add(to: &routes)
    UploadRoutes(uploads: uploads, keys: operators).add(to: &routes)
    PublishingRoutes(
      publisher: publisher, versionService: versions, costs: UpdateSizeEstimator(database: database),
      keys: operators
    ).add(to: &routes)
    OperatorGrantRoutes(grants: grants, keys: operators).add(to: &routes)
    ContentRoutes(
      packages: packages, verifier: verifier, meters: meters, timer: infrastructure.timer,
      publicURL: publicURL
    )
    .add(to: &routes)
    GarbageCollectionRoutes(collector: collector, keys: operators).add(to: &routes)
    OperationsRoutes(database: database, metrics: metrics).add(to: &routes)
    ListRoutes(database: database, recorder: recorder, keys: operators).add(to: &routes)
    return routes
  }

  /// Answers off the loops, counts what it answered, and logs what failed.
  func handler(_ metrics: ServiceMetrics) -> ForwardedClientHandler {
    let (log, counts) = (infrastructure.log, metrics.routes)
    let router = routes(metrics).router(
      reporting: { request, error in
        log.error(
          "request failed",
          [
            "request": LogValue(request.id), "method": LogValue(request.method.rawValue),
            "path": LogValue(AccessLine.redacted(request.path)), "error": LogValue(error),
          ])
      },
      observing: { route, _, response, problem in
        counts.add(route: route, status: response.status.rawValue, problem: problem?.code?.text)
      })
    return ForwardedClientHandler(handler: router, settings: settings)
  }

  /// Answers on the loops.
  func contentHandler(_ metrics: ServiceMetrics) -> ContentHandler {
    ContentHandler(
      packages: packages, verifier: verifier, meters: meters, timer: infrastructure.timer,
      metrics: metrics.content)
  }
}
