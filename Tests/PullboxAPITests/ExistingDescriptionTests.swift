import Commerce
import CoreTypes
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// The documents that are made of what is there: descriptions of it, reports of it.
@Suite("Descriptions of what exists")
struct ExistingDescriptionTests {
  /// With every member that a product has; docs/catalogue.md.
  private static let product = """
    {
      "application": "com.example.comics",
      "availableFrom": "2026-12-01T00:00:00.000Z",
      "availableUntil": "2027-12-01T00:00:00.000Z",
      "id": "com.example.heroes.issue42",
      "keepRevoked": true,
      "localizations": {"fr-FR": {"description": "Celui du phare", "terms": "Par mois", "title": "Héros nº 42"}},
      "ownedIf": {"originalVersionBelow": "2.0"},
      "period": "P1M",
      "preservedPrices": [
        {"before": "2026-06-01T00:00:00.000Z", "prices": {"FRA": {"amount": "1.99", "currency": "EUR"}}}
      ],
      "priceTier": "3",
      "prices": {"FRA": {"amount": "2.99", "currency": "EUR"}},
      "privacyURL": "https://comics.example/privacy",
      "publication": "com.example.heroes",
      "publicationDate": "2026-09-01T00:00:00.000Z",
      "publisherKeys": ["66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"],
      "samples": ["images/001.jpg"],
      "type": "non-consumable"
    }
    """

  private func members(_ value: some Encodable) throws -> [String: String] {
    try members(String(decoding: APIJSON.encode(value), as: UTF8.self))
  }

  private func members(_ text: String) throws -> [String: String] {
    try JSONText.members(text).mapValues { try JSONText.text($0) }
  }

  @Test("a product that is described as it is loses nothing; the publisher's keys are left as they are")
  func products() throws {
    let product = try APIJSON.decode(Product.self, from: Array(Self.product.utf8))
    var expected = try members(Self.product)
    let schema = try OpenAPIDocument().root["components"]?["schemas"]?["Product"]
    #expect(schema?["properties"]?.members.map(\.key).sorted() == expected.keys.sorted())
    expected["publisherKeys"] = nil
    #expect(try members(ProductDescription(of: product)) == expected)
    expected["onSale"] = "false"
    #expect(try members(ProductDescription(of: product, onSale: false)) == expected)
  }

  @Test("so does a publication, but for its dates")
  func publications() throws {
    let sample = try #require(WireSample.all.first { $0.name == "OperatorPublication" })
    for text in [sample.full, sample.minimal] {
      let publication = try APIJSON.decode(OperatorPublication.self, from: Array(text.utf8))
      let expected = try members(text).filter { !["created", "changed"].contains($0.key) }
      #expect(try members(PublicationDescription(of: publication)) == expected)
    }
  }

  @Test(
    "a product is on sale where its sale is cleared, and in no other state", arguments: SaleState.allCases)
  func sales(state: SaleState) throws {
    let moment = Timestamp(millisecondsSinceEpoch: 0)
    let product = OperatorProduct(
      product: try APIJSON.decode(Product.self, from: Array(Self.product.utf8)), sale: state,
      clearedForSale: false, created: moment, changed: moment, versions: [], versionCount: 0)
    #expect(product.onSale == (state == .cleared))
    #expect(try members(product)["sale"] == "\"\(state.rawValue)\"")
  }

  @Test("a store of which nothing happened yet is told with what is always there, and nothing is held back")
  func stores() throws {
    let status = StoreStatus(name: "apple", kind: "apple", environments: ["Production"])
    let schema = try OpenAPIDocument().root["components"]?["schemas"]?["StoreStatus"]
    let told = try members(status)
    #expect(told.keys.sorted() == schema?["required"]?.texts.sorted())
    #expect(told["isReachable"] == "true")
    #expect(told["questionsStopped"] == "false" && told["callsStopped"] == "false")
    #expect(told.values.count { $0 == "0" } == 3)
  }

  @Test("the tier 0 is there without a price")
  func freeTier() throws {
    #expect(
      String(decoding: try APIJSON.encode(PriceTier.free), as: UTF8.self) == #"{"name":"0","prices":{}}"#)
  }

  @Test("a scope that there is none of is refused with those that there are, and is not repeated")
  func scopes() throws {
    let error = #expect(throws: DecodingError.self) {
      try APIJSON.decode([OperatorScope].self, from: Array(#"["a-secret-by-mistake"]"#.utf8))
    }
    let sentence = APIJSON.explain(try #require(error))
    #expect(!sentence.contains("mistake"))
    for scope in OperatorScope.allCases { #expect(sentence.contains(scope.rawValue)) }
  }

  @Test("an entry of the news is the feed's entry with what the agent knows beside its members")
  func news() throws {
    let entry = try APIJSON.decode(FeedEntry.self, from: Array(WireSample.feedEntry.utf8))
    let bare = try members(entry)
    #expect(try members(NewsEntry(entry)) == bare)
    let told = NewsEntry(entry, title: "Heroes", cover: "/c.png")
    #expect(try members(told) == bare.merging(["title": "\"Heroes\"", "cover": "\"/c.png\""]) { $1 })
    #expect(told.product == entry.product)
    #expect(try APIJSON.decode(NewsEntry.self, from: APIJSON.encode(told)) == told)
  }
}
