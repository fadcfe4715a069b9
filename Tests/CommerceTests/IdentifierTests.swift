import Commerce
import Testing

@Suite("Identifiers")
struct IdentifierTests {
  /// The rule that products, transactions, devices and stores share, with a reader for each and its longest name.
  static let rules: [(name: String, longest: Int, read: @Sendable (String) -> String?)] = [
    ("product", 255, { ProductIdentifier($0)?.description }),
    ("transaction", 64, { TransactionIdentifier($0)?.description }),
    ("device", 128, { DeviceIdentifier($0)?.description }),
    ("store", 64, { StoreIdentifier($0)?.description }),
  ]

  static let names = [
    "a", "0", "-", "_", "A.b", "a.", "a..b", "com.example.heroes.issue42", "2000000000000001",
    "GPA.3345-1234-5678-90123..0", "2B1F0C1E-7D3A-4C53-9B52-0A53F3F4B7AA",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._",
  ]

  /// Names that would lead out of a path segment, be hidden, need an escape, or look like another name.
  static let noNames = [
    "", ".", "..", ".hidden", "a/b", "a\\b", "a b", " a", "a ", "a\n", "a\0", "a%2Fb", "a?b", "a#b", "a:b",
    "a@b", "a+b", "a,b", "a*b", "a~b", "é", "ａ", "a\u{301}", "a\u{200B}", "а",
  ]

  @Test("letters, digits, dot, underscore and hyphen make a name", arguments: names)
  func allowed(text: String) {
    for rule in Self.rules {
      #expect(rule.read(text) == text, "\(rule.name)")
    }
  }

  @Test("anything else, and a dot in front, makes none", arguments: noNames)
  func refused(text: String) {
    for rule in Self.rules {
      #expect(rule.read(text) == nil, "\(rule.name)")
    }
  }

  @Test("a name is as long as its kind allows, and not one character longer")
  func lengths() {
    for rule in Self.rules {
      let longest = String(repeating: "a", count: rule.longest)
      #expect(rule.read(longest) == longest, "\(rule.name)")
      #expect(rule.read(longest + "a") == nil, "\(rule.name)")
    }
  }

  @Test("names differ by case, and products are ordered by their bytes")
  func comparison() {
    #expect(ProductIdentifier("a") != ProductIdentifier("A"))
    #expect(TransactionIdentifier("a") != TransactionIdentifier("A"))
    let sorted = ["b", "a.10", "a.2", "B", "a", "_", "9"].map(product).sorted()
    #expect(sorted.map(\.description) == ["9", "B", "_", "a", "a.10", "a.2", "b"])
  }

  @Test("a name is printed as it was written")
  func description() {
    #expect("\(product("com.example.a"))" == "com.example.a")
    #expect("\(transaction("2000000000000001"))" == "2000000000000001")
    #expect(DeviceIdentifier("tablet-17")?.description == "tablet-17")
    #expect(StoreIdentifier("eu.store")?.description == "eu.store")
  }

  @Test("the stores that the project knows by name")
  func knownStores() {
    #expect(StoreIdentifier("sandbox") == .sandbox)
    #expect(StoreIdentifier("apple") == .apple)
    #expect(StoreIdentifier("google") == .google)
  }

  @Test("a publisher's key is named by 64 lower-case hexadecimal digits")
  func publisherKeys() {
    let name = String(repeating: "0123456789abcdef", count: 4)
    #expect(PublisherKeyIdentifier(name)?.description == name)
    #expect(PublisherKeyIdentifier(name)?.description == name)
  }

  @Test(
    "and by nothing else",
    arguments: [
      "", String(repeating: "a", count: 63), String(repeating: "a", count: 65),
      String(repeating: "A", count: 64), String(repeating: "a", count: 63) + "g",
      String(repeating: "a", count: 62) + "é", " " + String(repeating: "a", count: 63),
      "0x" + String(repeating: "a", count: 62),
    ])
  func noPublisherKeys(text: String) {
    #expect(PublisherKeyIdentifier(text) == nil)
  }

  @Test("publishers' keys are ordered by their digits")
  func publisherKeyOrder() throws {
    let names = ["f", "0", "a", "9"].map { String(repeating: $0, count: 64) }
    let keys = try names.map { try #require(PublisherKeyIdentifier($0)) }
    #expect(keys.sorted().compactMap(\.description.first) == ["0", "9", "a", "f"])
  }
}
