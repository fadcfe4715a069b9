import Testing

@testable import ContentDelivery

@Suite("Digest fields and Metalink")
struct MetalinkTests {
  @Test("what XML gives a meaning to is escaped, also where a mark makes one character with it")
  func escaped() {
    let text = Metalink.escaped("<\u{338}>\u{338}&\u{301}\"\u{301}a")
    #expect(
      text.unicodeScalars.elementsEqual(
        "&lt;\u{338}&gt;\u{338}&amp;\u{301}&quot;\u{301}a".unicodeScalars))
  }
}
