import Commerce
import Testing

@testable import DeliveryModel

@Suite("Whose a purchase is")
struct PurchaseClaimTests {
  private static let names = ["ada", "ben", "carl"].compactMap { ApplicationAccount($0) }
  private let ada = Self.names[0]
  private let ben = Self.names[1]
  private let carl = Self.names[2]

  private func decide(
    _ named: ApplicationAccount?, signed: ApplicationAccount? = nil, holders: [ApplicationAccount] = [],
    by rule: ClaimRule = .reject
  ) -> PurchaseClaim.Decision {
    PurchaseClaim(signed: signed, holders: holders).decide(on: named, by: rule)
  }

  @Test("the first account that claims it has it, and whom the store names comes before all others")
  func first() {
    #expect(decide(ada) == .belongs(to: [ada]))
    #expect(decide(ada, signed: ada) == .stands)
    #expect(decide(nil, signed: ada) == .stands)
    #expect(decide(nil) == .stands)
    #expect(decide(nil, holders: [ada]) == .stands)
    #expect(decide(ada, holders: [ada]) == .stands)
  }

  @Test("another one's claim is refused, transferred or shared, as the rule says")
  func others() {
    let cases: [(ApplicationAccount?, [ApplicationAccount])] = [(ada, []), (nil, [ada])]
    for (signed, holders) in cases {
      #expect(decide(ben, signed: signed, holders: holders) == .refused)
      #expect(decide(ben, signed: signed, holders: holders, by: .transfer) == .transferred(to: ben))
      #expect(decide(ben, signed: signed, holders: holders, by: .share(2)) == .belongs(to: [ada, ben]))
    }
    #expect(decide(carl, holders: [ada, ben], by: .share(2)) == .refused)
    #expect(decide(carl, holders: [ada, ben], by: .share(3)) == .belongs(to: [ada, ben, carl]))
  }

  @Test("after a transfer, whom the store names has it no more, and takes it back by name alone")
  func transferred() {
    #expect(decide(nil, signed: ada, holders: [ben], by: .transfer) == .refused)
    #expect(decide(ada, signed: ada, holders: [ben], by: .transfer) == .transferred(to: ada))
    #expect(decide(ben, signed: ada, holders: [ben], by: .transfer) == .stands)
  }

  @Test("as many devices as the limit says have a place")
  func places() {
    let rules = StoreRules(deviceLimit: 2)
    #expect(rules.hasPlace(besides: 0) && rules.hasPlace(besides: 1))
    #expect(!rules.hasPlace(besides: 2))
    #expect(StoreRules().deviceLimit == 10)
    #expect(StoreRules().claims == .reject)
  }

  @Test("who claimed a purchase before the store named an account has it no more")
  func signedAfterClaim() {
    #expect(decide(nil, signed: ada, holders: [ben]) == .belongs(to: [ada]))
    #expect(decide(ada, signed: ada, holders: [ben]) == .belongs(to: [ada]))
    #expect(decide(ben, signed: ada, holders: [ada]) == .refused)
  }

  @Test("UUIDs are one account in either case, other names are not")
  func spelling() throws {
    let upper = try #require(ApplicationAccount("E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))
    let lower = try #require(ApplicationAccount("e621e1f8-c36c-495a-93fc-0c247a3e6e5f"))
    #expect(upper.canonical == lower && lower.canonical == lower)
    let name = try #require(ApplicationAccount("Ada"))
    #expect(name.canonical == name)
  }
}
