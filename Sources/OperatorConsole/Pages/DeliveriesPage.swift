import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// The grants and what was delivered for them, newest first, by product, transaction, device and state.
struct DeliveriesPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  private static let filters = ["product", "version", "transaction", "device", "state", "progress"]

  func page() async throws -> Page {
    try visit.request.requireQuery(only: Set(Self.filters + ["after", "notice"]))
    let reading = Address.interface(
      "deliveries", query: (Self.filters + ["after"]).map { ($0, visit.value($0)) } + [("limit", "50")])
    async let found = visit.get(reading, as: PullboxAPI.Page<OperatorGrant>.self)
    async let failing = visit.get(
      .interface(
        "deliveries", "failures",
        query: ["product", "device"].map { ($0, visit.value($0)) }),
      as: DeliveryFailures.self)
    let (list, failures) = await (found, failing)
    return Page(
      words(.deliveries), in: .deliveries, reading: reading, command: Self.command(visit)
    ) {
      Parts.filters(.console("deliveries"), words) {
        Parts.field(words(.product), "product", visit.value("product"), .search)
        Parts.field(words(.transaction), "transaction", visit.value("transaction"), .search)
        Parts.field(words(.device), "device", visit.value("device"), .search)
        Parts.choice(
          words(.state), "state", visit.value("state"),
          [("", words(.all))] + GrantState.allCases.map { ($0.rawValue, words($0.phrase)) })
        Parts.choice(
          words(.progress), "progress", visit.value("progress"),
          [("", words(.all))] + DeliveryProgress.allCases.map { ($0.rawValue, words($0.phrase)) })
      }
      Parts.live(visit) {
        Parts.section(words(.howDeliveriesGo), failures, words) { failures in
          FailureTable(
            failures: failures, visit: visit,
            list: .console("deliveries", query: ["product", "device"].map { ($0, visit.value($0)) })
          ).markup
        }
        switch list {
        case .failure(let problem): Parts.problem(problem, words)
        case .success(let page): Self.table(page, visit)
        }
      }
    }
  }

  private static func command(_ visit: Visit) -> String {
    "pullbox deliveries"
      + ["product", "transaction", "device"].compactMap { name in
        visit.value(name).map { " --\(name) \(shellWord($0))" }
      }.joined()
  }

  /// A page of grants as a table, with the links to the others.
  static func table(_ page: PullboxAPI.Page<OperatorGrant>, _ visit: Visit) -> Markup {
    let words = visit.words
    guard !page.items.isEmpty else {
      // Of how they go, a page may have none, and a later one some.
      return Markup([
        element(.p) { words(page.next == nil ? .noDeliveries : .noneAmongThese) },
        Parts.paging(visit, next: page.next),
      ])
    }
    return Markup([
      Parts.table(
        words(.deliveries),
        [
          words(.grant), words(.state), words(.product), words(.version), words(.device), words(.delivered),
          words(.lastByte), words(.granted),
        ],
        page.items.map { grant in
          [
            .init(Parts.link(.console("deliveries", "\(grant.grant)"), "\(grant.grant)")),
            .init(state(grant, visit)),
            .init(Parts.link(.console("products", "\(grant.product)"), "\(grant.product)")),
            .init("\(grant.version)"), .init(Parts.name("\(grant.device)")),
            .numeric("\(words.bytes(grant.bytesDelivered)) / \(words.bytes(grant.length))"),
            .init(grant.lastSent.map { Parts.time($0, words) } ?? .nothing),
            .init(grant.history.first.map { Parts.time($0.at, words) } ?? .nothing),
          ]
        }),
      Parts.paging(visit, next: page.next),
    ])
  }

  /// Where the grant stands, as a word in a frame.
  static func state(_ grant: OperatorGrant, _ visit: Visit) -> Markup {
    if let progress = grant.progress { return Parts.state(visit.words(progress.phrase), progress.look) }
    let look: Look =
      switch grant.state {
      case .granted: .waiting
      case .completed, .finished, .reading: .good
      case .revoked: .bad
      }
    return Parts.state(visit.words(grant.state.phrase), look)
  }
}

extension GrantState {
  var phrase: Phrase {
    switch self {
    case .granted: .stateGranted
    case .completed: .stateCompleted
    case .finished: .stateFinished
    case .reading: .stateReading
    case .revoked: .stateRevoked
    }
  }
}

/// One grant: every step with its time, and what may be done about it.
struct DeliveryPage {
  private let visit: Visit
  private let grant: String
  private var words: Words { visit.words }

  init(_ visit: Visit, grant: String) {
    self.visit = visit
    self.grant = grant
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["notice"])
    let reading = Address.interface("grants", grant)
    let found = await visit.get(reading, as: OperatorGrant.self)
    var page = Page(
      words(.grantNamed, grant), in: .deliveries, reading: reading, command: "pullbox deliveries"
    ) {
      switch found {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let grant): content(grant)
      }
    }
    if case .failure(let problem) = found { page.status = HTTPStatus(rawValue: problem.status) }
    return page
  }

  @MarkupBuilder
  private func content(_ grant: OperatorGrant) -> Markup {
    Parts.fields([
      (words(.state), DeliveriesPage.state(grant, visit)),
      (words(.product), Parts.link(.console("products", "\(grant.product)"), "\(grant.product)")),
      (words(.version), Markup("\(grant.version)")),
      (
        words(.transaction),
        Parts.link(
          .console(
            "customers",
            query: [("transaction", "\(grant.transaction)"), ("product", "\(grant.product)")]),
          "\(grant.transaction)")
      ),
      (words(.store), Markup("\(grant.store)\(grant.environment.map { " (\($0))" } ?? "")")),
      (
        words(.device),
        Parts.link(.console("deliveries", query: [("device", "\(grant.device)")]), "\(grant.device)")
      ),
      (
        words(.delivered),
        Markup("\(words.bytes(grant.bytesDelivered)) / \(words.bytes(grant.length))")
      ),
      (words(.lastByte), grant.lastSent.map { Parts.age(of: $0, visit) }),
      (words(.application), grant.application.map { Parts.name("\($0)") }),
      (words(.unconfirmedSince), grant.unconfirmed.map { Parts.time($0, words) }),
    ])
    Parts.table(
      words(.steps), [words(.step), words(.when), words(.why)],
      grant.history.map { event in
        [
          .init(words(event.state.phrase)), .init(Parts.time(event.at, words)),
          .init(event.detail.map { Markup.foreign($0) } ?? .nothing),
        ]
      })
    if visit.may(.admin) {
      element(.p) {
        if grant.state == .revoked {
          element(.a, .look(.button), .href(.console("deliveries", "\(grant.grant)", "reinstate"))) {
            words(.reinstate)
          }
        } else {
          element(.a, .look(.button, .danger), .href(.console("deliveries", "\(grant.grant)", "revoke"))) {
            words(.revoke)
          }
        }
      }
    }
  }
}
