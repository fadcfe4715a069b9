import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// The rules by which a product is edited: its texts, prices and dates.
struct ProductEditing: Editing {
  let product: String

  var section: Section { .products }
  var reading: Address { .interface("products", product) }
  var codeOfNone: ProblemCode? { nil }
  var nothing: ProductDescription { ProductDescription() }

  func description(of record: OperatorProduct) -> ProductDescription {
    ProductDescription(of: record.product)
  }

  func fields(_ product: ProductDescription, _ words: Words) -> EditedFields {
    var fields = EditedFields()
    fields.add(product.localizations ?? [:], words)
    fields.add(
      "prices", words(.prices), EditedFields.text(of: product.prices ?? [:]), hint: words(.pricesHint),
      isLong: true)
    fields.add("tier", words(.priceTier), product.priceTier?.description)
    fields.add("publication", words(.publication), product.publication?.description)
    fields.add(
      "date", words(.publicationDate), EditedFields.text(of: product.publicationDate), hint: words(.timeHint))
    fields.add(
      "from", words(.availableFrom), EditedFields.text(of: product.availableFrom), hint: words(.timeHint))
    fields.add(
      "until", words(.availableUntil), EditedFields.text(of: product.availableUntil), hint: words(.timeHint))
    fields.add(
      "samples", words(.samples), product.samples?.joined(separator: "\n"), hint: words(.samplesHint),
      isLong: true)
    fields.add("application", words(.application), product.application?.description)
    fields.add("privacy", words(.privacyAddress), product.privacyURL)
    fields.add(
      "keep", words(.keepRevoked), isTrue: product.keepRevoked == true, hint: words(.keepRevokedHint), words)
    return fields
  }

  func description(
    _ form: FormBody, from before: ProductDescription, _ words: Words
  ) throws(Problem) -> ProductDescription {
    var wanted = before
    wanted.localizations = try EditedFields.texts(form, from: before.localizations ?? [:], words)
    wanted.prices = try EditedFields.prices(
      "prices", form["prices"] ?? EditedFields.text(of: before.prices ?? [:]), words)
    if form["tier"] != nil {
      wanted.priceTier = try EditedFields.value("tier", .priceTier, of: form, words) { PriceTierName($0) }
    }
    if form["publication"] != nil {
      wanted.publication = try EditedFields.value("publication", .publication, of: form, words) {
        ProductIdentifier($0)
      }
    }
    if form["date"] != nil { wanted.publicationDate = try EditedFields.time("date", of: form, words) }
    if form["from"] != nil { wanted.availableFrom = try EditedFields.time("from", of: form, words) }
    if form["until"] != nil { wanted.availableUntil = try EditedFields.time("until", of: form, words) }
    if let samples = form["samples"] {
      let paths = samples.split(separator: "\n").map(String.init)
      wanted.samples = paths.isEmpty ? nil : paths
    }
    if form["application"] != nil {
      wanted.application = try EditedFields.value("application", .application, of: form, words) {
        ApplicationIdentifier($0)
      }
    }
    if form["privacy"] != nil { wanted.privacyURL = form.text("privacy") }
    if form["keep"] != nil {
      wanted.keepRevoked = try EditedFields.isTrue("keep", .keepRevoked, of: form, words) ? true : nil
    }
    return wanted
  }

  /// A product that there is not is refused as such.
  func refusal(_ visit: Visit) async -> Problem? { nil }

  func lastChange(_ visit: Visit) async -> AuditEntry? {
    let history = await visit.get(
      .interface("audit", query: [("product", product), ("limit", "1")]),
      as: PullboxAPI.Page<AuditEntry>.self)
    return (try? history.get())?.items.first
  }
}
