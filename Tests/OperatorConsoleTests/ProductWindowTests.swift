import Testing

@testable import OperatorConsole

@Suite("Territories and languages side by side", .timeLimit(.minutes(1)))
struct ProductWindowTests {
  private func names(_ count: Int) -> [String?] { (0..<count).map { "n\($0)" } }

  @Test("an address that names thousands of each costs no more than what a page shows of them")
  func manyNames() {
    let (looks, isWhole) = ProductWindow.pairs(names(100_000), names(100_000))
    #expect(looks.map(\.territory) == [String?](repeating: "n0", count: 12))
    #expect(looks.map(\.locale) == names(12))
    #expect(!isWhole)
  }

  @Test(
    "twelve pairs are all that there are, and thirteen are not",
    arguments: [
      (1, 12, true), (12, 1, true), (3, 4, true), (1, 13, false), (13, 1, false), (4, 4, false), (1, 1, true),
    ])
  func whole(territories: Int, locales: Int, isAll: Bool) {
    let (looks, isWhole) = ProductWindow.pairs(names(territories), names(locales))
    #expect(isWhole == isAll)
    #expect(looks.count == min(territories * locales, 12))
  }
}
