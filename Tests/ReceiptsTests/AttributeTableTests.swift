import CoreTypes
import PullboxTesting
import Testing

@testable import Receipts

private enum Attributes {
  /// One of each attribute that is read, by its type.
  static let ofReceipt: [Int: DERTree] = [
    0: .utf8("Production"), 1: .integer(690_661_663), 2: .utf8("com.example.pullbox"), 3: .utf8("15741"),
    4: .octetString([1, 2, 3]), 5: .octetString([4, 5, 6]), 12: .ia5("2024-02-23T17:27:16Z"),
    15: .integer(74_011_462_945_433), 16: .integer(862_654_545), 18: .ia5("2013-08-01T07:00:00Z"),
    19: .utf8("1.0"), 21: .ia5("2030-01-01T00:00:00Z"),
  ]
  static let ofPurchase: [Int: DERTree] = [
    1701: .integer(1), 1702: .utf8("com.example.issue1"), 1703: .utf8("7"),
    1704: .ia5("2024-01-01T00:00:00Z"), 1705: .utf8("6"), 1706: .ia5("2023-01-01T00:00:00Z"),
    1707: .integer(3), 1708: .ia5("2024-02-01T00:00:00Z"), 1711: .integer(2_000_000_000_000_000),
    1712: .ia5(""), 1713: .integer(0), 1719: .integer(1), 1721: .utf8("spring"),
  ]
  static let required = [2, 12]
  static let requiredInPurchase = [1702, 1703, 1704]
}

/// The types of Apple's Receipt Validation Programming Guide (listings 1-1 and 1-2) and of real receipts.
@Suite("The attributes of a receipt")
struct AttributeTableTests {
  func members(_ attributes: [Int: DERTree]) -> [DERTree] {
    attributes.sorted { $0.key < $1.key }.map { type, value in
      // Types 4 and 5 are raw octets.
      type == 4 || type == 5 ? .attribute(type, octets: value.octets) : .attribute(type, value)
    }
  }

  func receipt(_ members: [DERTree]) throws -> AppReceipt {
    try AppReceipt(payload: DERTree.set(members).encoded)
  }

  func purchase(_ members: [DERTree]) throws -> InAppPurchase {
    try InAppPurchase(set: DERReader(DERTree.set(members).encoded))
  }

  func expectMalformed(_ read: () throws -> Void, _ comment: Comment? = nil) {
    let error = #expect(throws: ReceiptError.self, comment) { try read() }
    #expect(error?.code == .malformed)
  }

  @Test("types that this version does not know are skipped, however often they stand and whatever they hold")
  func unknownTypes() throws {
    let plain = try receipt(members(Attributes.ofReceipt))
    let plainPurchase = try purchase(members(Attributes.ofPurchase))
    for type in [-1, 6, 7, 8, 9, 10, 11, 13, 14, 20, 22, 25, 30, 1709, 9999, 1 << 40] {
      for octets: [UInt8] in [[], [0xFF], DERTree.utf8("twice").encoded] {
        let strange = [DERTree.attribute(type, octets: octets), .attribute(type, version: 9, octets: [1])]
        #expect(try receipt(members(Attributes.ofReceipt) + strange) == plain, "type \(type)")
        #expect(try receipt(strange + members(Attributes.ofReceipt)) == plain, "type \(type)")
        #expect(try purchase(strange + members(Attributes.ofPurchase)) == plainPurchase, "type \(type)")
      }
    }
  }

  @Test(
    "a known type that stands twice makes a receipt ambiguous, even with the same value",
    arguments: Attributes.ofReceipt.keys.sorted())
  func twice(type: Int) throws {
    let members = members(Attributes.ofReceipt)
    let again = try #require(members.first { $0.elements[0] == .integer(type) })
    expectMalformed { _ = try receipt(members + [again]) }
    expectMalformed { _ = try receipt([again] + members) }
  }

  @Test("so does one that stands twice in a purchase", arguments: Attributes.ofPurchase.keys.sorted())
  func twiceInPurchase(type: Int) throws {
    let members = members(Attributes.ofPurchase)
    let again = try #require(members.first { $0.elements[0] == .integer(type) })
    expectMalformed { _ = try purchase(members + [again]) }
  }

  @Test(
    "a receipt needs its application and its date; all the rest may be missing",
    arguments: Attributes.ofReceipt.keys.sorted())
  func missing(type: Int) throws {
    var attributes = Attributes.ofReceipt
    attributes[type] = nil
    if Attributes.required.contains(type) {
      expectMalformed { _ = try receipt(members(attributes)) }
    } else {
      let read = try receipt(members(attributes))
      #expect(read != (try receipt(members(Attributes.ofReceipt))))
      #expect(read.bundleIdentifier == "com.example.pullbox")
    }
  }

