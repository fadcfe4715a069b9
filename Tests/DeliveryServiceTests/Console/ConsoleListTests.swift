import Commerce
import CoreTypes
import Foundation
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import ContentGrants
@testable import DeliveryModel
@testable import DeliveryService

@Suite("Orders of the console's lists, and looks side by side", .timeLimit(.minutes(2)))
struct ConsoleListTests {
  private static let everywhere = ["--console", "everywhere"]
  private let package: [UInt8] = Array(0..<200)

  private func signedIn(_ server: ServerHarness) async throws -> ConsoleBrowser {
    let browser = ConsoleBrowser(server)
    try await browser.signIn()
    return browser
  }

  /// The places of these texts on the page, each behind the one before.
  private func areInOrder(_ texts: [String], on page: String) -> Bool {
    var rest = page[...]
    for text in texts {
      guard let found = rest.range(of: text) else { return false }
      rest = rest[found.upperBound...]
    }
    return true
  }

  @Test("products stand by identifier, and by their latest change where the address says so")
  func products() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      for name in ["b", "c", "a"] { try await server.publish(package, as: "com.example.\(name)") }
      let browser = try await signedIn(server)
      let names = ["a", "b", "c"].map { "/console/products/com.example.\($0)\"" }
      #expect(areInOrder(names, on: try await browser.get("/console/products").text))
      let changed = try await browser.get("/console/products?order=changed").text
      #expect(areInOrder([names[0], names[2], names[1]], on: changed))
      #expect(changed.contains("pullbox products --order changed"))
      #expect(changed.contains("/console/json/v1/operator/products?order=changed"))
      let typed = try await browser.get("/console/products?type=non-consumable&order=changed").text
      #expect(typed.contains("pullbox products --type non-consumable --order changed"))
      let refused = try await browser.get("/console/products?order=size").text
      #expect(refused.contains("order cannot be"))
    }
  }

  @Test("applications of several territories and languages are shown side by side what they see of a product")
  func sideBySide() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      var description = ProductDescription()
      description.localizations = [
        "en-GB": Product.Localization(title: "The Garden", description: "Moss."),
        "de-DE": Product.Localization(title: "Der Garten", description: "Moos."),
      ]
      description.prices = [
        "FRA": try #require(Price(amount: "2.99", currency: "EUR")),
        "CHE": try #require(Price(amount: "3.50", currency: "CHF")),
      ]
      try await server.publish(package, description: description)
      let browser = try await signedIn(server)
      let path = "/console/products/com.example.issue1"
      func rows(_ query: String) async throws -> [String] {
        let page = try await browser.get(path + query)
        #expect(page.status == 200)
        let start = try #require(page.text.range(of: "What an application sees</h2>"))
        let table = page.text[start.upperBound...].components(separatedBy: "</table>")[0]
        return Array(table.components(separatedBy: "<tbody")[1].components(separatedBy: "<tr").dropFirst())
      }
      // Without a question: an application without a territory, and one of each that has a price.
      let all = try await rows("")
      #expect(all.count == 3)
      #expect(all[0].contains("none named"))
      #expect(all[1].contains("CHE") && all[1].contains("3.50"))
      #expect(all[2].contains("FRA") && all[2].contains("2,99"))

      let pairs = try await rows("?territory=FRA,+CHE&locale=de-DE+en-GB")
      #expect(pairs.count == 4)
      for (row, (territory, title, price)) in zip(
        pairs,
        [
          ("FRA", "Der Garten", "2,99"), ("FRA", "The Garden", "2,99"), ("CHE", "Der Garten", "3.50"),
          ("CHE", "The Garden", "3.50"),
        ])
      {
        #expect(row.contains(territory) && row.contains(title) && row.contains(price))
      }
      let elsewhere = try await rows("?territory=USA,FRA,USA")
      #expect(elsewhere.count == 2)
      #expect(elsewhere[0].contains("not for sale there") && elsewhere[1].contains("2,99"))
      // One name that is none spoils its own row alone.
      let wrong = try await rows("?territory=France,FRA")
      #expect(wrong[0].contains("territory") && wrong[1].contains("2,99"))

      let many = (0..<15).map { "AA\(Character(UnicodeScalar(65 + UInt8($0))))" }
      #expect(try await rows("?territory=\(many.joined(separator: ","))").count == 12)
      let page = try await browser.get("\(path)?territory=\(many.joined(separator: ","))")
      #expect(page.text.contains("The first 12 pairs."))
    }
  }

  @Test(
    "what was sold stands as it is counted, and with most units or refunds first on request")
  func money() async throws {
    try await ServerHarness.run(options: Self.everywhere) { server in
      let infrastructure = server.server.components.infrastructure
      let store = GrantStore(database: infrastructure.database, clock: server.clock)
      for (name, count) in [("a", 1), ("b", 3), ("c", 2)] {
        let sale = VerifiedTransaction(
          vouchedForBy: .apple, in: .production, id: try #require(TransactionIdentifier("9\(count)")),
          originalID: try #require(TransactionIdentifier("9\(count)")),
          product: try #require(ProductIdentifier("com.example.\(name)")),
          purchaseDate: server.clock.now() - .seconds(60), expiresDate: nil, revokedDate: nil,
          quantity: count, territory: nil, asOf: server.clock.now())
        _ = try await store.record([sale], by: .init()) { _ in }
      }
      let browser = try await signedIn(server)
      func page(_ order: String) async throws -> String {
        try await browser.get("/console/money?order=\(order)").text
      }
      let names = ["a", "b", "c"].map { ">com.example.\($0)<" }
      #expect(areInOrder(names, on: try await page("")))
      #expect(areInOrder([names[1], names[2], names[0]], on: try await page("units")))
      #expect(areInOrder(names, on: try await page("refunds")))
    }
  }
}
