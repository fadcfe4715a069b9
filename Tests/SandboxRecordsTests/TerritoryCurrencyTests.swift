import Testing

@testable import SandboxRecords

@Suite("The currency of a territory")
struct TerritoryCurrencyTests {
  @Test(
    "currencies are those of the territories",
    arguments: [("USA", "USD"), ("GBR", "GBP"), ("JPN", "JPY"), ("POL", "PLN")])
  func currencies(territory: String, currency: String) {
    #expect(TerritoryCurrency.code(of: territory) == currency)
    #expect(TerritoryCurrency.code(of: "XXX") == nil)
  }
}
