import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

extension StoreRoutes {
  /// Puts the faults before each of the routes. It is a wrap of the routes that are there when it is called:
  /// what is added later (controls, metrics, health) answers whatever the faults are. Each request reads the
  /// faults anew: it waits for the latency, then fails with the outage, then gets the status. A status from
  /// 21000 on is none of HTTP and is left to ``PaymentStore/stated(_:)``.
  func addFaults(to routes: inout APIRoutes) {
    routes.wrap { [store] _, _ in
      { request, _, respond in
        let faults = store.faults.current
        if let latency = faults.latency { try await store.timer.sleep(for: .milliseconds(latency)) }
        if faults.outage == true {
          throw Problem(.unavailable, "the store is set to be away", retryAfterSeconds: 1)
        }
        if let status = faults.status, (400...599).contains(status) {
          return HTTPResponse(status: HTTPStatus(rawValue: status))
        }
        return try await respond(request)
      }
    }
  }
}
