import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The form in which a product is edited: its texts, prices and dates. Every change is shown before it is made.
struct ProductEditPage {
  private let visit: Visit
  private let product: String
  private var words: Words { visit.words }
  private var reading: Address { .interface("products", product) }

  init(_ visit: Visit, product: String) {
    self.visit = visit
    self.product = product
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: [])
    return await page(await read(), typed: nil)
  }

  /// Shows what the form would change, or changes it where that was seen.
  func take(_ form: FormBody) async throws -> Outcome {
    let found = await read()
    guard case .success(let record) = found else { return .again(await page(found, typed: form)) }
    let wanted: ProductDescription
    do throws(Problem) {
      wanted = try description(form, from: record.value.product)
    } catch {
      return .again(await page(found, typed: form, problem: error))
    }
    let changes = fields(ProductDescription(of: record.value.product)).changes(to: fields(wanted))
    guard form["confirmed"] == "yes" else {
      return .again(await page(found, typed: form, changes: changes))
    }
    // A form that was sent twice has done it before.
    if changes.isEmpty { return .done(.console("products", product), .edited) }
    let result = await visit.reader.change(
      reading, by: .put, with: wanted, from: form["tag"], as: OperatorProduct.self)
    switch result {
    case .success: return .done(.console("products", product), .edited)
    case .failure(let problem):
      return .again(await page(await read(), typed: form, problem: problem))
    }
  }

  private func read() async -> Result<OperatorReader.Reading<OperatorProduct>, Problem> {
    await visit.reader.get(reading, as: OperatorProduct.self)
  }

  private func fields(_ product: ProductDescription) -> EditedFields {
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
    fields.add("application", words(.application), product.application?.description)
    fields.add("privacy", words(.privacyAddress), product.privacyURL)
    return fields
  }

  /// The product as the form describes it; what the form does not have stays as it is.
  private func description(_ form: FormBody, from product: Product) throws(Problem) -> ProductDescription {
    var wanted = ProductDescription(of: product)
    wanted.localizations = try EditedFields.texts(form, from: product.localizations, words)
    wanted.prices = try EditedFields.prices(form["prices"] ?? EditedFields.text(of: product.prices), words)
    if form["tier"] != nil {
      wanted.priceTier = try EditedFields.value(.priceTier, form.text("tier"), words) { PriceTierName($0) }
    }
    if form["publication"] != nil {
      wanted.publication = try EditedFields.value(.publication, form.text("publication"), words) {
        ProductIdentifier($0)
      }
    }
    if form["date"] != nil { wanted.publicationDate = try EditedFields.time(form.text("date"), words) }
    if form["from"] != nil { wanted.availableFrom = try EditedFields.time(form.text("from"), words) }
    if form["until"] != nil { wanted.availableUntil = try EditedFields.time(form.text("until"), words) }
    if form["application"] != nil {
      wanted.application = try EditedFields.value(.application, form.text("application"), words) {
        ApplicationIdentifier($0)
      }
    }
    if form["privacy"] != nil { wanted.privacyURL = form.text("privacy") }
    return wanted
  }

  private func page(
    _ found: Result<OperatorReader.Reading<OperatorProduct>, Problem>, typed: FormBody?,
    changes: [EditedFields.Change]? = nil, problem: Problem? = nil
  ) async -> Page {
    let history = await visit.get(
      .interface("audit", query: [("product", product), ("limit", "1")]),
      as: PullboxAPI.Page<AuditEntry>.self)
    let form = EditForm(visit, action: .console("products", product, "edit"))
    var page = Page(
      words(.editNamed, product), in: .products, reading: reading, command: "pullbox import FILE"
    ) {
      if let problem { StepForm.refusal(problem, meanwhile: (try? history.get())?.items.first, visit) }
      element(.p) { Parts.link(.console("products", product), product) }
      switch found {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let record):
        let fields = fields(ProductDescription(of: record.value.product))
        if let changes, let typed {
          // Of the state that the changes were worked out from.
          form.preview(changes, of: fields, tag: record.tag, typed: typed)
        }
        form.form(fields, tag: record.tag, typed: typed)
      }
    }
    switch (found, problem) {
    case (.failure(let problem), _), (_, let problem?): page.status = HTTPStatus(rawValue: problem.status)
    default: break
    }
    return page
  }
}
