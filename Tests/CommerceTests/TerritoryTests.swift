import Commerce
import Testing

@Suite("Territories")
struct TerritoryTests {
  @Test("ISO 3166-1 assigns 249 codes, each alpha-3 code with an alpha-2 code of its own")
  func table() {
    let all = Territory.all
    #expect(all.count == 249)
    #expect(Set(all.map(\.region)).count == 249)
    #expect(all.allSatisfy { $0.code.utf8.count == 3 && $0.region.utf8.count == 2 })
  }

  @Test(
    "a code leads to its region", arguments: [("FRA", "FR"), ("DEU", "DE"), ("GBR", "GB"), ("TWN", "TW")])
  func region(code: String, region: String) {
    #expect(Territory(code)?.region == region)
    #expect(Territory(region: region)?.code == code)
  }

  @Test(
    "what ISO 3166-1 has not assigned is no territory", arguments: ["", "QQQ", "fra", "FR", "XKX", "FRAA"])
  func unknown(code: String) {
    #expect(Territory(code) == nil)
    #expect(Territory(region: code == "FR" ? "FRA" : code) == nil)
  }
}
