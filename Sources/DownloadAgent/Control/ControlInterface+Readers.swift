import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer

extension ControlInterface {
  /// Adds the routes of the keys of applications for reading. All three ask the delivery server, to which they show the receipt.
  func addReaders(to routes: inout APIRoutes) {
    routes.on(.post, "/v1/readers") { request, _ in
      let wanted = try await request.decode(AgentReaderRequest.self, upTo: Self.maximumBody)
      let key = try await transactions.addReader(
        wanted.title, territory: try await shop.territory(), locale: wanted.locale)
      return try .json(key, status: .created)
    }
    // It asks with the receipt, which is for those that may change something.
    routes.on(.post, "/v1/readers/list") { _, _ in
      try .json(try await transactions.readers())
    }
    // It shows a secret, which is for those that may change something as well.
    routes.on(.post, "/v1/readers/local") { _, _ in
      guard let key = catalog?.shownKey else {
        throw Problem(.stateConflict, "this device serves no catalog; catalogListen says where it does")
      }
      return try .json(key)
    }
    routes.on(.delete, "/v1/readers/{name}") { _, parameters in
      guard let name = ReaderName(parameters["name"]) else {
        throw Problem(.notFound, "there is no reader's key of that name")
      }
      try await transactions.removeReader(name)
      return HTTPResponse(status: .noContent)
    }
  }
}
