import Commerce
import CoreTypes
import PullboxAPI
import PullboxTesting
import Testing

/// The documents that apps read of the agent, docs/agent.md.
@Suite("Documents of the agent")
struct AgentDocumentTests {
  // MARK: Events

  static let events = [
    ("transaction", WireSample.agentTransaction), ("download", WireSample.download),
    ("library", #"{"change":"removed","item":\#(WireSample.item)}"#), ("issue-ready", WireSample.item),
    ("correction-ready", WireSample.itemWithoutTitle), ("owned", WireSample.feedEntry),
  ]

  @Test("each event of the page is read and written as it was sent", arguments: events)
  func eachEvent(name: String, sample: String) throws {
    #expect(try RepositoryFile("docs/agent.md").text.contains("`\(name)`"))
    let document = JSONText.compacted(sample)
    let event = try #require(try AgentEvent(name: name, data: Array(document.utf8)))
    #expect(event.name == name)
    #expect(String(decoding: try event.encodedData(), as: UTF8.self) == document)
  }

  @Test("the document of one event is not taken for that of another of a different kind")
  func otherDocuments() throws {
    for (name, sample) in Self.events {
      for (other, document) in Self.events where other != name {
        // Both are items of the library.
        if Set([name, other]) == ["issue-ready", "correction-ready"] { continue }
        let data = Array(JSONText.compacted(document).utf8)
        #expect(throws: DecodingError.self, "\(other) as \(name)") { try AgentEvent(name: name, data: data) }
      }
      #expect(throws: DecodingError.self) { try AgentEvent(name: name, data: []) }
      #expect(throws: DecodingError.self) { try AgentEvent(name: name, data: Array(sample.utf8.dropLast(2))) }
    }
  }

  // MARK: The version that is read

  private func item(_ version: String, product: String = "a", isBack: Bool? = nil) throws -> LibraryItem {
    var item = try APIJSON.decode(
      LibraryItem.self, from: Array(JSONText.compacted(WireSample.itemWithoutTitle).utf8))
    item.product = try #require(ProductIdentifier(product))
    item.version = try #require(ContentVersion(version))
    item.rolledBack = isBack
    return item
  }

  @Test("of several versions the newest is read, by numbers, and those of other products do not count")
  func newest() throws {
    let items = try [item("1.9"), item("1.10"), item("1.2"), item("9.0", product: "b")]
    let product = try #require(ProductIdentifier("a"))
    #expect(items.current(of: product)?.version == ContentVersion("1.10"))
    #expect(items.current(of: try #require(ProductIdentifier("c"))) == nil)
    #expect([LibraryItem]().current(of: product) == nil)
  }

  @Test("a version that the server has taken back is read only where all of them were")
  func rolledBack() throws {
    let product = try #require(ProductIdentifier("a"))
    #expect(
      try [item("2.0", isBack: true), item("1.0")].current(of: product)?.version == ContentVersion("1"))
    let one = try [item("2.0", isBack: true), item("1.5", isBack: false), item("1.0")]
    #expect(one.current(of: product)?.version == ContentVersion("1.5"))
    let all = try [item("1.0", isBack: true), item("2.0", isBack: true)]
    #expect(all.current(of: product)?.version == ContentVersion("2"))
  }

  @Test("what is read does not depend on the order in which the library lists its items")
  func anyOrder() throws {
    var random = SplitMix(seed: 13)
    let product = try #require(ProductIdentifier("a"))
    for _ in 0..<200 {
      let versions = Set(
        (0..<5).map { _ in
          "\(Int.random(in: 0...3, using: &random)).\(Int.random(in: 0...12, using: &random))"
        })
      let items = try versions.map {
        try item($0, isBack: [true, false, nil].randomElement(using: &random) ?? nil)
      }
      let offered = items.filter { $0.rolledBack != true }
      let expected = (offered.isEmpty ? items : offered).map(\.version).max()
      for _ in 0..<3 {
        #expect(items.shuffled(using: &random).current(of: product)?.version == expected)
      }
    }
  }

  // MARK: The order of a restore

