import Commerce
import CoreTypes
import Files
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

@testable import PullboxOperatorKit

@Suite("A folder's product.json5")
struct ProductDescriptionFileTests {
  private func description(_ text: String) throws -> ProductDescriptionFile {
    let directory = try TemporaryDirectory()
    let bytes = Array(text.utf8)
    try DurableFile.write(bytes.span, to: directory.path("product.json5"))
    return try ProductDescriptionFile(reading: directory.path("product.json5"))
  }

  @Test("comments, bare keys, single quotes and trailing commas are read")
  func json5() throws {
    let description = try description(
      """
      // Read by `pullbox publish`.
      {
        id: 'com.example.heroes.issue42', type: "non-consumable", version: "1.10",
        /* the series */ publication: "com.example.heroes",
        publicationDate: "2026-09-01T00:00:00.000Z",
        localizations: { "fr-FR": { title: "Héros nº 42", description: "…", }, },
        prices: { FRA: { amount: "2.99", currency: "EUR" }, },
      }
      """
    ).description
    #expect(description.id == ProductIdentifier("com.example.heroes.issue42"))
    #expect(description.type == .nonConsumable)
    #expect(description.version == ContentVersion("1.10"))
    #expect(description.localizations?["fr-FR"]?.title == "Héros nº 42")
    #expect(description.prices?["FRA"] == Price(amount: "2.99", currency: "EUR"))
    #expect(description.publicationDate?.description == "2026-09-01T00:00:00.000Z")
  }

  @Test("every description that this project sells can be read")
  func ownContent() throws {
    let content = "\(FileSystem.parent(of: #filePath))/../../../content"
    var found: [String] = []
    for entry in try FileSystem.list(content) where entry.kind == .directory {
      if let file = try ProductDescriptionFile(readingIfPresent: "\(content)/\(entry.name)/product.json5") {
        #expect(file.description.id != nil)
        found.append(entry.name)
      }
    }
    #expect(found.count >= 6)
  }

  @Test(
    "a member that is misspelt is named, not ignored",
    arguments: [
      ("{ id: 'a', verison: '1' }", "verison"),
      (
        "{ localizations: { 'fr-FR': { titel: 'Un', title: 'Un', description: '' } } }",
        "localizations.fr-FR.titel"
      ),
    ])
  func unknownMember(text: String, member: String) throws {
    #expect { try description(text) } throws: { error in
      (error as? ProductDescriptionFile.Refusal)?.description.hasSuffix(
        ": \(member): there is no such member")
        == true
    }
  }

  @Test(
    "what is no description is refused with line, column and member, and what may stand there",
    arguments: [
      ("{ id: '.hidden' }", "1:7: id: not a product identifier: .hidden"),
      ("{\n  version: '01' }", "2:12: version: not a content version: 01"),
      (
        "{ type: 'one-off' }",
        "1:9: type: 'one-off' is none of consumable, non-consumable, auto-renewable-subscription, "
          + "non-renewing-subscription, free-subscription"
      ),
      (
        "{ prices: { USA: {\n amount: 2.99, currency: 'USD' } } }",
        "2:10: prices.USA.amount: is not a text in quotation marks"
      ),
      (
        "{ prices: { FRA: { amount: '2,99', currency: 'EUR' } } }",
        "1:28: prices.FRA.amount: not a price: 2,99 EUR"
      ),
      ("{ prices: { USA: { amount: '2.99' } } }", "1:18: prices.USA.currency: is missing"),
      ("[]", "1:1: "), ("{", "1:2: "), ("{ id: 'a',,}", "1:11: "), ("", "1:1: "),
    ])
  func refused(text: String, place: String) throws {
    let refusal = try #require(throws: ProductDescriptionFile.Refusal.self) { try description(text) }
    #expect(refusal.description.contains("product.json5:\(place)"), "\(refusal.description)")
    #expect(!refusal.description.contains("The given data"))
  }

  @Test("a file longer than 1 MiB is not read")
  func tooLong() throws {
    let text = "{ id: 'a' } //" + String(repeating: "x", count: 1 << 20)
    #expect(throws: SystemError.self) { try description(text) }
  }
}
