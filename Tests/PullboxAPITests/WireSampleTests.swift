import Foundation
import PullboxAPI
import ServiceAPI
import Testing

/// Every wire type, read and written, held against samples that were written by hand.
@Suite("Wire types")
struct WireSampleTests {
  /// Members whose values are tables: the names in them are data.
  static let tables: Set<String> = [
    "feeds", "localizations", "nearest", "prices", "subscribedSince", "subscribedUntil",
  ]

  private func tables(of sample: WireSample) -> Set<String> {
    switch sample.name {
    case "AgentStatus": Self.tables.union(["downloads"])
    // By language.
    case "ContentSection": Self.tables.union(["title"])
    default: Self.tables
    }
  }

  /// The sentence that the text is refused with; nil where it is read.
  private func refusal(_ sample: WireSample, _ text: String) -> String? {
    do {
      _ = try sample.rewrite(text)
      return nil
    } catch {
      return APIJSON.explain(error)
    }
  }

  /// Members that may be left out, and those that may not.
  private func members(of sample: WireSample) throws -> (optional: [String], required: [String]) {
    let always = try JSONText.members(sample.minimal).filter { !($0.value is NSNull) }
    let names = try JSONText.members(sample.full).keys.sorted()
    return (names.filter { always[$0] == nil }, names.filter { always[$0] != nil })
  }

  @Test("what is read is written again, byte by byte", arguments: WireSample.all)
  func bothDirections(sample: WireSample) throws {
    #expect(try sample.rewrite(sample.full) == sample.full)
    #expect(try sample.rewrite(sample.minimal) == sample.minimal)
  }

  @Test("the sample has every member that the type has", arguments: WireSample.all)
  func everyMember(sample: WireSample) throws {
    #expect(try sample.emptyProperties(sample.full) == [])
  }

  @Test("the order of members and white space between them mean nothing", arguments: WireSample.all)
  func layout(sample: WireSample) throws {
    var spread = ""
    var isInString = false
    for character in sample.full {
      if character == "\"" { isInString.toggle() }
      spread += !isInString && ":,{}[]".contains(character) ? "\n\t \(character) \r\n" : String(character)
    }
    #expect(try sample.rewrite(spread) == sample.full)
    let members = try JSONText.members(sample.full)
    guard !members.isEmpty else { return }
    let backwards = try members.sorted { $0.key > $1.key }.map { name, value in
      "\"\(name)\":\(try JSONText.text(value))"
    }
    #expect(try sample.rewrite("{\(backwards.joined(separator: ","))}") == sample.full)
  }

  @Test("a member that may be absent may be null as well, and is not written then", arguments: WireSample.all)
  func absentOrNull(sample: WireSample) throws {
    for member in try members(of: sample).optional {
      let absent = try sample.rewrite(JSONText.text(sample.full, replacing: member, with: nil))
      let null = try sample.rewrite(JSONText.text(sample.full, replacing: member, with: NSNull()))
      #expect(absent == null, "\(member)")
      // A time that is unknown is the one thing that null says.
      let isWritten = try JSONText.members(null)[member] != nil
      #expect(isWritten == (member == "timeRemaining"), "\(member)")
    }
  }

  @Test("a member that must be there is asked for by name", arguments: WireSample.all)
  func required(sample: WireSample) throws {
    for member in try members(of: sample).required {
      let absent = try JSONText.text(sample.full, replacing: member, with: nil)
      #expect(refusal(sample, absent) == "\(member) is missing")
      let null = try JSONText.text(sample.full, replacing: member, with: NSNull())
      #expect(refusal(sample, null)?.hasPrefix("\(member) is ") == true, "\(member): null")
    }
  }

