import Commerce
import CoreTypes
import DeliveryModel
import DeliveryRecords
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentCatalog

/// docs/catalogue.md, "For sale" and "Applications".
@Suite("The shop window")
struct ShopWindowTests {
  private static let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)
  private static let moment = Duration.milliseconds(1)

  /// A window onto these products. `device-2` is among 10 percent of the devices for `com.example.issue1`, `device-1` is not: their places
  /// of 10,000 by the rule of docs/publishing.md ("Which device gets which version") are 856 and 4730.
  private func window(
    _ samples: [SampleProduct], territory: String? = nil, device: String? = nil, application: String? = nil,
    at now: Timestamp = Self.now
  ) throws -> ShopWindow {
    try window(.of(samples), territory: territory, device: device, application: application, at: now)
  }

  private func window(
    _ catalog: CatalogSnapshot, territory: String? = nil, device: String? = nil, application: String? = nil,
    at now: Timestamp = Self.now
  ) throws -> ShopWindow {
    ShopWindow(
      catalog: catalog,
      localizer: ProductLocalizer(territory: try territory.map { try #require(Territory($0)) }),
      device: try device.map { try #require(DeviceIdentifier($0)) },
      application: try application.map { try #require(ApplicationIdentifier($0)) }, now: now)
  }

  @Test("a name that no product has is unknown, and so is a text that is no name")
  func unknown() throws {
    let window = try window([try .issue("issue1")])
    #expect(window.reason("issue1") == nil)
    #expect(window.reason("issue2") == .unknown)
    #expect(window.reason("é") == .unknown)
    for text in ["", "no name", "com.example.issue1 ", "COM.EXAMPLE.ISSUE1"] {
      guard case .invalid(.unknown) = window.answer(to: text) else {
        Issue.record("\(text) is answered")
        continue
      }
    }
  }

  @Test(
    "a product is for sale once it is cleared",
    arguments: [
      (.draft, .notCleared), (.submitted, .notCleared), (.rejected, .notCleared), (.withdrawn, .withdrawn),
      (.cleared, nil),
    ] as [(SaleState, InvalidProductsReport.Reason?)])
  func states(state: SaleState, reason: InvalidProductsReport.Reason?) throws {
    var sample = try SampleProduct.issue("issue1")
    sample.sale = state
    #expect(try window([sample]).reason("issue1") == reason)
  }

  @Test("its first date begins the sale, and its last one ends it, each to the millisecond")
  func dates() throws {
    var sample = try SampleProduct.issue("issue1")
    sample.product.availableFrom = Self.now
    sample.product.availableUntil = Self.now + .seconds(60)
    func reason(at moment: Timestamp) throws -> InvalidProductsReport.Reason? {
      try window([sample], at: moment).reason("issue1")
    }
    #expect(try reason(at: Self.now - Self.moment) == .notYet)
    #expect(try reason(at: Self.now) == nil)
    #expect(try reason(at: Self.now + .seconds(60) - Self.moment) == nil)
    #expect(try reason(at: Self.now + .seconds(60)) == .withdrawn)
    // Each date holds by itself.
    sample.product.availableFrom = nil
    #expect(try reason(at: Timestamp(millisecondsSinceEpoch: 0)) == nil)
    (sample.product.availableFrom, sample.product.availableUntil) = (Self.now, nil)
    #expect(try reason(at: Self.now + .seconds(1_000_000_000)) == nil)
  }

  @Test("a product with prices is for sale where it has one, and one without prices everywhere")
  func territories() throws {
    let samples = try [
      SampleProduct.issue("free"), .issue("priced", prices: ["FRA": "2.99", "DEU": "2.99"]),
    ]
    for (territory, reason) in [("FRA", nil), ("DEU", nil), ("USA", .notHere), (nil, nil)]
      as [(String?, InvalidProductsReport.Reason?)]
    {
      let window = try window(samples, territory: territory)
      #expect(window.reason("priced") == reason, "\(territory ?? "none")")
      #expect(window.reason("free") == nil)
    }
  }

  @Test("the prices of its tier count for a product's territories, and tier 0 is free everywhere")
  func tiers() throws {
    var (tiered, own, free) = try (
      SampleProduct.issue("tiered"), SampleProduct.issue("own", prices: ["USA": "4.99"]),
      SampleProduct.issue("free")
    )
    let name = try #require(PriceTierName("3"))
    tiered.product.priceTier = name
    own.product.priceTier = name
    free.product.priceTier = .free
    let catalog = try CatalogSnapshot.of(
      [tiered, own, free], tiers: [PriceTier(name: name, prices: SampleProduct.prices(["FRA": "2.99"]))])
    func reasons(_ territory: String) throws -> [InvalidProductsReport.Reason?] {
      let here = try #require(Territory(territory))
      let window = ShopWindow(
        catalog: catalog, localizer: ProductLocalizer(territory: here), device: nil, application: nil,
        now: Self.now)
      return ["tiered", "own", "free"].map(window.reason)
    }
    #expect(try reasons("FRA") == [nil, nil, nil])
    #expect(try reasons("USA") == [.notHere, nil, nil])
    #expect(try reasons("DEU") == [.notHere, .notHere, nil])
  }

  @Test("a product needs content that is released to all devices, or to the one that asks")
  func content() throws {
    for (percentages, unnamed, without, within) in [
      ([], .notCleared, .notCleared, .notCleared), ([100], nil, nil, nil), ([10], .notYet, .notYet, nil),
      ([100, 10], nil, nil, nil),
    ]
      as [(
        [Int], InvalidProductsReport.Reason?, InvalidProductsReport.Reason?, InvalidProductsReport.Reason?
      )]
    {
      let sample = try SampleProduct.issue(
        "issue1",
        releases: percentages.enumerated().map { .init(version: "1.\($0.offset)", percentage: $0.element) })
      #expect(try window([sample]).reason("issue1") == unnamed, "\(percentages)")
      #expect(try window([sample], device: "device-1").reason("issue1") == without, "\(percentages)")
      #expect(try window([sample], device: "device-2").reason("issue1") == within, "\(percentages)")
    }
  }

  @Test("a device is shown the version that it gets, and everyone else the one for all")
  func versions() throws {
    let releases = [
      SampleProduct.Release(version: "1.0"), SampleProduct.Release(version: "1.1", percentage: 10),
    ]
    let sample = try SampleProduct.issue("issue1", releases: releases)
    for (device, release) in [(nil, releases[0]), ("device-1", releases[0]), ("device-2", releases[1])] {
      let listing = try #require(try window([sample], device: device).listing("issue1"))
      #expect(listing.contentVersion?.description == release.version)
      #expect(listing.contentLength == CatalogSnapshot.length(of: release))
    }
  }

  @Test("a subscription needs an issue of its publication that all devices get, since its buyer would wait")
  func subscriptions() throws {
    let plan = try SampleProduct.subscription("plan", to: "heroes")
    for (issues, reason) in [
      ([], .notCleared),
      ([try .issue("issue1", of: "heroes", releases: [])], .notCleared),
      ([try .issue("issue1", of: "heroes", releases: [.init(percentage: 10)])], .notCleared),
      ([try .issue("issue1", of: "villains")], .notCleared),
      ([try .subscription("other", to: "heroes")], .notCleared),
      ([try .issue("issue1", of: "heroes")], nil),
    ] as [([SampleProduct], InvalidProductsReport.Reason?)] {
      for device in [nil, "device-1", "device-2"] {
        let window = try window([plan] + issues, device: device)
        #expect(window.reason("plan") == reason, "\(issues.map(\.product.id))")
        // It has no content of its own.
        #expect(window.listing("plan")?.contentVersion == nil)
        #expect(window.listing("plan")?.contentLength == nil)
      }
    }
    // The issue itself need not be for sale.
    var issue = try SampleProduct.issue("issue1", of: "heroes")
    issue.sale = .withdrawn
    #expect(try window([plan, issue]).reason("plan") == nil)
  }

  @Test("a product of an application is shown to that application, and one of none to all")
  func applications() throws {
    let reader = try #require(ApplicationIdentifier("com.example.reader"))
    var own = try SampleProduct.issue("own")
    own.product.application = reader
    for (application, reason) in [
      ("com.example.reader", nil), ("com.example.another", .otherApplication), (nil, .otherApplication),
    ] as [(String?, InvalidProductsReport.Reason?)] {
      let window = try window([own, try .issue("anyone")], application: application)
      #expect(window.reason("own") == reason)
      #expect(window.reason("anyone") == nil)
    }
  }

  @Test("of several reasons the first counts: application, sale, dates, territory, content")
  func firstReason() throws {
    let reader = try #require(ApplicationIdentifier("com.example.reader"))
    var sample = try SampleProduct.issue("issue1", prices: ["USA": "2.99"], releases: [])
    sample.sale = .draft
    sample.product.application = reader
    sample.product.availableFrom = Self.now + Self.moment
    sample.product.availableUntil = Self.now
    var reasons: [InvalidProductsReport.Reason?] = []
    func look() throws { reasons.append(try window([sample], territory: "FRA").reason("issue1")) }
    try look()
    sample.product.application = nil
    try look()
    sample.sale = .cleared
    try look()
    sample.product.availableUntil = nil
    try look()
    sample.product.availableFrom = nil
    try look()
    sample.product.prices = [:]
    try look()
    sample.releases = [.init()]
    try look()
    #expect(
      reasons == [.otherApplication, .notCleared, .withdrawn, .notYet, .notHere, .notCleared, nil])
  }

  /// The table of docs/catalogue.md, "For sale", as one condition.
  private func isForSale(
    _ sample: SampleProduct, besides issues: [ProductIdentifier?: [SampleProduct]], in window: ShopWindow
  ) -> Bool {
    let product = sample.product
    let territory = window.localizer.territory?.code
    let isHere = product.prices.isEmpty || territory == nil || product.prices[territory ?? ""] != nil
    func isDelivered(_ sample: SampleProduct, to device: DeviceIdentifier?) -> Bool {
      sample.releases.contains { release in
        let share = RolloutPercentage(percentage: release.percentage)
        return release.percentage == 100
          || device.map { share?.includes($0, of: sample.product.id) ?? false } ?? false
      }
    }
    let hasContent =
      product.type.isSubscription
      ? (issues[product.publication] ?? []).contains { isDelivered($0, to: nil) }
      : isDelivered(sample, to: window.device)
    return (product.application == nil || product.application == window.application)
      && sample.sale == .cleared && (product.availableFrom.map { $0 <= window.now } ?? true)
      && (product.availableUntil.map { window.now < $0 } ?? true) && isHere && hasContent
  }

  @Test(
    "whatever a product is, it is in lists exactly where it is answered by its name, and where the rules say")
  func allCombinations() throws {
    let reader = try #require(ApplicationIdentifier("com.example.reader"))
    var samples: [SampleProduct] = []
    let another = try #require(ApplicationIdentifier("com.example.another"))
    for application in [nil, reader, another] {
      for sale in SaleState.allCases {
        for (from, until) in [(nil, nil), (0, 1), (1, nil), (nil, 0)] as [(Int64?, Int64?)] {
          for prices in [[:], ["FRA": "2.99"], ["USA": "2.99"]] {
            for percentages in [[], [50], [100]] {
              func vary(_ sample: SampleProduct) -> SampleProduct {
                var sample = sample
                sample.sale = sale
                sample.product.application = application
                sample.product.availableFrom = from.map { Self.now + .milliseconds($0) }
                sample.product.availableUntil = until.map { Self.now + .milliseconds($0) }
                return sample
              }
              // An issue of a publication of its own, and a subscription to it.
              let number = samples.count
              let issue = try SampleProduct.issue(
                "issue\(number)", of: "series\(number)", prices: prices,
                releases: percentages.map { .init(percentage: $0) })
              let plan = try SampleProduct.subscription(
                "plan\(number)", to: "series\(number)", prices: prices)
              samples += [vary(issue), vary(plan)]
            }
          }
        }
      }
    }
    let names = samples.map(\.product.id)
    let issues = Dictionary(
      grouping: samples.filter { !$0.product.type.isSubscription }, by: \.product.publication)
    let catalog = try CatalogSnapshot.of(samples)
    for territory in [nil, "FRA"] {
      for device in [nil, "device-1"] {
        for application in [nil, "com.example.reader"] {
          let window = try window(catalog, territory: territory, device: device, application: application)
          let expected = samples.filter { isForSale($0, besides: issues, in: window) }.map(\.product.id)
          #expect(!expected.isEmpty && expected.count < names.count)
          let answered = names.filter { name in
            if case .listing = window.answer(to: name.description) { true } else { false }
          }
          #expect(answered == expected)
          #expect(try window.page(of: names, after: nil, limit: names.count).issues.map(\.id) == expected)
          guard territory == nil, device == nil else { continue }
          // The list of all that is for sale knows neither territories nor devices.
          let all = window.catalog.productsForSale(at: Self.now, in: window.application)
          #expect(all.products.map(\.id) == expected.sorted())
        }
      }
    }
  }
}
