import PullboxTesting
import Testing

/// The schemas of docs/openapi.yaml, held against the samples, which are held against the types.
@Suite("Wire types and docs/openapi.yaml")
struct OpenAPISchemaTests {
  private let document: OpenAPIDocument
  private let schemas: YAMLDocument

  init() throws {
    document = try OpenAPIDocument()
    schemas = try #require(document.root["components"]?["schemas"])
  }

  /// The samples of what the delivery server and its clients exchange.
  private static let samples =
    (WireSample.catalog + WireSample.delivery + WireSample.operators + WireSample.customers
    + WireSample.approvals + WireSample.problems
    + WireSample.agent.filter { $0.name == "ReadingProgress" })
    .filter { $0.name != "Page" }

  /// Schemas of what stands in documents and has a type in another module, or none.
  private static let parts: Set<String> = [
    "OwnershipCondition", "PreservedPrices", "Price", "Product", "Product.Localization", "PublisherSignature",
  ]

  @Test("every document that the server reads or writes has a schema, and no other has one")
  func complete() {
    let objects = schemas.members.filter { $0.value["properties"] != nil }.map(\.key)
      .filter { !Self.parts.contains($0) && !$0.hasPrefix("Page.") }
    let sampled = Self.samples.filter { $0.full.hasPrefix("{") }.map(\.name)
    #expect(objects.count > 25)
    #expect(objects.sorted() == sampled.sorted())
  }

  @Test("a schema has the members of its type, requires those that are always there, and allows their values")
  func members() throws {
    for sample in Self.samples {
      guard let schema = schemas[sample.name] else { continue }
      for text in [sample.full, sample.minimal] {
        #expect(document.faults(in: try JSONTree(Array(text.utf8)), by: schema) == [], "\(sample.name)")
      }
      guard sample.full.hasPrefix("{") else { continue }
      var names = Set(try JSONText.members(sample.full).keys)
      // A document has one of the kinds of proof, or several, and the schema all.
      if names.contains("receipt") || names == ["proofs"] {
        names.formUnion(["receipt", "signedTransaction", "purchaseToken"])
        if sample.name != "Proof" { names.formUnion(["proofs", "store"]) }
      }
      let members = names.sorted()
      #expect(schema["properties"]?.members.map(\.key).sorted() == members, "\(sample.name)")
      let always = try JSONText.members(sample.minimal).keys.sorted()
      #expect((schema["required"]?.texts ?? []).sorted() == always, "\(sample.name)")
      // A document that an operator writes has no other members.
      #expect((schema["additionalProperties"]?.text == "false") == sample.isOperatorWritten, "\(sample.name)")
    }
  }

  @Test("the schema of each enumeration has its words", arguments: WireWords.all)
  func words(words: WireWords) {
    guard let schema = schemas[words.name] else { return }
    #expect(schema["enum"]?.texts == words.words)
  }

  @Test("pages have their entries and the next")
  func pages() {
    let pages = schemas.members.filter { $0.key.hasPrefix("Page.") }
    #expect(pages.count == 10)
    for page in pages {
      #expect(page.value["properties"]?.members.map(\.key) == ["items", "next"])
      let entry = page.value["properties"]?["items"]?["items"]?["$ref"]?.text
      #expect(entry == "#/components/schemas/\(page.key.dropFirst("Page.".count))")
    }
  }

  @Test("the check finds a member that is missing, unknown, of another kind or of another form")
  func detection() throws {
    let schema = try #require(schemas["ScheduledRelease"])
    let good = #"{"at":"2036-12-24T08:00:00.000Z","by":"ada","percentage":25}"#
    let bad = [
      #"{"by":"ada","percentage":25}"#, good.replacing("ada\"", with: "ada\",\"x\":1"),
      good.replacing("25", with: "\"25\""), good.replacing("25", with: "101"),
      good.replacing("\"ada\"", with: "1"),
      good.replacing("2036", with: "soon"),
    ]
    for (text, isGood) in [(good, true)] + bad.map({ ($0, false) }) {
      let faults = document.faults(in: try JSONTree(Array(text.utf8)), by: schema)
      #expect((faults == []) == isGood, "\(text)")
    }
  }
}
