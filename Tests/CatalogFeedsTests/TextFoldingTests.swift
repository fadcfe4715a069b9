import Testing

@testable import CatalogDocuments

@Suite("Texts of which only case, width and marks differ")
struct TextFoldingTests {
  @Test(
    "are the same for a search",
    arguments: [
      ("Straße", "STRAßE"), ("Été", "ete"), ("ΆΛΦΑ", "αλφα"), ("Ёлка", "елка"), ("ＡＢＣ１２", "abc12"),
      ("ｶﾞｲﾄﾞ", "ガイド"),
      ("ﾊﾟﾝ", "パン"), ("e\u{301}", "é"),
    ])
  func alike(one: String, other: String) {
    #expect(TextFolding.fold(one) == TextFolding.fold(other))
  }

  @Test(
    "are others where a mark is a vowel or a sound of its script",
    arguments: [("が", "か"), ("हिन्दी", "हन्द"), ("กิน", "กน"), ("パ", "ハ")])
  func others(one: String, other: String) {
    #expect(TextFolding.fold(one) != TextFolding.fold(other))
  }
}
