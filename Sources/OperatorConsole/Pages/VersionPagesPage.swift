import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// The pages of a version as pictures, alone or beside those of another version, with what changed.
struct VersionPagesPage {
  /// Pages that are shown at once.
  private static let step = 24
  private static let maximum = 1_000_000

  private let visit: Visit
  private let product: String
  private let version: String
  private var words: Words { visit.words }

  init(_ visit: Visit, product: String, version: String) {
    self.visit = visit
    self.product = product
    self.version = version
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["compare", "show", "from", "notice"])
    let from = try visit.request.number("from", in: 0...Self.maximum, default: 0)
    let other = visit.value("compare")
    let reading = pages(of: version)
    async let found = visit.get(reading, as: VersionPages.self)
    async let versions = visit.get(
      .interface("products", product, "versions", query: [("limit", "50")]),
      as: PullboxAPI.Page<VersionRecord>.self)
    let (own, all) = await (found, versions)
    var page: Page
    if let other {
      let before = await visit.get(pages(of: other), as: VersionPages.self)
      page = Page(words(.pagesCompared, product, other, version), in: .products, reading: reading) {
        filters(all)
        switch (before, own) {
        case (.success(let old), .success(let new)):
          comparison(PageComparison(from: old.pages, to: new.pages), with: other, from: from)
        case (.failure(let problem), _), (_, .failure(let problem)): Parts.problem(problem, words)
        }
      }
    } else {
      page = Page(words(.pagesOf, product, version), in: .products, reading: reading) {
        filters(all)
        switch own {
        case .success(let list): pictures(list.pages, from: from)
        case .failure(let problem): Parts.problem(problem, words)
        }
      }
    }
    page.command = "pullbox versions \(shellWord(product)) \(shellWord(version))"
    if case .failure(let problem) = own { page.status = HTTPStatus(rawValue: problem.status) }
    return page
  }

  private func pages(of version: String) -> Address {
    .interface("products", product, "versions", version, "pages")
  }

  private func filters(_ versions: Result<PullboxAPI.Page<VersionRecord>, Problem>) -> Markup {
    let others = (try? versions.get().items.map { "\($0.version)" }) ?? []
    return Markup([
      element(.p) {
        Parts.link(.console("products", product, version), words(.versionNamed, product, version))
      },
      Parts.filters(.console("products", product, version, "pages"), words) {
        Parts.choice(
          words(.compareWith), "compare", visit.value("compare"),
          [("", words(.noOther))] + others.filter { $0 != version }.map { ($0, $0) })
        Parts.choice(
          words(.pagesShown), "show", visit.value("show"),
          [("", words(.changedPages)), ("all", words(.allPages))])
      },
    ])
  }

  @MarkupBuilder
  private func pictures(_ pages: [VersionPages.Page], from: Int) -> Markup {
    if pages.isEmpty {
      element(.p) { words(.noPages) }
    } else {
      element(.p) { words(.pageCount, words.number(pages.count)) }
      element(.ul, .look(.covers)) {
        for page in pages.dropFirst(from).prefix(Self.step) {
          element(.li) {
            picture(page, of: version)
            element(.p, .look(.hint)) { "\(page.number)" }
          }
        }
      }
      paging(pages.count, from: from)
    }
  }

  @MarkupBuilder
  private func comparison(_ comparison: PageComparison, with other: String, from: Int) -> Markup {
    element(.p) {
      words(
        .pagesCounted, words.number(comparison.count(.same)), words.number(comparison.count(.changed)),
        words.number(comparison.count(.added)), words.number(comparison.count(.removed)))
    }
    let rows = visit.value("show") == "all" ? comparison.rows : comparison.rows.filter { $0.change != .same }
    if rows.isEmpty {
      element(.p) { words(.noPageChanged) }
    } else {
      Parts.table(
        words(.pagesCompared, product, other, version), [words(.page), words(.change), other, version],
        rows.dropFirst(from).prefix(Self.step).map { row in
          [
            .init("\(row.new?.number ?? row.old?.number ?? 0)"),
            .init(Parts.state(words(row.change.phrase), row.change.look)),
            .init(row.old.map { picture($0, of: other) } ?? .nothing),
            .init(row.new.map { picture($0, of: version) } ?? .nothing),
          ]
        })
      paging(rows.count, from: from)
    }
  }

  /// The picture, as a link to itself whole.
  private func picture(_ page: VersionPages.Page, of version: String) -> Markup {
    let address = Address(["console", "pictures", product, version, "pages", "\(page.number)"])
    return element(.a, .href(address)) {
      element(
        .img,
        with: [
          .source(address), .alternative(words(.pageOfVersion, "\(page.number)", version)), .look(.cover),
          .lazy,
        ] + Attribute.size(width: 200, height: 300))
    }
  }

  private func paging(_ count: Int, from: Int) -> Markup {
    guard count > Self.step || from > 0 else { return .nothing }
    let here = visit.address.with("notice", nil)
    return element(.nav, .look(.paging), .labeled(words(.pages))) {
      if from > 0 {
        element(.a, .href(here.with("from", from > Self.step ? "\(from - Self.step)" : nil))) {
          words(.previousPage)
        }
      }
      if from + Self.step < count {
        element(.a, .href(here.with("from", "\(from + Self.step)")), .next) { words(.nextPage) }
      }
    }
  }
}
