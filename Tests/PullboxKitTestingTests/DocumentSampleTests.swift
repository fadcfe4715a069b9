import Foundation
import PullboxTesting
import Testing

/// docs/kit.md shows what compiles, and names what there is.
@Suite("The page for developers of apps") struct DocumentSampleTests {
  private static func text(_ path: String) throws -> String {
    try RepositoryFile(path).text
  }

  /// Without what the formatter may change.
  private static func solid(_ text: some StringProtocol) -> String {
    String(text.filter { !$0.isWhitespace })
  }

  @Test("every sample of Swift is compiled with the tests, but for those that say why not")
  func compiled() throws {
    let samples = Self.solid(try Self.text("Tests/PullboxKitTestingTests/DocumentSamples.swift"))
    let parts = try Self.text("docs/kit.md").components(separatedBy: "```swift\n")
    var found = 0
    for (before, part) in zip(parts, parts.dropFirst()) where !before.hasSuffix(" Package.swift -->\n") {
      let code = part.components(separatedBy: "```")[0]
      let isCompiled = samples.contains(Self.solid(code))
      #expect(isCompiled, "not in DocumentSamples.swift:\n\(code)")
      found += 1
    }
    #expect(found >= 10)
  }

  @Test("the session of the page runs")
  func session() async throws {
    try await DocumentSamples.session(page: [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 7, count: 5000))
  }
}