  @Test("a value of another kind is refused, and its member named", arguments: WireSample.all)
  func otherKinds(sample: WireSample) throws {
    for member in try JSONText.members(sample.full).keys.sorted() {
      for value in [[[Any]()], ["": [Any]()]] as [Any] {
        // Each member of it may be absent, and others are ignored.
        if ["policy", "locations", "text", "network"].contains(member), value is [String: Any] { continue }
        let text = try JSONText.text(sample.full, replacing: member, with: value)
        let sentence = try #require(refusal(sample, text), "\(member): \(value)")
        #expect(sentence.hasPrefix(member), "\(sentence)")
      }
    }
  }

  /// Members with a fraction.
  private static let fractions: Set<String> = [
    "progress", "progression", "speed", "timeRemaining", "totalProgression",
  ]

  @Test(
    "a string, number or truth value of another kind is refused, at every depth, and its place named",
    arguments: WireSample.all)
  func otherScalars(sample: WireSample) throws {
    let variants = try JSONText.variants(of: sample.full) { value -> [Any] in
      if value is String { return [1, true] }
      // Foundation's numbers answer to both; their text tells truth values apart.
      let isNumber = (try? JSONText.text(value)).map { $0 != "true" && $0 != "false" } ?? false
      return isNumber ? ["1", true, "", "true"] : [1, 0, "true", "yes"]
    }
    for variant in variants where !variant.path.isEmpty {
      let sentence = try #require(refusal(sample, variant.text), "\(variant.path): \(variant.text)")
      #expect(sentence.hasPrefix(variant.path), "\(sentence)")
    }
  }

  @Test(
    "a number that its member cannot hold is refused, at every depth, and its place named",
    arguments: WireSample.all)
  func numbersThatDoNotFit(sample: WireSample) throws {
    let marked = try JSONText.variants(of: sample.full) { value -> [Any] in
      let text = (try? JSONText.text(value)) ?? ""
      return text.first?.isNumber == true ? ["NUMBER"] : []
    }
    for variant in marked {
      let mayHaveFraction = Self.fractions.contains(String(variant.path.split(separator: ".").last ?? ""))
      for number in mayHaveFraction ? ["1e400"] : ["0.5", "1e30", "18446744073709551616"] {
        let text = variant.text.replacing("\"NUMBER\"", with: number)
        #expect(refusal(sample, text) == "\(variant.path): not a number that fits", "\(number)")
      }
    }
  }

  @Test(
    "a page holds entries of each kind that there are lists of",
    arguments: ["AuditEntry", "OperatorGrant", "OperatorProduct", "UploadRecord", "VersionRecord"])
  func pages(entry: String) throws {
    let sample = try #require(WireSample.all.first { $0.name == entry })
    let page: WireSample? =
      switch entry {
      case "AuditEntry": WireSample(Page<AuditEntry>.self, Self.page(of: sample))
      case "OperatorGrant": WireSample(Page<OperatorGrant>.self, Self.page(of: sample))
      case "OperatorProduct": WireSample(Page<OperatorProduct>.self, Self.page(of: sample))
      case "UploadRecord": WireSample(Page<UploadRecord>.self, Self.page(of: sample))
      case "VersionRecord": WireSample(Page<VersionRecord>.self, Self.page(of: sample))
      default: nil
      }
    let text = try #require(page).full
    #expect(try page?.rewrite(text) == text)
    // The last page names none that follows.
    let last = try JSONText.text(text, replacing: "next", with: nil)
    #expect(try JSONText.members(try #require(page).rewrite(last)).keys.sorted() == ["items"])
  }

  private static func page(of sample: WireSample) -> String {
    #"{"items":[\#(sample.full),\#(sample.minimal)],"next":"com.example.b"}"#
  }

  @Test(
    "a member of tomorrow is ignored, at every depth",
    arguments: WireSample.all.filter { !$0.isOperatorWritten })
  func unknownIgnored(sample: WireSample) throws {
    for variant in try JSONText.variants(of: sample.full, adding: "fromTomorrow", tables: tables(of: sample))
    {
      #expect(try sample.rewrite(variant.text) == sample.full, "\(variant.path)")
    }
  }

