import Commerce
import CoreTypes
import PullboxAPI
import Testing

@testable import ContentCatalog
@testable import DeliveryRecords

@Suite("The body of an import")
struct CatalogImportBodyTests {
  @Test("however a product is written, its document is the one that its description makes")
  func documents() throws {
    let product = #"{"id":"com.example.a","localizations":{},"prices":{},"type":"non-consumable"}"#
    let (now, body) = (
      Timestamp(millisecondsSinceEpoch: 0),
      """
      {"products":[\(product), {"prices":{}, "id":"com.example.b", "onSale":false},
        \(product.replacing("example.a", with: "example.c"))]}
      """
    )
    let prepared = try PreparedImport(ImportedCatalog(Array(body.utf8)), beside: .empty, at: now)
    #expect(prepared.productCount == 3)
    for (index, name) in ["a", "b", "c"].enumerated() {
      let wanted = try prepared.product(index)
      #expect(wanted.document.text == product.replacing("example.a", with: "example.\(name)"))
      #expect(wanted.document.value.id.description == "com.example.\(name)")
      #expect(wanted.isOnSale == (name == "b" ? false : nil))
    }
  }

  @Test("one with U+0000 in a text is refused, of a product or of something else")
  func null() {
    for body in [
      #"{"products":[{"id":"com.example.a","localizations":{"en":{"title":"\u0000"}}}]}"#,
      #"{"products":[],"priceTiers":[{"name":"a\u0000"}]}"#,
    ] {
      let problem = #expect(throws: Problem.self) { try ImportedCatalog(Array(body.utf8)) }
      #expect(problem?.code == .requestMalformed && problem?.detail?.contains("U+0000") == true)
    }
  }
}
