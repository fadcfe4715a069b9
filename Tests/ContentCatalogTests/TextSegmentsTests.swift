import Testing

@testable import ContentCatalog

@Suite("Many texts in few pieces of memory")
struct TextSegmentsTests {
  @Test("each text comes back as it was, also one that is longer than a segment, and an empty one")
  func texts() {
    var segments = TextSegments()
    let texts =
      (0..<3000).map { String(repeating: "é\($0)", count: $0 % 300) }
      + [String(repeating: "a", count: 3 << 20), ""]
    let places = texts.map { segments.append($0) }
    for (text, place) in zip(texts, places) { #expect(segments[place] == text) }
  }
}
