import CoreTypes
import PullboxTesting
import Testing

@testable import OperatorConsole

@Suite("The console's words")
struct WordsTests {
  @Test("values go into their places, and are not looked at again")
  func places() {
    let phrase = Phrase("{1} of {0}", "{0}: {1}")
    #expect(Words(.english)(phrase, "{1}", "b") == "b of {1}")
    #expect(Words(.german)(phrase, "a", "{0}") == "a: {0}")
  }

  /// The two texts of each `Phrase(…)` in the sources.
  private func phrases() throws -> [(english: String, german: String)] {
    let call = try Regex("Phrase\\(\\s*\"((?:[^\"\\\\]|\\\\.)*)\",\\s*\"((?:[^\"\\\\]|\\\\.)*)\"\\s*\\)")
    let tables = [
      "Frame", "Today", "Deliveries", "House", "Products", "Progress", "Pages", "Editing", "Customers",
      "Approvals", "Import", "Upload", "Refusals", "Entitlements",
    ]
    return try tables.flatMap { name in
      let text = try RepositoryFile("Sources/OperatorConsole/Texts/Phrase+\(name).swift").text
      return text.matches(of: call).map { match in
        (String(match.output[1].substring ?? ""), String(match.output[2].substring ?? ""))
      }
    }
  }

  @Test("both languages of a phrase have the same places, and neither is empty")
  func complete() throws {
    let phrases = try phrases()
    #expect(phrases.count > 100)
    for phrase in phrases {
      #expect(!phrase.english.isEmpty && !phrase.german.isEmpty, "\(phrase)")
      for place in ["{0}", "{1}", "{2}"] {
        #expect(phrase.english.contains(place) == phrase.german.contains(place), "\(phrase)")
      }
    }
  }

  @Test("numbers, amounts and dates are written as the language has them")
  func values() {
    let (english, german) = (Words(.english), Words(.german))
    #expect(english.number(1_234_567) == "1,234,567")
    #expect(german.number(-1234) == "−1.234")
    #expect(english.money("1234.50", "EUR") == "1,234.50\u{A0}EUR")
    #expect(german.money("-0.99", "EUR") == "−0,99\u{A0}EUR")
    #expect(english.bytes(ByteCount(1023)) == "1,023\u{A0}B")
    #expect(german.bytes(ByteCount(1_610_613)) == "1,5\u{A0}MiB")
    let time = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)
    #expect(english.moment(time) == "2026-09-21 14:13 UTC")
    #expect(german.moment(time) == "21.09.2026 14:13 UTC")
    #expect(english.duration(.seconds(90_061)) == "1\u{A0}d 1\u{A0}h")
  }

  @Test("a browser's first language that the console speaks is spoken")
  func negotiation() {
    #expect(Language(accepting: ["fr-FR, de-AT;q=0.8, en;q=0.5"]) == .german)
    #expect(Language(accepting: ["en-GB,de"]) == .english)
    #expect(Language(accepting: ["fr", "*"]) == .english)
    #expect(Language(accepting: []) == .english)
  }

  @Test("the script has at most 20 KiB, and whole first page's files few more")
  func lengths() {
    #expect(ConsoleAsset.script.length <= 20 * 1024)
    #expect(ConsoleAsset.all.reduce(0) { $0 + $1.length } <= 40 * 1024)
  }
}