  @Test(
    "what an operator writes is refused with a member that is not known, at every depth, and the member is named",
    arguments: WireSample.all.filter(\.isOperatorWritten))
  func unknownRefused(sample: WireSample) throws {
    for text in [sample.full, sample.minimal] {
      let variants = try JSONText.variants(of: text, adding: "percentag", tables: tables(of: sample))
      #expect(!variants.isEmpty)
      for variant in variants {
        #expect(refusal(sample, variant.text) == "\(variant.path): there is no such member")
      }
    }
  }

  @Test("the bodies that operators write are these")
  func operatorWritten() {
    #expect(
      WireSample.all.filter(\.isOperatorWritten).map(\.name) == [
        "RevocationRequest", "PublicationDescription", "CatalogImport", "PriceTierDescription",
        "ProductSubmission", "GarbageCollectionRequest", "ProductDescription", "ReleaseRequest", "ReasonBody",
        "VersionSubmission",
        "WithdrawalRequest",
        // The test controls of the sandbox store.
        "AccountChange", "AccountRequest", "CodeRequest", "LicenseRequest", "LicenseSeatRequest",
        "PriceIncreaseRequest", "PurchaseDecision", "PurchaseFailureRequest", "ProductOffers",
        "RefundRequest",
        "StoreFamily", "StoreFaults", "StoreTime",
      ])
  }

  @Test("what is no JSON, or another kind of document, is refused", arguments: WireSample.all)
  func noDocument(sample: WireSample) {
    for text in [
      "", " ", "{", "}", "null", "[]", "1", "nul", "{\"a\":}", sample.full + "}", "'a'", "\u{FEFF}",
    ] {
      #expect(refusal(sample, text) != nil, "\(text)")
    }
  }

  @Test("words of an enumeration are written as they are read", arguments: WireWords.all)
  func words(words: WireWords) throws {
    for word in words.words { #expect(try words.rewrite(word) == "[\"\(word)\"]") }
    if let count = words.count { #expect(words.words.count == count) }
  }

  @Test("an open word of tomorrow is passed on", arguments: WireWords.all.filter(\.isOpen))
  func openWords(words: WireWords) throws {
    #expect(try words.rewrite("later") == "[\"later\"]")
  }

  @Test(
    "a word that an enumeration does not have is refused, in whatever case",
    arguments: WireWords.all.filter { !$0.isOpen })
  func otherWords(words: WireWords) {
    let known = words.words[0]
    let inOtherCase = known == known.uppercased() ? known.lowercased() : known.uppercased()
    for word in ["", "later", inOtherCase, " " + known, known + "s"] {
      #expect(throws: DecodingError.self, "\(word)") { try words.rewrite(word) }
    }
  }

  @Test(
    "a word of tomorrow in a list that is closed is refused, and its place named",
    arguments: [
      ("DownloadsResponse", #""state":"active""#, "downloads.[0].state"),
      ("GrantStatus", #""state":"granted""#, "history.[0].state"),
      ("LibraryEvent", #""change":"placed""#, "change"),
      ("OperatorProduct", #""type":"non-consumable""#, "product.type"),
      ("OperatorProduct", #""state":"draft""#, "versions.[1].state"),
      ("ProductsResponse", #""type":"non-consumable""#, "products.[0].type"),
      ("TransactionsResponse", #""state":"purchased""#, "transactions.[0].state"),
    ])
  func closedWords(type: String, word: String, place: String) throws {
    let sample = try #require(WireSample.all.first { $0.name == type })
    let member = word.prefix { $0 != ":" }
    let text = sample.full.replacing(word, with: "\(member):\"of-tomorrow\"", maxReplacements: 1)
    #expect(text != sample.full)
    let sentence = try #require(refusal(sample, text))
    #expect(sentence.hasPrefix("\(place): ") && sentence.contains("of-tomorrow"), "\(sentence)")
  }
}
