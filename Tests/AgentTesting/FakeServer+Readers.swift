import CoreTypes
import HTTPServer
package import PullboxAPI
import PullboxAPIServer
import PullboxTesting
package import ServiceAPI

/// The keys of applications for reading, as the delivery server makes them.
package struct FakeReaders: Sendable {
  /// The answer to each further request for a key.
  package var password = "kabiz-motur-felan-sipod"
  /// The address that the answer tells; a path for a server that does not know its own.
  package var address = "/opds"
  /// The keys that were made and not removed.
  package var keys: [ReaderKeyList.Item] = []
  /// All requests, with what they showed.
  package var requests: [ReaderKeyRequest] = []
}

extension FakeServer {
  func addReaders(to routes: inout APIRoutes) {
    routes.on(.post, "/v1/readers") { request, _ in
      let asked = try await self.readerRequest(request, "POST /v1/readers")
      let made = self.state.withLock { state in
        let name = "reader\(state.readers.requests.count)"
        state.readers.keys.append(
          .init(
            name: name, title: asked.title ?? "",
            created: Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)))
        return NewReaderKey(name: name, password: state.readers.password, address: state.readers.address)
      }
      return try .json(made, status: .created)
    }
    routes.on(.post, "/v1/readers/list") { request, _ in
      _ = try await self.readerRequest(request, "POST /v1/readers/list")
      return try .json(ReaderKeyList(readers: self.state.current.readers.keys))
    }
    routes.on(.post, "/v1/readers/{name}/remove") { request, parameters in
      _ = try await self.readerRequest(request, "POST /v1/readers/remove")
      let name = parameters["name"]
      let isKnown = self.state.withLock { state in
        let count = state.readers.keys.count
        state.readers.keys.removeAll { $0.name == name }
        return state.readers.keys.count < count
      }
      guard isKnown else { throw Problem(.notFound, "the customer has no reader's key of that name") }
      return HTTPResponse(status: .noContent)
    }
  }

  /// How far products were read elsewhere, by the grants' customer; the later word counts.
  func addReading(to routes: inout APIRoutes) {
    routes.on(.get, "/v1/grants/{grant}/progress") { request, parameters in
      try self.check("GET /v1/grants/progress")
      try self.checkProof(of: request)
      return try .json(GrantProgress(progress: self.state.current.reading[parameters["grant"]]))
    }
    routes.on(.put, "/v1/grants/{grant}/progress") { request, parameters in
      try self.check("PUT /v1/grants/progress")
      try self.checkProof(of: request)
      let told = try await request.decode(ReadingProgress.self)
      let standing = self.state.withLock { state in
        state.readingTold.append(told)
        if let known = state.reading[parameters["grant"]], known.modified > told.modified { return known }
        state.reading[parameters["grant"]] = told
        return told
      }
      return try .json(GrantProgress(progress: standing))
    }
  }

  private func readerRequest(_ request: HTTPRequest, _ name: String) async throws -> ReaderKeyRequest {
    try check(name)
    let asked = try await request.decode(ReaderKeyRequest.self)
    change { $0.readers.requests.append(asked) }
    try checkStore(of: asked.proofs)
    return asked
  }
}