  @Test(
    "a purchase needs its product, its transaction and its date",
    arguments: Attributes.ofPurchase.keys.sorted())
  func missingInPurchase(type: Int) throws {
    var attributes = Attributes.ofPurchase
    attributes[type] = nil
    if Attributes.requiredInPurchase.contains(type) {
      expectMalformed { _ = try purchase(members(attributes)) }
    } else {
      #expect(try purchase(members(attributes)).transactionIdentifier == "7")
    }
  }

  @Test("without them, a purchase is one, and its own original")
  func defaults() throws {
    let least = Attributes.ofPurchase.filter { Attributes.requiredInPurchase.contains($0.key) }
    let read = try purchase(members(least))
    #expect(read.quantity == 1)
    #expect(read.originalTransactionIdentifier == "7")
    #expect(read.originalPurchaseDate == read.purchaseDate)
    #expect(read.expiresDate == nil)
    #expect(read.isTrialPeriod == nil)
    #expect(read.webOrderLineItemIdentifier == nil)
  }

  @Test("a date or a name that is required may not be empty")
  func emptyRequired() throws {
    for (type, read) in [(12, Attributes.ofReceipt), (1704, Attributes.ofPurchase)] {
      var attributes = read
      attributes[type] = .ia5("")
      expectMalformed {
        if type == 12 { _ = try receipt(members(attributes)) } else { _ = try purchase(members(attributes)) }
      }
    }
  }

  @Test("a value of another ASN.1 type than the attribute's is refused")
  func wrongValues() throws {
    for (type, value) in Attributes.ofReceipt.merging(
      Attributes.ofPurchase, uniquingKeysWith: { first, _ in first })
    where type != 4 && type != 5 {
      let other: DERTree = value.tag == 0x02 ? .utf8("1") : .integer(1)
      let strange: [DERTree] = [
        .attribute(type, other), .attribute(type, .null), .attribute(type, octets: []),
        .attribute(type, octets: value.encoded + [0]),
        .attribute(type, octets: Array(value.encoded.dropLast())),
        .attribute(type, .sequence([value])), .attribute(type, octets: value.octets),
        .attribute(type, octets: [value.tag, 0x81, UInt8(value.octets.count)] + value.octets),
      ]
      for attribute in strange {
        var attributes = type < 100 ? Attributes.ofReceipt : Attributes.ofPurchase
        attributes[type] = nil
        let all = members(attributes) + [attribute]
        expectMalformed { if type < 100 { _ = try receipt(all) } else { _ = try purchase(all) } }
      }
    }
  }

  @Test("text is a UTF8String or an IA5String, whichever the store took")
  func textTypes() throws {
    var attributes = Attributes.ofReceipt
    attributes[2] = .ia5("com.example.pullbox")
    attributes[12] = .utf8("2024-02-23T17:27:16Z")
    let read = try receipt(members(attributes))
    #expect(read.bundleIdentifier == "com.example.pullbox")
    #expect(read.rawBundleIdentifier.first == 0x16)
    #expect(read.creationDate == ReceiptVectors.created)
    attributes[2] = DERTree(0x0C, [0xC3, 0x28])
    expectMalformed { _ = try receipt(members(attributes)) }
  }

  @Test("an attribute is a SEQUENCE of a type, a version and an OCTET STRING, and nothing else")
  func attributeShape() {
    let good = members(Attributes.ofReceipt)
    let octets = DERTree.octetString([0x0C, 0x00])
    let strange: [DERTree] = [
      .sequence([]), .sequence([.integer(99)]), .sequence([.integer(99), .integer(1)]),
      .sequence([.integer(99), .integer(1), octets, .null]), .sequence([.integer(99), octets]),
      .sequence([.integer(99), .integer(1), .utf8("")]), .sequence([.utf8("99"), .integer(1), octets]),
      .set([.integer(99), .integer(1), octets]), .integer(99), .null,
      DERTree(0x30, [0x02]), .sequence([DERTree(0x02, []), .integer(1), octets]),
      .sequence([DERTree(0x02, [UInt8](repeating: 1, count: 9)), .integer(1), octets]),
    ]
    for attribute in strange {
      expectMalformed { _ = try receipt(good + [attribute]) }
    }
  }

  @Test("a payload is one SET, and nothing follows it")
  func payloadShape() throws {
    let good = DERTree.set(members(Attributes.ofReceipt))
    #expect(throws: Never.self) { try AppReceipt(payload: good.encoded) }
    var sequence = good
    sequence.tag = 0x30
    for payload in [
      [], [0x31, 0x00], sequence.encoded, good.encoded + [0x05, 0x00], good.encoded + good.encoded,
      good.encodedIndefinitely, DERTree.octetString(good.encoded).encoded, DERTree.set([good]).encoded,
    ] {
      expectMalformed { _ = try AppReceipt(payload: payload) }
    }
  }

