import APIServing
import Commerce
import HTTPServer
import Measures
import PullboxAPI

/// Versions and their review, for operators.
struct PublishingRoutes: Sendable {
  /// A manifest of 16 MiB in base 64, and the members around it.
  static let maximumSubmissionLength = ByteCount.mebibytes(24)

  let publisher: Publisher
  let keys: OperatorKeys

  func add(to routes: inout ContractRoutes) {
    let versions = "/v1/operator/products/{id}/versions"
    routes.on(.post, versions) { request, parameters in
      let actor = try keys.authorize(request, for: .publish)
      let product = try CatalogRoutes.product(parameters)
      let submission = try await request.decode(VersionSubmission.self, upTo: Self.maximumSubmissionLength)
      let (record, isNew) = try await publisher.createVersion(of: product, from: submission, by: actor)
      return try .json(
        record, status: isNew ? .created : .ok,
        headers: ["Location": "/v1/operator/products/\(product)/versions/\(record.version)"])
    }
    routes.on(.get, versions) { request, parameters in
      _ = try keys.authorize(request, for: .read)
      let records = try await publisher.versions(of: try CatalogRoutes.product(parameters))
      return try .json(Page(items: records))
    }
    routes.on(.get, versions + "/{version}") { request, parameters in
      _ = try keys.authorize(request, for: .read)
      return try .json(
        try await publisher.version(try CatalogRoutes.product(parameters), try Self.version(parameters)))
    }
    routes.on(.get, versions + "/{version}/manifest") { request, parameters in
      _ = try keys.authorize(request, for: .read)
      let bytes = try await publisher.manifest(
        try CatalogRoutes.product(parameters), try Self.version(parameters))
      return HTTPResponse(status: .ok, headers: ["Content-Type": "application/json"], body: .bytes(bytes))
    }
    for (step, scope) in Self.steps {
      routes.on(.post, versions + "/{version}/" + step.rawValue) { request, parameters in
        let actor = try keys.authorize(request, for: scope)
        let decision = try await request.decodeIfPresent(ReviewDecision.self)
        return try .json(
          try await publisher.take(
            step, try CatalogRoutes.product(parameters), try Self.version(parameters),
            reason: decision?.reason, by: actor))
      }
    }
  }

  private static let steps: [(VersionMachine.Step, OperatorScope)] = [
    (.submit, .publish), (.approve, .review), (.reject, .review), (.release, .publish), (.withdraw, .publish),
  ]

  private static func version(_ parameters: PathParameters) throws(Problem) -> ContentVersion {
    guard let version = ContentVersion(parameters["version"]) else {
      throw Problem(.versionUnknown, "not a version: dotted integers, such as 1.10")
    }
    return version
  }
}
