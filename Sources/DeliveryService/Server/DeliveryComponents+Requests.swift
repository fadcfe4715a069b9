import ContentDelivery
import ContentPublishing
import HTTPServer
import Monitoring
import OperatorConsole
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceRuntime

extension DeliveryComponents {
  /// Everything that is not answered on a loop, as it is declared.
  func routes(_ metrics: ServiceMetrics, of server: WeakServerReference) -> ScopedRoutes {
    let answers = IdempotentAnswers(
      database: infrastructure.database, clock: leases.clock, process: leases.process,
      log: infrastructure.log)
    let scrubber = publishing.scrubber
    let approvals = Approvals(
      database: infrastructure.database, keys: access.operators, clock: infrastructure.clock,
      log: infrastructure.log)
    var routes = ScopedRoutes(keys: access.operators, answers: answers, approvals: approvals)
    catalog.addRoutes(
      to: &routes, access: access, applications: stores.applications, feeds: feeds, grants: grants)
    granting.addRoutes(to: &routes)
    notifications.addRoutes(to: &routes)
    releases.addRoutes(to: &routes)
    publishing.addRoutes(
      to: &routes, answers: answers, versions: releases.versions, courses: releases.courses)
    granting.addOperatorRoutes(to: &routes)
    ApprovalRoutes(approvals).add(to: &routes)
    RevocationRoutes(
      database: infrastructure.database, grants: grants, clock: infrastructure.clock
    ).add(to: &routes)
    content.addRoutes(to: &routes, noteMissing: { await scrubber.noteMissing($0) })
    publishing.addPackageRoutes(to: &routes)
    readers.addRoutes(to: &routes)
    upkeep.addRoutes(to: &routes, metrics: metrics, recorder: content.recorder, server: server)
    stores.addRoutes(to: &routes)
    return routes
  }

  /// Answers off the loops the requests that are admitted, behind the console where there is one.
  func handler(
    of routes: ScopedRoutes, _ metrics: ServiceMetrics, console: Console? = nil
  ) -> ForwardedClientHandler {
    var routes = routes
    access.admit(&routes)
    let settings = access.settings
    let handler = CrossOriginHandler(router: router(of: routes, metrics), settings: settings)
    return ForwardedClientHandler(handler: console.map { $0.before(handler) } ?? handler, settings: settings)
  }

  /// Makes the operators' pages, which read `routes` in the process. What a page reads was admitted with the page.
  func console(over routes: ScopedRoutes, _ metrics: ServiceMetrics) -> Console {
    let (database, clock, log) = (infrastructure.database, infrastructure.clock, infrastructure.log)
    return Console(
      interface: ManagementInterface(router(of: routes, metrics)),
      sessions: ConsoleSessions(database: database, keys: access.operators, clock: clock, log: log),
      keys: access.operators, settings: access.settings, events: ConsoleEvents(timer: infrastructure.timer),
      admission: RouteAdmission(control: access.admission, settings: access.settings), clock: clock, log: log)
  }

  /// Finds the responder of a request, counts what was answered, and logs what failed.
  private func router(of routes: ScopedRoutes, _ metrics: ServiceMetrics) -> Router {
    let (log, requests) = (infrastructure.log, metrics.routes)
    return routes.router(
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
  }

  /// Answers on the loops.
  func loopHandler(_ metrics: ServiceMetrics) -> LoopHandler {
    LoopHandler(content: content.handler(metrics), pages: readers.pageHandler(metrics))
  }
}
