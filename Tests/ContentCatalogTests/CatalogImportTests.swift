import Commerce
import CoreTypes
import PullboxAPI
import ServiceAPI
import Testing

@testable import ContentCatalog

@Suite("Many products at once")
struct CatalogImportTests {
  @Test("an empty title takes its language away, other members of a publication and a tier stay")
  func fewMembersOfOthers() throws {
    let id = try #require(ProductIdentifier("com.example.heroes"))
    let imported = ImportedMembers(members: [
      .title(locale: "fr-FR"), .plain(.order), .policy(.backIssues), .price(territory: "FRA"),
    ])
    let before = OperatorPublication(
      id: id,
      localizations: [
        "en-US": .init(title: "Heroes", description: ""), "fr-FR": .init(title: "Héros", description: "x"),
      ],
      cover: nil, order: 7, policy: SubscriptionPolicy(backIssues: 3, toleranceSeconds: 60),
      created: Timestamp(millisecondsSinceEpoch: 0), changed: Timestamp(millisecondsSinceEpoch: 0))
    let whole = imported.completing(PublicationDescription(id: id), of: before)
    #expect(whole.localizations == ["en-US": .init(title: "Heroes", description: "")])
    #expect(whole.order == nil)
    #expect(whole.policy == SubscriptionPolicy(toleranceSeconds: 60))
    let (one, two) = (Price(amount: "1", currency: "EUR"), Price(amount: "2", currency: "USD"))
    #expect(
      imported.prices(["FRA": try #require(one)], before: ["USA": try #require(two)]) == [
        "FRA": try #require(one), "USA": try #require(two),
      ])
  }
}
