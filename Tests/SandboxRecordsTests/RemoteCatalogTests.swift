import Commerce
import HTTPClient
import HTTPServer
import PullboxAPI
import ServiceAPI
import Testing

@testable import SandboxRecords

@Suite("The delivery server's catalog")
struct RemoteCatalogTests {
  /// Answers as `GET /v1/products` does, with a free issue, and coins that have a price in the USA alone.
  private static func server() throws -> HTTPServer {
    let router = Router { table in
      table.on(.get, "/v1/products") { request, _ in
        guard let id = request.queryValue("id").flatMap({ ProductIdentifier($0) }) else {
          return HTTPResponse(status: .badRequest)
        }
        var listing = ProductListing(id: id, type: .consumable, title: "A title", description: "Some words")
        // As a catalog did that listed what it does not sell in a territory, without a price.
        if id.description == "com.example.coins", request.queryValue("territory") ?? "USA" == "USA" {
          listing.price = .init(amount: "0.99", currency: "USD", formatted: "$0.99")
        }
        let response = ProductsResponse(products: [listing], invalidProductIdentifiers: [])
        guard let body = try? APIJSON.encode(response) else {
          return HTTPResponse(status: .internalServerError)
        }
        return HTTPResponse(status: .ok, headers: ["Content-Type": "application/json"], body: .bytes(body))
      }
    }
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 1
    let server = HTTPServer(configuration: configuration, handler: router)
    try server.start()
    return server
  }

  @Test(
    "what has prices, but none in the account's territory, is not for sale, even where the catalog lists it")
  func noPriceHere() async throws {
    let server = try Self.server()
    let catalog = RemoteCatalog(
      baseURL: "http://\(try #require(server.boundAddresses.first))", client: try HTTPClient())
    let coins = try #require(ProductIdentifier("com.example.coins"))
    let issue = try #require(ProductIdentifier("com.example.heroes.issue1"))
    let priced = try await catalog.listing(of: coins, territory: "USA", device: nil)
    #expect(priced?.price?.amount == "0.99")
    #expect(try await catalog.listing(of: coins, territory: "FRA", device: nil)?.id == nil)
    #expect(try await catalog.listing(of: issue, territory: "FRA", device: nil)?.id != nil)
    await server.drain()
  }
}