  private func entitled(_ name: String, length: Int64, date: Int64?) throws -> EntitledProduct {
    EntitledProduct(
      product: try #require(ProductIdentifier(name)), version: try #require(ContentVersion("1")),
      length: ByteCount(length), because: "purchased", transaction: try #require(TransactionIdentifier("1")),
      state: "not-granted", publicationDate: date.map { Timestamp(millisecondsSinceEpoch: $0) })
  }

  @Test(
    "the newest come first by the issue's date, the smallest by their bytes; without an order nothing moves")
  func orders() throws {
    let products = try [
      entitled("undated", length: 2, date: nil), entitled("old", length: 3, date: 1),
      entitled("new", length: 9, date: 7), entitled("small", length: 1, date: 4),
      entitled("also-new", length: 3, date: 7), entitled("undated-too", length: 0, date: nil),
    ]
    func names(_ order: AgentRestoreRequest.Order?) -> [String] {
      products.ordered(by: order).map(\.product.description)
    }
    #expect(names(nil) == products.map(\.product.description))
    #expect(names(.newest) == ["new", "also-new", "small", "old", "undated", "undated-too"])
    #expect(names(.smallest) == ["undated-too", "small", "undated", "old", "also-new", "new"])
  }

  @Test(
    "an order loses nothing, and equal products stay in the server's order", arguments: [1, 2, 3] as [UInt64])
  func stableOrders(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let products = try (0..<200).map { number in
      let date = Int64.random(in: 0...9, using: &random)
      return try entitled(
        "p\(number)", length: .random(in: 0...9, using: &random), date: date == 0 ? nil : date)
    }
    func places(_ order: AgentRestoreRequest.Order) -> [Int] {
      products.ordered(by: order).compactMap { Int($0.product.description.dropFirst()) }
    }
    func date(_ place: Int) -> Int64 { products[place].publicationDate?.millisecondsSinceEpoch ?? 0 }
    for (left, right) in zip(places(.newest), places(.newest).dropFirst()) {
      #expect((-date(left), left) < (-date(right), right))
    }
    for (left, right) in zip(places(.smallest), places(.smallest).dropFirst()) {
      #expect((products[left].length, left) < (products[right].length, right))
    }
    #expect(Set(places(.newest)).count == 200 && Set(places(.smallest)).count == 200)
  }

  // MARK: What is offered to an account

  private func product(
    _ type: ProductType, owned: Bool = false, until: Timestamp? = nil, offers: [AccountOffer]? = nil,
    bonus: AccountBonus? = nil
  ) throws -> AgentProduct {
    let id = try #require(ProductIdentifier("a"))
    return AgentProduct(
      listing: ProductListing(id: id, type: type, title: "A", description: ""), owned: owned,
      subscribedUntil: until, offers: offers, bonus: bonus)
  }

  @Test("another payment for what runs buys nothing, but for a subscription that does not renew")
  func held() throws {
    let until = Timestamp(millisecondsSinceEpoch: 1_800_000_000_000)
    for type in ProductType.allCases {
      #expect(try !product(type).isHeld, "\(type)")
      #expect(try product(type, owned: true).isHeld, "\(type)")
      #expect(try product(type, until: until).isHeld == (type != .nonRenewingSubscription), "\(type)")
    }
  }

  @Test(
    "an offer or a bonus is certain where the store says that the account gets it, and not where it does not say"
  )
  func eligible() throws {
    let offers = [nil, false, true, true].enumerated().map { place, eligible in
      AccountOffer(
        kind: .introductory, payment: .freeTrial, period: .month, payments: place + 1, eligible: eligible)
    }
    let type = ProductType.autoRenewableSubscription
    #expect(try product(type, offers: offers).offer == offers[2])
    #expect(try product(type, offers: Array(offers.prefix(2))).offer == nil)
    #expect(try product(type).offer == nil)
    for (eligible, period) in [(true, BillingPeriod.month), (false, nil), (nil, nil)]
      as [(Bool?, BillingPeriod?)]
    {
      let bonus = AccountBonus(period: .month, eligible: eligible)
      #expect(try product(type, bonus: bonus).bonusPeriod == period)
    }
  }
}
