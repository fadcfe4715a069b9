import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// The products, by publication, kind, state of sale and state of a version; each filter and page stands in the address.
struct ProductsPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  private static let filters = ["publication", "type", "sale", "state", "order"]

  func page() async throws -> Page {
    try visit.request.requireQuery(only: Set(Self.filters + ["after", "notice"]))
    let reading = Address.interface(
      "products", query: (Self.filters + ["after"]).map { ($0, visit.value($0)) } + [("limit", "50")])
    let list = await visit.get(reading, as: PullboxAPI.Page<OperatorProduct>.self)
    return Page(words(.products), in: .products, reading: reading, command: command) {
      if visit.may(.publish) {
        element(.p) {
          element(.a, .look(.button), .href(.console("upload"))) { words(.uploadPackage) }
          " "
          element(.a, .look(.button), .href(.console("import"))) { words(.importCatalog) }
        }
      }
      Parts.filters(.console("products"), words) {
        Parts.field(words(.publication), "publication", visit.value("publication"), .search)
        Parts.choice(
          words(.sale), "sale", visit.value("sale"),
          [("", words(.all))] + SaleState.allCases.map { ($0.rawValue, words($0.phrase)) })
        Parts.choice(
          words(.hasVersion), "state", visit.value("state"),
          [("", words(.all))] + VersionState.allCases.map { ($0.rawValue, words($0.phrase)) })
        Parts.choice(
          words(.kind), "type", visit.value("type"),
          [("", words(.all))] + ProductType.allCases.map { ($0.rawValue, words($0.phrase)) })
        Parts.choice(
          words(.listOrder), "order", visit.value("order"),
          [("", words(.byIdentifier)), (ProductOrder.changed.rawValue, words(.latestChangeFirst))])
      }
      switch list {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let page) where page.items.isEmpty: element(.p) { words(.noProducts) }
      case .success(let page):
        table(page.items)
        Parts.paging(visit, next: page.next)
      }
    }
  }

  private var command: String {
    "pullbox products"
      + ["publication", "type", "state", "sale", "order"].compactMap { name in
        visit.value(name).map { " --\(name) \(shellWord($0))" }
      }.joined()
  }

  private func table(_ products: [OperatorProduct]) -> Markup {
    Parts.table(
      words(.products),
      [words(.title), words(.sale), words(.kind), words(.publication), words(.nextDate), words(.released)],
      products.map { product in
        let address = Address.console("products", "\(product.product.id)")
        let released = product.versions.filter { $0.state == .released }
        return [
          .init(
            Markup([
              Parts.link(address, product.title(visit.visitor.language)), Markup(" "),
              Parts.name("\(product.product.id)"),
            ])),
          .init(Parts.state(words(product.sale.phrase), product.sale.look)),
          .init(words(product.product.type.phrase)),
          .init(
            product.product.publication.map {
              Parts.link(.console("publications", "\($0)"), "\($0)")
            } ?? .nothing),
          .init(nextDate(product).map { Parts.time($0, words) } ?? .nothing),
          .init(
            Markup(
              released.map { version in
                Markup([
                  Parts.link(
                    .console("products", "\(product.product.id)", "\(version.version)"), "\(version.version)"),
                  Markup(version.percentage.map { $0 < 100 ? " (\(words.percent($0))) " : " " } ?? " "),
                ])
              })),
        ]
      })
  }

  /// The next date that changes what is for sale.
  private func nextDate(_ product: OperatorProduct) -> Timestamp? {
    let dates = [
      product.product.availableFrom, product.product.availableUntil, product.product.publicationDate,
    ]
    return (dates.compactMap { $0 } + product.versions.compactMap { $0.scheduled?.at }).filter {
      $0 > visit.now
    }.min()
  }
}

extension SaleState {
  var phrase: Phrase {
    switch self {
    case .draft: .saleDraft
    case .submitted: .saleSubmitted
    case .rejected: .saleRejected
    case .cleared: .saleCleared
    case .withdrawn: .saleWithdrawn
    }
  }

  var look: Look {
    switch self {
    case .draft: .quiet
    case .submitted: .waiting
    case .cleared: .good
    case .rejected, .withdrawn: .bad
    }
  }
}

extension VersionState {
  var phrase: Phrase {
    switch self {
    case .draft: .versionDraft
    case .submitted: .versionSubmitted
    case .approved: .versionApproved
    case .rejected: .versionRejected
    case .released: .versionReleased
    case .superseded: .versionSuperseded
    case .withdrawn: .versionWithdrawn
    }
  }

  var look: Look {
    switch self {
    case .draft, .superseded: .quiet
    case .submitted, .approved: .waiting
    case .released: .good
    case .rejected, .withdrawn: .bad
    }
  }
}

extension ProductType {
  var phrase: Phrase {
    switch self {
    case .consumable: .typeConsumable
    case .nonConsumable: .typeNonConsumable
    case .autoRenewableSubscription: .typeAutoRenewable
    case .nonRenewingSubscription: .typeNonRenewing
    case .freeSubscription: .typeFree
    }
  }
}
