import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// An import as its body says it, with the products not decoded yet: a hundred thousand of them take several times the memory of
/// their bytes, so each is decoded when it is asked for.
struct ImportedCatalog: Sendable {
  /// Everything but the products.
  let others: CatalogImport
  /// The body, which has the products.
  let bytes: [UInt8]
  private let places: [Range<Int>]

  /// Products in the body, decoded or not.
  var productCount: Int { places.count }

  /// Throws `request-malformed` where something beside the products is malformed, or a text has the character U+0000, and `catalog-invalid`
  /// for more of them than one import has.
  init(_ bytes: [UInt8]) throws(Problem) {
    guard !JSONString.hasNull(inDocument: bytes) else { throw Problem.nullInDocument }
    let split: JSONElements
    do throws(JSONElementsError) {
      split = try JSONElements(of: "products", in: bytes, upTo: CatalogImport.maximumItems)
    } catch {
      guard error.code == .tooMany else {
        throw Problem(.requestMalformed, "the document: \(error)")
      }
      throw Problem(.catalogInvalid, "at most \(CatalogImport.maximumItems) products at once")
    }
    do {
      others = try APIJSON.decode(CatalogImport.self, from: split.rest)
    } catch {
      throw Problem(.requestMalformed, APIJSON.explain(error))
    }
    self.bytes = bytes
    places = split.places
  }

  /// Where the bytes of a product stand, from 0.
  func place(of index: Int) -> Range<Int> { places[index] }

  /// Throws `request-malformed`, naming the member at fault. Decodes it anew with each call.
  func product(_ index: Int) throws(Problem) -> ProductDescription {
    do {
      return try APIJSON.decode(ProductDescription.self, from: Array(bytes[places[index]]))
    } catch {
      throw Problem(.requestMalformed, APIJSON.explain(error, in: "products.[\(index)]"))
    }
  }
}
