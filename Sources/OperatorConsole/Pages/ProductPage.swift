import Commerce
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// A step that an operator may take about the sale of a product.
enum SaleStep: String, CaseIterable, Sendable {
  case submit, approve, reject, withdraw

  var scope: OperatorScope {
    switch self {
    case .submit, .withdraw: .publish
    case .approve, .reject: .review
    }
  }

  /// Whether it may be taken from there, as far as a page tells; the interface decides.
  func isPossible(from state: SaleState) -> Bool {
    switch self {
    case .submit: state == .draft || state == .rejected || state == .withdrawn
    case .approve, .reject: state == .submitted
    case .withdraw: state == .cleared
    }
  }

  var phrase: Phrase {
    switch self {
    case .submit: .submit
    case .approve: .approve
    case .reject: .reject
    case .withdraw: .takeOffSale
    }
  }
}

/// One product: its texts and prices, its sale, its versions, and what an application sees of it.
struct ProductPage {
  let visit: Visit
  let product: String
  private var words: Words { visit.words }

  init(_ visit: Visit, product: String) {
    self.visit = visit
    self.product = product
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["notice", "territory", "locale"])
    return await page(typed: nil, problem: nil)
  }

  /// Takes a step of the sale, and shows the form again where it is refused.
  func take(_ step: SaleStep, _ form: FormBody) async throws -> Outcome {
    let reason = form.text("reason")
    if step == .withdraw, form.text("typed") != product {
      return .again(
        await page(typed: reason, problem: Problem(.requestMalformed, words(.typedNameDiffers))))
    }
    let address = Address.interface("products", product, step.rawValue)
    let once = form["once"]
    let tag: String
    do throws(Problem) {
      tag = try StepForm.tag(of: form, words)
    } catch {
      return .again(await page(typed: reason, problem: error))
    }
    let result: Result<OperatorReader.Reading<OperatorProduct>, Problem>
    if step == .submit {
      result = await visit.reader.change(
        address, with: ProductSubmission(notes: reason), once: once, from: tag)
    } else {
      result = await visit.reader.change(address, with: ReasonBody(reason: reason), once: once, from: tag)
    }
    switch result {
    case .success: return .done(.console("products", product), step.notice)
    case .failure(let problem):
      if let waiting = Outcome.waiting(problem) { return waiting }
      return .again(await page(typed: reason, problem: problem))
    }
  }

  private func page(typed: String?, problem: Problem?) async -> Page {
    let reading = Address.interface("products", product)
    async let found = visit.reader.get(reading, as: OperatorProduct.self)
    async let changes = visit.get(
      .interface("audit", query: [("product", product), ("limit", "10")]),
      as: PullboxAPI.Page<AuditEntry>.self)
    let record = await found
    var title = product
    var window: ProductWindow?
    if case .success(let reading) = record {
      title = reading.value.title(visit.visitor.language)
      window = await .read(product, pricedIn: Array(reading.value.product.prices.keys), for: visit)
    }
    let audit = await changes
    var page = Page(title, in: .products, reading: reading, command: "pullbox product \(shellWord(product))")
    {
      if let problem {
        StepForm.refusal(problem, meanwhile: (try? audit.get())?.items.first, visit)
      }
      switch record {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let reading):
        facts(reading.value)
        if visit.may(.publish) {
          element(.p) {
            element(.a, .look(.button), .href(.console("products", product, "edit"))) { words(.edit) }
          }
        }
        sale(reading.value, tag: reading.tag, typed: typed)
        versions(reading.value)
        samples(reading.value)
        prices(reading.value.product)
        window?.markup ?? .nothing
      }
      Parts.section(words(.history), audit, words) { StepForm.history($0.items, visit) }
    }
    switch (record, problem) {
    case (.failure(let problem), _), (_, let problem?): page.status = HTTPStatus(rawValue: problem.status)
    default: break
    }
    return page
  }

  @MarkupBuilder
  private func facts(_ record: OperatorProduct) -> Markup {
    let product = record.product
    if record.versions.contains(where: { $0.state == .released }) {
      element(
        .img,
        with: [
          .source(Address(["console", "pictures", "\(product.id)", "cover"], query: [("width", "320")])),
          .alternative(words(.coverOf, record.title(visit.visitor.language))), .look(.cover), .lazy,
        ] + Attribute.size(width: 160, height: 240))
    }
    Parts.fields([
      (words(.identifier), Parts.name("\(product.id)")),
      (words(.kind), Markup(words(product.type.phrase))),
      (
        words(.publication),
        product.publication.map { Parts.link(.console("publications", "\($0)"), "\($0)") }
      ),
      (words(.publicationDate), product.publicationDate.map { Parts.time($0, words) }),
      (words(.availableFrom), product.availableFrom.map { Parts.time($0, words) }),
      (words(.availableUntil), product.availableUntil.map { Parts.time($0, words) }),
      (words(.application), product.application.map { Parts.name("\($0)") }),
      (words(.changed), Parts.time(record.changed, words)),
    ])
    element(.section) {
      element(.h2) { words(.texts) }
      Parts.table(
        words(.texts), [words(.language), words(.title), words(.description)],
        product.localizations.sorted { $0.key < $1.key }.map { locale, text in
          [
            .init(Parts.name(locale)), .init(Markup.foreign(text.title)),
            .init(Markup.foreign(text.description)),
          ]
        })
    }
  }

  /// The samples as everyone sees them, once a version is released; before that their paths.
  @MarkupBuilder
  private func samples(_ record: OperatorProduct) -> Markup {
    if let samples = record.product.samples, !samples.isEmpty {
      element(.section) {
        element(.h2) { words(.samples) }
        element(.ul, .look(.bare)) {
          for (index, path) in samples.enumerated() {
            element(.li) {
              if record.versions.contains(where: { $0.state == .released }) {
                element(
                  .img,
                  with: [
                    .source(Address(["console", "pictures", product, "samples", "\(index + 1)"])),
                    .alternative(words(.sampleOf, words.number(index + 1), product)), .look(.cover), .lazy,
                  ] + Attribute.size(width: 160, height: 240))
                " "
              }
              Parts.name(path)
            }
          }
        }
      }
    }
  }

  private func sale(_ record: OperatorProduct, tag: String?, typed: String?) -> Markup {
    element(.section) {
      element(.h2) { words(.sale) }
      Parts.fields([
        (words(.state), Parts.state(words(record.sale.phrase), record.sale.look)),
        (words(.clearedForAll), Markup(words(record.clearedForSale ? .mayBeHad : .mayNotBeHad))),
        (
          words(.submittedBy),
          record.review.map {
            Markup([.foreign($0.submittedBy), Markup(", "), Parts.time($0.submitted, words)])
          }
        ),
        (words(.notes), record.review?.notes.map { .foreign($0) }),
        (words(.decidedBy), record.review?.decidedBy.map { .foreign($0) }),
        (words(.reason), record.review?.reason.map { .foreign($0) }),
      ])
      let steps = SaleStep.allCases.filter { visit.may($0.scope) && $0.isPossible(from: record.sale) }
      for step in steps {
        Layout.form(.console("products", product, step.rawValue), visit) {
          StepForm.hidden(tag)
          if step == .withdraw {
            element(.p) { words(.offSaleConsequence) }
            Parts.field(words(.typeName, product), "typed", nil, attributes: [.autocomplete(.off)])
          }
          if step != .approve {
            Parts.field(
              words(step == .submit ? .notes : .reason), "reason", typed,
              attributes: [.maximumLength(500)])
          }
          element(.button, .look(step == .withdraw || step == .reject ? .danger : .button)) {
            words(step.phrase)
          }
        }
      }
    }
  }

  private func versions(_ record: OperatorProduct) -> Markup {
    element(.section) {
      element(.h2) { words(.versions) }
      if record.versions.isEmpty {
        element(.p) { words(.noVersions) }
      } else {
        Parts.table(
          words(.versions),
          [
            words(.version), words(.state), words(.releasedTo), words(.size), words(.created), words(.reason),
          ],
          record.versions.map { version in
            [
              .init(Parts.link(.console("products", product, "\(version.version)"), "\(version.version)")),
              .init(Parts.state(words(version.state.phrase), version.state.look)),
              .init(version.percentage.map { words.percent($0) } ?? ""),
              .numeric(words.bytes(version.length)), .init(Parts.time(version.created, words)),
              .init(version.reason.map { .foreign($0) } ?? .nothing),
            ]
          })
      }
    }
  }

  private func prices(_ product: Product) -> Markup {
    element(.section) {
      element(.h2) { words(.prices) }
      if let tier = product.priceTier {
        element(.p) {
          words(.priceTier) + ": "
          Parts.name("\(tier.description)")
        }
      }
      if product.prices.isEmpty {
        element(.p) { words(product.priceTier == nil ? .freeEverywhere : .byTierAlone) }
      } else {
        Parts.table(
          words(.prices), [words(.territory), words(.price)],
          product.prices.sorted { $0.key < $1.key }.map { territory, price in
            [.init(Parts.name(territory)), .numeric(words.money(price.amount, price.currency))]
          })
      }
    }
  }
}

extension SaleStep {
  var notice: Notice {
    switch self {
    case .submit: .submitted
    case .approve: .approved
    case .reject: .rejected
    case .withdraw: .withdrawn
    }
  }
}
