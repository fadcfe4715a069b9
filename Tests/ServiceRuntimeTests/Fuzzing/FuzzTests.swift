import PullboxTesting
import Testing

@testable import ServiceRuntime

/// A bounded run of the fuzz target; `scripts/fuzz settings` runs it without bounds.
struct FuzzTests {
  private static func mutator() -> Mutator {
    Mutator(
      seed: 5,
      seeds: [
        "{ listen: ['127.0.0.1:8080'], loops: 2, } // two",
        "{\r\n  \"a b\": [1, -0x1F, .5e3, +1.],\n\tc: null }",
        "/* a */ { key: \"\\u00e9\\x41\\\n\\ud83d\\ude00\\0\", 'x': { $y_1: true } }", "[[[{}]]]",
        "'a\u{2028}b' // end\r", "9223372036854775808", "{ é: 'ü', \u{FEFF}z: -9223372036854775808 }",
      ],
      words: [
        "{", "}", "[", "]", ":", ",", "'", "\"", "\\", "\\u", "\\ud83d", "//", "/*", "*/", "\n", "\r\n",
        "0x",
        "1e309", "-", "null", "Infinity", "NaN", "[[[[[[[[[[[[[[[[[[", "\u{85}",
      ])
  }

  @Test("no mutation of a configuration breaks a rule")
  func mutations() {
    var mutator = Self.mutator()
    for _ in 0..<20_000 {
      let bytes = mutator.next()
      if let broken = FuzzTarget.settings.check(bytes) {
        Issue.record("\(broken): \(String(decoding: bytes, as: UTF8.self).debugDescription)")
        return
      }
    }
  }
}
