import Commerce
import Entitlements
import Foundation
import Testing

/// How the values of this module look in JSON: documents of every interface, and of the databases, are made of them.
@Suite("Commerce as JSON")
struct CommerceJSONTests {
  private func encode(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  private func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    try JSONDecoder().decode(type, from: Data(text.utf8))
  }

  /// `text` is read, and written as it was read.
  private func expectString<Value: Codable>(_ type: Value.Type, _ text: String) throws {
    #expect(try encode(decode(type, "\"\(text)\"")) == "\"\(text)\"")
  }

  private func expectRefused<Value: Codable>(_ type: Value.Type, _ texts: [String]) {
    for text in texts {
      #expect(throws: DecodingError.self, "\(text)") { try decode(type, text) }
    }
  }

  @Test("every value that is one text is a string, and refused unless it is such a text")
  func strings() throws {
    try expectString(ProductIdentifier.self, "com.example.heroes.issue42")
    expectRefused(ProductIdentifier.self, [#"".hidden""#, #""""#, "42", "null", "{}", #"["a"]"#, "true"])
    try expectString(TransactionIdentifier.self, "2000000000000001")
    // A number would lose digits in other readers: transaction identifiers are strings.
    expectRefused(TransactionIdentifier.self, ["2000000000000001", #""a b""#, "null"])
    try expectString(DeviceIdentifier.self, "2b1f0c1e-7d3a-4c53-9b52-0a53f3f4b7aa")
    expectRefused(DeviceIdentifier.self, [#""a/b""#, "1"])
    try expectString(StoreIdentifier.self, "sandbox")
    expectRefused(StoreIdentifier.self, [#""a store""#, "null"])
    try expectString(ContentVersion.self, "1.10")
    // 1.10 as a number is 1.1.
    expectRefused(ContentVersion.self, ["1.10", "1", #""01""#, #""1.0.""#])
    try expectString(BillingPeriod.self, "P1M")
    expectRefused(BillingPeriod.self, [#""P1H""#, #""monthly""#, "30"])
    try expectString(PublisherKeyIdentifier.self, String(repeating: "0f", count: 32))
    expectRefused(PublisherKeyIdentifier.self, ["\"\(String(repeating: "0F", count: 32))\"", #""""#])
  }

  @Test("what is refused is named with its text")
  func explanation() {
    #expect {
      try decode([ContentVersion].self, #"["1.0","1.x"]"#)
    } throws: { error in
      guard case .dataCorrupted(let context) = error as? DecodingError else { return false }
      return context.debugDescription.contains("1.x") && context.codingPath.first?.intValue == 1
    }
  }

  @Test(
    "product types, as operators write them",
    arguments: zip(
      ProductType.allCases,
      [
        "consumable", "non-consumable", "auto-renewable-subscription", "non-renewing-subscription",
        "free-subscription",
      ]))
  func types(type: ProductType, text: String) throws {
    try expectString(ProductType.self, text)
    #expect(type.rawValue == text)
    #expect(type.isSubscription == text.hasSuffix("subscription"))
  }

  @Test("environments have the names that receipts give them")
  func environments() {
    #expect(StoreEnvironment.allCases.map(\.rawValue) == ["Production", "Sandbox", "Xcode"])
    // An unknown one is no environment, and must not count as one that is known.
    for text in ["production", "LocalTesting", "ProductionSandbox", ""] {
      #expect(StoreEnvironment(rawValue: text) == nil)
    }
  }

  @Test("reasons have the names that `because` shows")
  func reasons() throws {
    try expectString(EntitlementRule.self, "purchased")
    try expectString(EntitlementRule.self, "published-during-subscription")
    try expectString(EntitlementRule.self, "unlocked-at-start")
    expectRefused(EntitlementRule.self, [#""stolen""#])
  }

  /// A product with everything, as the server's database keeps it.
  static let issue = """
    {"id":"com.example.heroes.issue42","localizations":{"en-US":{"description":"…","title":"Heroes 42"}},\
    "prices":{"FRA":{"amount":"2.99","currency":"EUR"}},"publication":"com.example.heroes",\
    "publicationDate":"2026-09-01T00:00:00.000Z",\
    "publisherKeys":["00000000000000000000000000000000000000000000000000000000000000ff"],\
    "type":"non-consumable"}
    """
  static let subscription = """
    {"id":"com.example.heroes.monthly","localizations":{},"period":"P1M","prices":{},\
    "publication":"com.example.heroes","type":"auto-renewable-subscription"}
    """

  @Test("a product is read and written member by member", arguments: [issue, subscription])
  func product(text: String) throws {
    let product = try decode(Product.self, text)
    #expect(try encode(product) == text)
    #expect(try decode(Product.self, try encode(product)) == product)
  }

  @Test("what a product may lack is nil, and what it may not lack is asked for")
  func productMembers() throws {
    let bare = try decode(Product.self, #"{"id":"a","type":"consumable","localizations":{},"prices":{}}"#)
    #expect(bare == Product(id: CommerceTests.product("a"), type: .consumable))
    for text in [
      #"{"type":"consumable","localizations":{},"prices":{}}"#, #"{"id":"a","localizations":{},"prices":{}}"#,
      #"{"id":"a","type":"consumable","prices":{}}"#, #"{"id":"a","type":"consumable","localizations":{}}"#,
      #"{"id":"a","type":"comic","localizations":{},"prices":{}}"#,
    ] {
      #expect(throws: DecodingError.self, "\(text)") { try decode(Product.self, text) }
    }
  }
}
