import APIServing
import HTTPServer
import PullboxAPI
import ServiceRuntime

extension DeliveryRooms {
  /// Everything that is not answered on a loop.
  func routes(_ metrics: ServiceMetrics) -> ContractRoutes {
    let (database, publicURL) = (ground.database, ground.configuration.publicURL ?? "")
    let catalog = Catalog(database: database, clock: ground.clock)
    let publisher = Publisher(
      database: database, blobs: ground.blobs, uploads: uploads, collector: collector, clock: ground.clock)
    var routes = ContractRoutes()
    CatalogRoutes(catalog: catalog, list: SaleList(catalog: catalog), keys: operators).add(
      to: &routes)
    GateRoutes(gate: gate, settings: settings).add(to: &routes)
    UploadRoutes(desk: uploads, keys: operators).add(to: &routes)
    PublishingRoutes(
      publisher: publisher, desk: versions, costs: UpdateSizeEstimator(database: database), keys: operators
    ).add(to: &routes)
    GrantRoutes(gate: gate, keys: operators).add(to: &routes)
    ContentRoutes(content: content, access: access, meters: meters, timer: ground.timer, publicURL: publicURL)
      .add(to: &routes)
    GarbageCollectionRoutes(collector: collector, keys: operators).add(to: &routes)
    OperationsRoutes(database: database, metrics: metrics).add(to: &routes)
    ListRoutes(database: database, recorder: recorder, keys: operators).add(to: &routes)
    return routes
  }

  /// Answers off the loops, counts what it answered, and logs what failed.
  func handler(_ metrics: ServiceMetrics) -> ClientNaming {
    let (log, counts) = (ground.log, metrics.routes)
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
    return ClientNaming(handler: router, settings: settings)
  }

  /// Answers on the loops.
  func contentHandler(_ metrics: ServiceMetrics) -> ContentHandler {
    ContentHandler(
      content: content, access: access, meters: meters, timer: ground.timer, counts: metrics.content)
  }
}
