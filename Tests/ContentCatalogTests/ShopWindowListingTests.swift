import Commerce
import CoreTypes
import DeliveryRecords
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentCatalog

/// docs/catalogue.md, "Prices" and "Publications"; docs/publishing.md, "Covers and samples".
@Suite("Products and publications as the shop window shows them")
struct ShopWindowListingTests {
  private static let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)

  private func window(
    _ catalog: CatalogSnapshot, locale: String? = nil, territory: String? = nil, device: String? = nil,
    subscribedSince: String? = nil, priceLocales: [Territory: String] = [:]
  ) throws -> ShopWindow {
    ShopWindow(
      catalog: catalog,
      localizer: ProductLocalizer(
        locale: locale, territory: try territory.map { try #require(Territory($0)) },
        subscribedSince: try subscribedSince.map(SampleProduct.day), priceLocales: priceLocales),
      device: try device.map { try #require(DeviceIdentifier($0)) }, application: nil, now: Self.now)
  }

  private func described(
    _ name: String, titles: [String: String] = [:], cover: String? = nil, order: Int? = nil
  ) throws -> OperatorPublication {
    OperatorPublication(
      id: try SampleProduct.name(name),
      localizations: titles.mapValues { Product.Localization(title: $0, description: "\($0).") },
      cover: try cover.map(SampleProduct.name), order: order, created: Self.now, changed: Self.now)
  }

  @Test("a product is shown with everything that its buyers are told")
  func members() throws {
    var sample = try SampleProduct.subscription("plan", to: "heroes", prices: ["FRA": "2.99"])
    sample.product.localizations = [
      "fr-FR": .init(title: "Héros", description: "Chaque mois", terms: "2,99 € par mois")
    ]
    sample.product.privacyURL = "https://comics.example/privacy"
    sample.product.availableUntil = Self.now + .seconds(1)
    let issue = try SampleProduct.issue("issue1", of: "heroes", on: "2026-11-01")
    let window = try window(.of([sample, issue]), locale: "fr-FR", territory: "FRA")
    let plan = try #require(window.listing("plan"))
    #expect(plan.type == .autoRenewableSubscription && plan.period == .month)
    #expect(plan.title == "Héros" && plan.description == "Chaque mois" && plan.terms == "2,99 € par mois")
    #expect(plan.price?.amount == "2.99" && plan.price?.currency == "EUR")
    #expect(plan.privacyURL == "https://comics.example/privacy")
    #expect(plan.availableUntil == Self.now + .seconds(1))
    #expect(try plan.publication == SampleProduct.name("heroes"))
    #expect(plan.contentVersion == nil && plan.cover == nil && plan.coverURL == nil)
    let shown = try #require(window.listing("issue1"))
    #expect(shown.type == .nonConsumable && shown.price == nil && shown.period == nil)
    #expect(try shown.publicationDate == SampleProduct.day("2026-11-01"))
    #expect(shown.contentVersion?.description == "1.0" && shown.contentLength == ByteCount(1100))
    #expect(shown.cover == "cover.jpg")
    // Without texts its name stands for them.
    #expect(shown.title == "com.example.issue1" && shown.description.isEmpty)
  }

  @Test("a price of the product's own goes before that of its tier, and no price is of another territory")
  func tiers() throws {
    let name = try #require(PriceTierName("3"))
    var sample = try SampleProduct.issue("issue1", prices: ["FRA": "4.99"])
    sample.product.priceTier = name
    let catalog = try CatalogSnapshot.of(
      [sample],
      tiers: [PriceTier(name: name, prices: SampleProduct.prices(["FRA": "2.99", "DEU": "3.99"]))])
    func price(_ territory: String?) throws -> String? {
      try window(catalog, territory: territory).listing("issue1")?.price?.amount
    }
    #expect(try price("FRA") == "4.99")
    #expect(try price("DEU") == "3.99")
    #expect(try price("USA") == nil)
    // Without a territory the first price is shown.
    #expect(try price(nil) == "3.99")
  }

  /// "Of several preserved prices, the one with the earliest date later than the customer's counts."
  @Test("who has subscribed since before a date is shown the price that was preserved at that date")
  func preserved() throws {
    var plan = try SampleProduct.subscription("plan", to: "heroes", prices: ["FRA": "3.99", "DEU": "3.99"])
    plan.product.preservedPrices = try [
      PreservedPrices(
        before: SampleProduct.day("2026-06-01"), prices: SampleProduct.prices(["FRA": "2.99", "DEU": "2.99"])),
      PreservedPrices(before: SampleProduct.day("2025-06-01"), prices: SampleProduct.prices(["FRA": "1.99"])),
    ]
    let catalog = try CatalogSnapshot.of([plan, try .issue("issue1", of: "heroes")])
    func price(_ territory: String, since: String?) throws -> String? {
      try window(catalog, territory: territory, subscribedSince: since).listing("plan")?.price?.amount
    }
    #expect(try price("FRA", since: nil) == "3.99")
    #expect(try price("FRA", since: "2026-06-01") == "3.99")
    #expect(try price("FRA", since: "2026-05-31") == "2.99")
    #expect(try price("FRA", since: "2025-06-01") == "2.99")
    #expect(try price("FRA", since: "2025-05-31") == "1.99")
    // The older prices do not name that territory, the next ones do.
    #expect(try price("DEU", since: "2025-05-31") == "2.99")
  }

  @Test("a price is written by the rules of its territory, or by those that the operator set for it")
  func formatted() throws {
    let catalog = try CatalogSnapshot.of([try .issue("issue1", prices: ["FRA": "1234.50"])])
    let own = try window(catalog, locale: "en-US", territory: "FRA").listing("issue1")?.price
    #expect(own?.locale == "fr-FR" && own?.formatted == "1\u{202F}234,50\u{A0}€")
    let set = try window(
      catalog, locale: "en-US", territory: "FRA", priceLocales: [try #require(Territory("FRA")): "en-FR"]
    ).listing("issue1")?.price
    #expect(set?.locale == "en-FR")
  }

  @Test("a cover has an address where everyone may see it, which names the version that is shown")
  func covers() throws {
    let releases = [
      SampleProduct.Release(version: "1.0", hasPublicCover: true),
      SampleProduct.Release(version: "1.1", percentage: 10, hasPublicCover: false),
    ]
    let catalog = try CatalogSnapshot.of([try .issue("issue1", releases: releases)])
    let all = try window(catalog).listing("issue1")
    #expect(all?.coverURL == "/v1/products/com.example.issue1/cover?version=1.0")
    // The version for that device was made before covers were public.
    let part = try window(catalog, device: "device-2").listing("issue1")
    #expect(part?.contentVersion?.description == "1.1")
    #expect(part?.coverURL == nil && part?.cover == "cover.jpg")
  }

  @Test(
    "a publication is shown while something of it is for sale, with its subscriptions and its latest issue")
  func publication() throws {
    let issues = try [
      SampleProduct.issue("issue1", of: "heroes", on: "2026-01-01"),
      .issue("issue2", of: "heroes", on: "2026-02-01"),
      .issue("issue3", of: "heroes", on: "2026-03-01", prices: ["USA": "2.99"]),
      // An issue without a date is behind those with one.
      .issue("issue4", of: "heroes"),
    ]
    let plans = try [
      SampleProduct.subscription("yearly", to: "heroes"), .subscription("monthly", to: "heroes"),
    ]
    func shown(_ samples: [SampleProduct], territory: String? = nil) throws -> PublicationListing? {
      try window(.of(samples), territory: territory).publication(SampleProduct.name("heroes"))
    }
    let everything = try #require(try shown(issues + plans))
    #expect(everything.latestIssue?.id.description == "com.example.issue3")
    #expect(
      everything.subscriptions.map(\.id.description) == ["com.example.monthly", "com.example.yearly"])
    // The latest is the latest that is for sale here.
    #expect(
      try shown(issues, territory: "FRA")?.latestIssue?.id.description == "com.example.issue2")
    #expect(try shown([issues[3]])?.latestIssue?.id.description == "com.example.issue4")
    // A subscription alone, while its issues are for sale by no other way.
    var withdrawn = issues[0]
    withdrawn.sale = .withdrawn
    let subscribed = try #require(try shown([withdrawn, plans[0]]))
    #expect(subscribed.latestIssue == nil && subscribed.subscriptions.count == 1)
    #expect(try shown([withdrawn]) == nil)
    #expect(try shown(plans) == nil)
    #expect(try shown([]) == nil)
  }

  @Test(
    "a publication's texts are chosen as those of products, and its name stands for them where there are none"
  )
  func texts() throws {
    let samples = [try SampleProduct.issue("issue1", of: "heroes")]
    func shown(_ locale: String?, _ titles: [String: String]) throws -> [String]? {
      let catalog = try CatalogSnapshot.of(samples, publications: [try described("heroes", titles: titles)])
      let shown = try window(catalog, locale: locale).publication(SampleProduct.name("heroes"))
      return shown.map { [$0.title, $0.description] }
    }
    let titles = ["en-US": "Heroes", "fr-FR": "Héros", "de-DE": "Helden"]
    #expect(try shown("fr-FR", titles) == ["Héros", "Héros."])
    #expect(try shown("fr-CA", titles) == ["Héros", "Héros."])
    #expect(try shown("it-IT", titles) == ["Heroes", "Heroes."])
    #expect(try shown(nil, ["fr-FR": "Héros", "de-DE": "Helden"]) == ["Helden", "Helden."])
    #expect(try shown("fr-FR", [:]) == ["com.example.heroes", ""])
    let undescribed = try window(.of(samples)).publication(SampleProduct.name("heroes"))
    #expect(undescribed?.title == "com.example.heroes")
  }

  @Test(
    "the cover of a publication is that of the product which the operator named, else of its latest issue")
  func publicationCover() throws {
    let samples = try [
      SampleProduct.issue(
        "issue1", of: "heroes", on: "2026-01-01", releases: [.init(hasPublicCover: true)]),
      .issue("issue2", of: "heroes", on: "2026-02-01", releases: [.init(hasPublicCover: true)]),
      .issue("poster", releases: [.init(version: "3.0", hasPublicCover: true)]),
      .issue("unreleased", releases: []), .issue("hidden", releases: [.init(hasPublicCover: false)]),
    ]
    for (cover, address) in [
      (nil, "/v1/products/com.example.issue2/cover?version=1.0"),
      ("poster", "/v1/products/com.example.poster/cover?version=3.0"),
      ("issue1", "/v1/products/com.example.issue1/cover?version=1.0"),
      // A product that has nothing to show yet, or that is gone, has no cover.
      ("unreleased", "/v1/products/com.example.issue2/cover?version=1.0"),
      ("gone", "/v1/products/com.example.issue2/cover?version=1.0"), ("hidden", nil),
    ] as [(String?, String?)] {
      let catalog = try CatalogSnapshot.of(samples, publications: [try described("heroes", cover: cover)])
      let shown = try window(catalog).publication(SampleProduct.name("heroes"))
      #expect(try #require(shown).coverURL == address, "\(cover ?? "none")")
    }
  }

  @Test("a name that was meant is told where a product for sale has it, and of the first four names alone")
  func nearest() throws {
    var draft = try SampleProduct.issue("moss2")
    draft.sale = .draft
    let catalog = try CatalogSnapshot.of([
      try .issue("moss1"), draft, try .issue("kestrel1", prices: ["USA": "2.99"]),
    ])
    let names = ProductNames(catalog)
    let window = try window(catalog, territory: "FRA")
    func near(_ asked: String...) -> [String: String]? {
      window.nearest(to: asked, among: names)?.mapValues(\.description)
    }
    #expect(near("com.example.mosss1") == ["com.example.mosss1": "com.example.moss1"])
    // What is not for sale here is not told of, though its name is as near.
    #expect(near("com.example.kestrel2") == nil)
    #expect(near("com.example.moss22") == ["com.example.moss22": "com.example.moss1"])
    #expect(near("é", "com.example.moss", "a") == ["com.example.moss": "com.example.moss1"])
    #expect(near("a", "b", "c", "d", "com.example.mosss1") == nil)
  }
}
