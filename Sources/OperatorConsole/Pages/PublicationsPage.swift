import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// The publications that are described.
struct PublicationsPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["after", "notice"])
    let reading = Address.interface(
      "publications", query: [("after", visit.value("after")), ("limit", "50")])
    let list = await visit.get(reading, as: PullboxAPI.Page<OperatorPublication>.self)
    return Page(words(.publications), in: .publications, reading: reading, command: "pullbox publications") {
      switch list {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let page) where page.items.isEmpty: element(.p) { words(.noPublications) }
      case .success(let page):
        Parts.table(
          words(.publications), [words(.title), words(.identifier), words(.order), words(.changed)],
          page.items.map { publication in
            [
              .init(
                Parts.link(
                  .console("publications", "\(publication.id)"),
                  publication.localizations.title(visit.visitor.language) ?? "\(publication.id)")),
              .init(Parts.name("\(publication.id)")), .init(publication.order.map { words.number($0) } ?? ""),
              .init(Parts.time(publication.changed, words)),
            ]
          })
        Parts.paging(visit, next: page.next)
      }
    }
  }

  /// One publication: its texts, what its subscriptions open, and its issues.
  func page(of id: String) async throws -> Page {
    try visit.request.requireQuery(only: ["after", "notice"])
    let reading = Address.interface("publications", id)
    async let found = visit.get(reading, as: OperatorPublication.self)
    async let products = visit.get(
      .interface("products", query: [("publication", id), ("after", visit.value("after")), ("limit", "50")]),
      as: PullboxAPI.Page<OperatorProduct>.self)
    let (publication, issues) = await (found, products)
    var title = id
    if case .success(let value) = publication {
      title = value.localizations.title(visit.visitor.language) ?? id
    }
    return Page(title, in: .publications, reading: reading, command: "pullbox publications") {
      switch publication {
      case .failure(let problem) where problem.code == .publicationUnknown:
        element(.p) { words(.notDescribed) }
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let value): facts(value)
      }
      if visit.may(.publish) {
        element(.p) {
          element(.a, .look(.button), .href(.console("publications", id, "edit"))) { words(.edit) }
        }
      }
      Parts.section(words(.issues), issues, words) { page in
        if page.items.isEmpty {
          element(.p) { words(.noProducts) }
        } else {
          Parts.table(
            words(.issues), [words(.title), words(.sale), words(.publicationDate)],
            page.items.map { product in
              [
                .init(
                  Parts.link(
                    .console("products", "\(product.product.id)"), product.title(visit.visitor.language))),
                .init(Parts.state(words(product.sale.phrase), product.sale.look)),
                .init(product.product.publicationDate.map { Parts.time($0, words) } ?? .nothing),
              ]
            })
          Parts.paging(visit, next: page.next)
        }
      }
    }
  }

  private func facts(_ publication: OperatorPublication) -> Markup {
    let policy = publication.policy ?? SubscriptionPolicy()
    func answer(_ value: Bool?) -> Markup? { value.map { Markup(words($0 ? .mayBeHad : .mayNotBeHad)) } }
    return Parts.fields([
      (words(.identifier), Parts.name("\(publication.id)")),
      (words(.cover), publication.cover.map { Parts.link(.console("products", "\($0)"), "\($0)") }),
      (words(.order), publication.order.map { Markup(words.number($0)) }),
      (words(.keepsIssues), answer(policy.keepsIssuesAfterLapse)),
      (words(.latestIssue), answer(policy.latestIssueAtStart)),
      (words(.backIssues), policy.backIssues.map { Markup(words.number($0)) }),
      (words(.servesInGrace), answer(policy.servesInGrace)),
      (words(.keepRevokedIssues), policy.keepsRevokedIssues.map { Markup(words($0 ? .yes : .no)) }),
      (words(.changed), Parts.time(publication.changed, words)),
    ])
  }
}
