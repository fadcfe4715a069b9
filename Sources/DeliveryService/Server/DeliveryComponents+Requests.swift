import ContentDelivery
import ContentPublishing
import HTTPServer
import Monitoring
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceRuntime

extension DeliveryComponents {
  /// Everything that is not answered on a loop.
  func routes(_ metrics: ServiceMetrics) -> ScopedRoutes {
    let answers = IdempotentAnswers(
      database: infrastructure.database, clock: leases.clock, process: leases.process,
      log: infrastructure.log)
    let scrubber = publishing.scrubber
    var routes = ScopedRoutes(keys: access.operators, answers: answers)
    catalog.addRoutes(
      to: &routes, access: access, applications: stores.applications, feeds: feeds, grants: grants)
    granting.addRoutes(to: &routes)
    notifications.addRoutes(to: &routes)
    releases.addRoutes(to: &routes)
    publishing.addRoutes(to: &routes, answers: answers, versions: releases.versions)
    granting.addOperatorRoutes(to: &routes)
    content.addRoutes(to: &routes, noteMissing: { await scrubber.noteMissing($0) })
    publishing.addPackageRoutes(to: &routes)
    readers.addRoutes(to: &routes)
    upkeep.addRoutes(to: &routes, metrics: metrics, recorder: content.recorder)
    stores.addRoutes(to: &routes)
    access.admit(&routes)
    return routes
  }

  /// Answers off the loops, counts what it answered, and logs what failed.
  func handler(of routes: ScopedRoutes, _ metrics: ServiceMetrics) -> ForwardedClientHandler {
    let (log, requests, settings) = (infrastructure.log, metrics.routes, access.settings)
    let router = routes.router(
      reporting: { request, error in
        log.error(
          "request failed",
          [
            "request": LogValue(request.id), "method": LogValue(request.method.rawValue),
            "path": LogValue(AccessLine.redacted(request.path)), "error": LogValue(error),
          ])
      },
      revising: { problem in
        var generator = SystemRandomNumberGenerator()
        return problem.spreadingReturns(using: &generator)
      },
      observing: { route, _, response, problem, duration in
        requests.count(
          route: route, status: response.status.rawValue, problem: problem?.code?.text, duration: duration)
      })
    return ForwardedClientHandler(
      handler: CrossOriginHandler(router: router, settings: settings), settings: settings)
  }

  /// Answers on the loops.
  func contentHandler(_ metrics: ServiceMetrics) -> ContentHandler {
    content.handler(metrics)
  }
}
