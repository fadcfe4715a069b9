import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// Values that are one text: what is read is written, and what is written is read as the same.
@Suite("Values that are one text")
struct WireTextTests {
  /// A type with texts that it reads.
  struct Kind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let seeds: [String]
    /// The text that is written of a text that is read, if that is read as an equal value with an equal hash; nil for a text that is
    /// refused.
    let rewrite: @Sendable (String) throws -> String?

    init<Value: Hashable & Sendable & Codable & LosslessStringConvertible>(
      _ type: Value.Type, _ seeds: [String]
    ) {
      testDescription = "\(type)"
      self.seeds = seeds
      rewrite = { text in
        guard let value = Value(text) else { return nil }
        let again = try #require(Value(value.description), "\(text)")
        #expect(again == value && again.hashValue == value.hashValue, "\(text)")
        // In a document it is a string, and nothing else.
        let document = try APIJSON.encode([value])
        #expect(try APIJSON.decode([String].self, from: document) == [value.description])
        #expect(try APIJSON.decode([Value].self, from: APIJSON.encode([text])) == [value], "\(text)")
        return value.description
      }
    }
  }

  static let kinds = [
    Kind(GrantIdentifier.self, ["0123456789abcdef0123456789abcdef"]),
    Kind(GrantShortName.self, ["0123456789abcdef", "000000000000000a"]),
    Kind(DownloadIdentifier.self, ["5b0c2f9a1d3e4f60", "A-z_0"]),
    Kind(GiftCode.self, ["0A1B2C3D4E5F6071", "summer-2026", "X"]),
    Kind(
      ShownPrice.self,
      [
        "free", "2.99 EUR", "4.99 USD; free-trial P1W", "4.99 USD; pay-as-you-go P1M 3 0.99 USD",
        "4.99 USD; bonus P1M", "0.99 EUR; pay-up-front P6M 1 0.50 EUR; bonus P1M", "free; bonus P2W",
      ]),
    Kind(
      CatalogMember.self,
      [
        "type", "backIssues", "title:fr-FR", "description:en-US", "terms:de-DE", "price:FRA",
        "preserved:FRA:2026-12-01T00:00:00Z", "preserved:USA:2026-12-24T08:00:00.5+01:00",
      ]),
  ]

  @Test(
    "a text that was changed at random is refused, or written so that it is read as the same",
    arguments: kinds)
  func mutations(kind: Kind) throws {
    for seed in kind.seeds { #expect(try kind.rewrite(seed) != nil, "\(seed)") }
    var mutator = Mutator(
      seed: 11, seeds: kind.seeds,
      words: ["; ", " ", ":", "bonus ", "P007D", "0", "99", "free", "-", ".", "é", "\u{301}", "\r\n", "\0"])
    var read = 0
    for _ in 0..<3000 {
      let text = String(decoding: mutator.next(), as: UTF8.self)
      guard let written = try kind.rewrite(text) else { continue }
      read += 1
      // There is one way to write a value.
      #expect(try kind.rewrite(written) == written, "\(text)")
    }
    #expect(read > 100 && read < 2900)
  }
}
