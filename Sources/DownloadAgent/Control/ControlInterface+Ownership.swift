import HTTPServer
import PullboxAPIServer

extension ControlInterface {
  /// Adds the answers to whether products are owned. They ask no service. The one about a product knows every product: of one that it never
  /// heard of it says that nothing was bought.
  func addOwnership(to routes: inout APIRoutes) {
    routes.on(.get, "/v1/ownership") { _, _ in
      try .json(try await licenses.ownership())
    }
    routes.on(.get, "/v1/library/{product}/ownership") { _, parameters in
      try .json(try await licenses.ownership(of: try Self.product(parameters)))
    }
  }
}
