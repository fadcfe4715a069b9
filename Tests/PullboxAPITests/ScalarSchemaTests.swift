import Commerce
import Crypto
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// The patterns and lengths of docs/openapi.yaml, held against the types that read such texts.
@Suite("Texts with a pattern in docs/openapi.yaml")
struct ScalarSchemaTests {
  /// The treatment of a text that its schema does not allow.
  enum Beyond {
    case refused
    /// It may be read; what is written of it is allowed.
    case respelled
    /// It may be read: the schema's description is wider than its pattern.
    case kept
  }

  /// A schema, and a type that reads what it allows.
  struct Scalar: Sendable, CustomTestStringConvertible {
    /// The path of the schema below `components/schemas`.
    let path: [String]
    let beyond: Beyond
    /// Texts that the schema allows.
    let seeds: [String]
    /// Returns the text that is written of one that was read; nil for one that is refused.
    let rewrite: @Sendable (String) -> String?

    var testDescription: String { path.joined(separator: ".") }

    init(
      _ path: [String], _ seeds: [String], beyond: Beyond = .refused,
      rewrite: @escaping @Sendable (String) -> String?
    ) {
      self.path = path
      self.beyond = beyond
      self.seeds = seeds
      self.rewrite = rewrite
    }

    init<Value: Codable & Sendable>(_ type: Value.Type, _ seeds: [String], beyond: Beyond = .refused) {
      self.init(["\(type)"], seeds, beyond: beyond) { text in
        guard let body = try? APIJSON.encode([text]),
          let values = try? APIJSON.decode([Value].self, from: body),
          let written = try? APIJSON.encode(values)
        else { return nil }
        return try? APIJSON.decode([String].self, from: written).first
      }
    }
  }

  private static let names = ["com.example.heroes.issue42", "2000000000000001", "A-b_c.", "-", "_", "0"]
  private static let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

  static let scalars = [
    Scalar(ProductIdentifier.self, names), Scalar(TransactionIdentifier.self, names),
    Scalar(DeviceIdentifier.self, names), Scalar(PriceTierName.self, names),
    Scalar(ApplicationIdentifier.self, names),
    Scalar(GrantShortName.self, ["0123456789abcdef", "0000000000000000", "ffffffffffffffff"]),
    Scalar(GrantIdentifier.self, ["0123456789abcdef0123456789abcdef"]),
    Scalar(SHA256Digest.self, [digest]), Scalar(PublisherKeyIdentifier.self, [digest]),
    Scalar(ContentVersion.self, ["1.10", "0", "999999999.0.1", "1.2.3.4.5.6.7.8"], beyond: .kept),
    Scalar(ApplicationVersion.self, ["2024.01.05", "1", "00.0", "123456789012345678901234567890"]),
    Scalar(BillingPeriod.self, ["P1M", "P999D", "P12W", "P1Y"], beyond: .respelled),
    Scalar(["Price", "properties", "amount"], ["2.99", "0", "000000000.000", "999999999", "1.5"]) { text in
      Price(amount: text, currency: "EUR")?.amount
    },
  ]

  private let schemas: YAMLDocument

  init() throws {
    schemas = try #require(try OpenAPIDocument().root["components"]?["schemas"])
  }

  @Test("each schema of a text with a pattern is compared with a type")
  func complete() {
    let patterns = schemas.members.filter { $0.value["pattern"] != nil }.map(\.key)
    let compared = Self.scalars.filter { $0.path.count == 1 }.flatMap(\.path)
    // Its pattern cannot say that the last bits of a key are zero; WireValueTests has its texts.
    #expect(patterns.sorted() == (compared + ["VerificationKey"]).sorted())
  }

  @Test(
    "a text that is allowed is read and written as it is, and another one is not written", arguments: scalars)
  func texts(scalar: Scalar) throws {
    let schema = try #require(scalar.path.reduce(Optional(schemas)) { $0?[$1] })
    let pattern = try Regex(try #require(schema["pattern"]?.text)).matchingSemantics(.unicodeScalar)
    let shortest = schema["minLength"]?.text.flatMap { Int($0) } ?? 0
    let longest = schema["maxLength"]?.text.flatMap { Int($0) } ?? .max
    func isAllowed(_ text: String) -> Bool {
      (shortest...longest).contains(text.unicodeScalars.count) && text.wholeMatch(of: pattern) != nil
    }
    for seed in scalar.seeds { #expect(isAllowed(seed), "\(seed)") }
    var texts = ["a", "0", "f", "1.", "é"].flatMap { part in
      (0...260).map { String(repeating: part, count: $0) }
    }
    var mutator = Mutator(
      seed: 7, seeds: scalar.seeds, words: [".", "0", "a", "F", "P", "-", " ", "\n", "é", "\u{301}", "\0"])
    texts += (0..<2000).map { _ in String(decoding: mutator.next(), as: UTF8.self) }
    var allowed = 0
    for text in scalar.seeds + texts {
      let written = scalar.rewrite(text)
      if isAllowed(text) {
        allowed += 1
        #expect(written == text)
      } else if let written {
        switch scalar.beyond {
        case .refused: Issue.record("\(text) is not allowed, and is read")
        case .respelled: #expect(isAllowed(written), "\(text)")
        case .kept: #expect(scalar.rewrite(written) == written, "\(text)")
        }
      }
    }
    // The mutations are of both kinds.
    #expect(allowed > 50 && allowed < texts.count - 50)
  }
}
