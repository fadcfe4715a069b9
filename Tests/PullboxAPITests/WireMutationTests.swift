import PullboxAPI
import PullboxTesting
import Testing

@Suite("Wire types under mutation")
struct WireMutationTests {
  private static let words = [
    "null", "true", "1e400", "-0", "0.5", "9223372036854775807", "\"\"", "\"\\ud800\"", "\\u0000", "{}", "[]",
    ",", ":", "\"", "\\", "{\"a\":", "é", "\u{FEFF}", "2026-02-30T00:00:00Z", "9999-12-31T23:59:60Z",
  ]

  @Test(
    "a document that was changed at random is refused in a sentence, or written so that it is read as the same",
    arguments: WireSample.all)
  func mutations(sample: WireSample) throws {
    // Longer ones would be cut, which makes no JSON.
    let seeds = [sample.full, sample.minimal].filter { $0.utf8.count <= 2000 }
    guard !seeds.isEmpty else { return }
    var mutator = Mutator(seed: 17, seeds: seeds, words: Self.words)
    for _ in 0..<60 {
      let text = String(decoding: mutator.next(), as: UTF8.self)
      let written: String
      do {
        written = try sample.rewrite(text)
      } catch {
        #expect(error is DecodingError, "\(text)")
        #expect(APIJSON.explain(error) != "not readable as JSON", "\(text)")
        continue
      }
      #expect(try sample.rewrite(written) == written, "\(text)")
    }
  }

  @Test("a document that is cut at any byte is refused", arguments: WireSample.all)
  func cuts(sample: WireSample) {
    let bytes = Array(sample.minimal.utf8)
    guard bytes.count <= 600 else { return }
    for count in bytes.indices {
      #expect(throws: DecodingError.self, "\(count)") {
        try sample.rewrite(String(decoding: bytes.prefix(count), as: UTF8.self))
      }
    }
  }
}
