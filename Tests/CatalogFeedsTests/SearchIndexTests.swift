import Commerce
import PullboxAPI
import ServiceAPI
import Testing

@testable import CatalogDocuments
@testable import CatalogFeeds

@Suite("The search of titles")
struct SearchIndexTests {
  private func found(_ question: String) throws -> [String] {
    func product(_ id: String, _ titles: [String: String], of publication: String? = nil) throws -> Product {
      Product(
        id: try #require(ProductIdentifier(id)), type: .nonConsumable,
        localizations: titles.mapValues { Product.Localization(title: $0, description: "") },
        publication: try publication.map { try #require(ProductIdentifier($0)) })
    }
    let series = try #require(ProductIdentifier("series"))
    let index = SearchIndex(
      of: [
        try product("a", ["en-US": "The Crane's Flight", "de-DE": "Der Flug des Kranichs"]),
        try product("b", ["fr-FR": "Été à Liège"], of: "series"),
        try product("c", ["ja-JP": "週刊漫画雑誌"]),
        try product("d", [:]),
      ],
      describing: [
        series: OperatorPublication(
          id: series, localizations: ["en-US": Product.Localization(title: "Crane Monthly", description: "")],
          cover: nil, order: nil, created: SampleShop.start, changed: SampleShop.start)
      ])
    return index.products(matching: question).map(\.description)
  }

  @Test(
    "products are found by the beginnings of words, in each of their languages and by their publication's title"
  )
  func words() throws {
    #expect(try found("crane") == ["a", "b"])
    #expect(try found("kran") == ["a"])
    #expect(try found("month") == ["b"])
    #expect(try found("rane") == [])
  }

  @Test("all words of the question are in the title, in whatever order")
  func allWords() throws {
    #expect(try found("flight crane") == ["a"])
    #expect(try found("crane été") == ["b"])
    #expect(try found("crane nothing") == [])
    // The same beginning twice is no second word.
    #expect(try found("crane crane") == ["a", "b"])
  }

  @Test("case, marks and width make no difference")
  func folding() throws {
    for question in ["ete a liege", "ÉTÉ", "ＥＴＥ", "e\u{301}te\u{301}"] {
      #expect(try found(question) == ["b"])
    }
  }

  @Test("a word of a script without spaces is found by any part of it")
  func ideographs() throws {
    for question in ["週刊", "漫画", "雑誌"] { #expect(try found(question) == ["c"]) }
    #expect(try found("画漫") == [])
  }

  @Test("a product without a title is found by its name")
  func untitled() throws {
    #expect(try found("d").contains("d"))
  }

  @Test("a question without words finds nothing", arguments: ["", " ", "++", "\u{0}", "%&<>"])
  func empty(question: String) throws {
    #expect(try found(question) == [])
  }

  @Test("a question of any length is answered")
  func long() throws {
    #expect(try found(String(repeating: "crane ", count: 10_000)) == ["a", "b"])
    #expect(try found(String(repeating: "x", count: 100_000)) == [])
  }
}