  @Test("purchases stand any number of times, each a SET of its own")
  func manyPurchases() throws {
    let entry = { (number: Int) -> DERTree in
      var attributes = Attributes.ofPurchase
      attributes[1703] = .utf8(String(number))
      return .attribute(17, .set(members(attributes)))
    }
    // The largest receipt of which the size is known holds 187.
    for count in [0, 1, 2, 187, 1000] {
      let read = try receipt(members(Attributes.ofReceipt) + (0..<count).map(entry))
      #expect(read.purchases.map(\.transactionIdentifier) == (0..<count).map(String.init))
    }
    for value: DERTree in [.utf8("x"), .integer(1), .sequence([]), .set([]), .null] {
      expectMalformed { _ = try receipt(members(Attributes.ofReceipt) + [.attribute(17, value)]) }
    }
  }

  @Test("one purchase that cannot be read makes the whole receipt unreadable: half a history is none")
  func oneBadPurchase() {
    var bad = Attributes.ofPurchase
    bad[1712] = .ia5("yesterday")
    let entries = [Attributes.ofPurchase, bad].map { DERTree.attribute(17, .set(members($0))) }
    expectMalformed { _ = try receipt(members(Attributes.ofReceipt) + entries) }
  }

  @Test("the order of attributes means nothing", arguments: 0..<50 as Range<UInt64>)
  func order(seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    let purchases = (0..<3).map { number -> DERTree in
      var attributes = Attributes.ofPurchase
      attributes[1703] = .utf8(String(number))
      return .attribute(17, .set(members(attributes).shuffled(using: &generator)))
    }
    let all = members(Attributes.ofReceipt) + purchases
    let sorted = { (read: AppReceipt) -> AppReceipt in
      var read = read
      read.purchases.sort { $0.transactionIdentifier < $1.transactionIdentifier }
      return read
    }
    #expect(sorted(try receipt(all.shuffled(using: &generator))) == sorted(try receipt(all)))
  }

  @Test("versions of attributes are as the store likes", arguments: [0, 1, 2, 255, -1, Int.max])
  func versions(version: Int) throws {
    let all = members(Attributes.ofReceipt).map { attribute -> DERTree in
      var attribute = attribute
      attribute.elements[1] = .integer(version)
      return attribute
    }
    #expect(try receipt(all) == receipt(members(Attributes.ofReceipt)))
  }

  @Test(
    "what is written has the types of the real one: text, IA5 text, integers, raw octets",
    arguments: [
      (0, 0x0C), (1, 0x02), (2, 0x0C), (3, 0x0C), (12, 0x16), (15, 0x02), (16, 0x02), (17, 0x31), (18, 0x16),
      (19, 0x0C), (21, 0x16), (1701, 0x02), (1702, 0x0C), (1703, 0x0C), (1704, 0x16), (1705, 0x0C),
      (1706, 0x16), (1707, 0x02), (1708, 0x16), (1711, 0x02), (1712, 0x16), (1713, 0x02), (1719, 0x02),
      (1721, 0x0C),
    ] as [(Int, UInt8)])
  func writtenTypes(type: Int, tag: UInt8) throws {
    var everything = try receipt(members(Attributes.ofReceipt))
    everything.purchases = [try purchase(members(Attributes.ofPurchase))]
    let payload = DERTree(everything.encodedPayload)
    let inner = try #require(payload.elements.first { $0.elements[0] == .integer(17) })
    let set = type < 100 ? payload : DERTree(inner.elements[2].octets)
    let attribute = try #require(set.elements.first { $0.elements[0] == .integer(type) })
    #expect(attribute.elements[1] == .integer(1))
    #expect(attribute.elements[2].octets.first == tag)
  }

  @Test("what is written is a SET in the order of DER, with attribute 4 of version 2")
  func writtenOrder() throws {
    var everything = try receipt(members(Attributes.ofReceipt))
    everything.purchases = [
      try purchase(members(Attributes.ofPurchase)), try purchase(members(Attributes.ofPurchase)),
    ]
    let payload = DERTree(everything.encodedPayload)
    let encodings = payload.elements.map(\.encoded)
    #expect(payload.tag == 0x31)
    #expect(encodings == encodings.sorted { $0.lexicographicallyPrecedes($1) })
    let salt = try #require(payload.elements.first { $0.elements[0] == .integer(4) })
    #expect(salt.elements[1] == .integer(2))
    #expect(salt.elements[2] == .octetString([1, 2, 3]))
    #expect(try AppReceipt(payload: everything.encodedPayload) == everything)
  }
}
