import Testing

@testable import HTTPServer

@Suite("Warm pages")
struct PageCacheHintsTests {
  @Test("a part that was in the cache is known for a second, and only that part, of that file")
  func remembers() {
    var hints = PageCacheHints()
    hints.remember(3, range: 65_536..<196_608, now: 10)
    #expect(hints.holds(3, range: 65_536..<196_608, now: 10))
    #expect(hints.holds(3, range: 100_000..<100_001, now: 1_000_000_009))
    #expect(!hints.holds(3, range: 100_000..<100_001, now: 1_000_000_010))
    #expect(!hints.holds(3, range: 65_535..<196_608, now: 10))
    #expect(!hints.holds(3, range: 65_536..<196_609, now: 10))
    #expect(!hints.holds(4, range: 65_536..<196_608, now: 10))
  }

  @Test("of a block that is covered in part, nothing is known")
  func forgetsParts() {
    var hints = PageCacheHints()
    hints.remember(3, range: 1..<131_071, now: 10)
    #expect(!hints.holds(3, range: 1..<65_536, now: 10))
    #expect(!hints.holds(3, range: 65_536..<131_071, now: 10))
  }

  @Test("blocks past four gibibytes are told apart from those below")
  func farBlocks() {
    var hints = PageCacheHints()
    let far: Int64 = 1 << 40
    hints.remember(3, range: far..<far + 65_536, now: 10)
    #expect(hints.holds(3, range: far..<far + 65_536, now: 10))
    #expect(!hints.holds(3, range: 0..<65_536, now: 10))
  }
}
