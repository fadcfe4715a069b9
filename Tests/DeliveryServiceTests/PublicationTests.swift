import Commerce
import CoreTypes
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import Testing

@testable import DeliveryService
@testable import RouteAccess

@Suite("Publications as operators describe them")
struct PublicationTests {
  private static let path = "/v1/operator/publications/com.example.moss"

  private static func code(_ body: () async throws -> Void) async -> ProblemCode? {
    do {
      try await body()
      return nil
    } catch {
      guard case .problem(let problem) = error as? APICallError else { return nil }
      return problem.code
    }
  }

  private static func texts(_ title: String) -> [String: Product.Localization] {
    ["en-US": .init(title: title, description: "Monthly"), "fr-FR": .init(title: "Mousse", description: "")]
  }

  private static func publish(_ product: String, of publication: String, on server: ServerHarness)
    async throws
  {
    try await server.publish(
      (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ product.count) }, as: product,
      description: ProductDescription(publication: ProductIdentifier(publication)))
  }

  @Test(
    "a publication has texts by locale and a place in the list; without a description the identifier stands for it"
  )
  func described() async throws {
    try await ServerHarness.run { server in
      try await Self.publish("com.example.moss1", of: "com.example.moss", on: server)
      try await Self.publish("com.example.kestrel12", of: "com.example.kestrel", on: server)
      func titles(_ locale: String) async throws -> [String] {
        try await server.api.get(
          "/v1/publications", query: [("locale", locale)], as: PublicationsResponse.self
        )
        .publications.map(\.title)
      }
      #expect(try await titles("fr-FR") == ["com.example.kestrel", "com.example.moss"])
      let description = PublicationDescription(localizations: Self.texts("Moss"), order: 1)
      let put = try await server.operatorAPI.call(
        "PUT", Self.path, body: description, as: OperatorPublication.self)
      #expect(put.value.order == 1 && put.value.localizations == Self.texts("Moss"))
      #expect(try await titles("fr-FR") == ["Mousse", "com.example.kestrel"])
      #expect(try await titles("en-GB") == ["Moss", "com.example.kestrel"])

      // The same again changes nothing.
      let again = try await server.operatorAPI.call(
        "PUT", Self.path, body: description, as: OperatorPublication.self)
      #expect(again.value.changed == put.value.changed)
      let actions = try await server.audit([("action", "publication.create")]).count
      #expect(actions == 1)

      for method in ["GET", "DELETE"] {
        let misspelled = try await server.problem {
          _ = try await server.operatorAPI.exchange(method, "/v1/operator/publications/com.example.mos")
        }
        #expect(misspelled.code == .publicationUnknown)
        #expect(
          misspelled.detail
            == "no publication com.example.mos is described; did you mean com.example.moss?")
      }
      _ = try await server.operatorAPI.exchange("DELETE", Self.path)
      #expect(try await titles("fr-FR") == ["com.example.kestrel", "com.example.moss"])
      #expect(
        await Self.code { _ = try await server.operatorAPI.exchange("GET", Self.path) } == .publicationUnknown
      )
      #expect(
        await Self.code { _ = try await server.operatorAPI.exchange("DELETE", Self.path) }
          == .publicationUnknown)
    }
  }

  @Test("a change of another's state is refused, and so is what a publication cannot have")
  func refusals() async throws {
    try await ServerHarness.run { server in
      _ = try await server.operatorAPI.call(
        "PUT", Self.path, body: PublicationDescription(order: 1), as: OperatorPublication.self)
      let tag = try #require(try await server.operatorAPI.exchange("GET", Self.path).headers["ETag"])
      _ = try await server.operatorAPI.call(
        "PUT", Self.path, body: PublicationDescription(order: 2), headers: [("If-Match", tag)],
        as: OperatorPublication.self)
      #expect(
        await Self.code {
          _ = try await server.operatorAPI.call(
            "PUT", Self.path, body: PublicationDescription(order: 3), headers: [("If-Match", tag)],
            as: OperatorPublication.self)
        } == .preconditionFailed)
      #expect(
        await Self.code {
          _ = try await server.operatorAPI.exchange("DELETE", Self.path, headers: [("If-Match", tag)])
        }
          == .preconditionFailed)
      #expect(
        await Self.code {
          _ = try await server.operatorAPI.call(
            "PUT", Self.path,
            body: PublicationDescription(
              id: ProductIdentifier("other"), localizations: Self.texts(""), order: -1),
            as: OperatorPublication.self)
        } == .publicationInvalid)
      let strange = try await server.client.send(
        ClientRequest(
          method: "PUT", url: server.operatorAPI.url(Self.path),
          headers: [("Authorization", "Bearer \(ServerHarness.operatorKey)")],
          body: .bytes(Array(#"{"colour":1}"#.utf8))))
      #expect(strange.status == 400)
    }
  }
}
