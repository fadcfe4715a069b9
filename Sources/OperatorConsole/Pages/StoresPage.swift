import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// The payment stores and the calls to them: what waits, what is parked with its error, and what an operator decides of it.
struct StoresPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["state", "store", "kind", "after", "notice"])
    return await page(problems: [])
  }

  /// Retries or drops the calls that were chosen. What was refused is said, and the others are done.
  func decide(_ form: FormBody) async throws -> Outcome {
    let calls = form.values("call")
    let step = form["step"]
    guard step == "retry" || step == "drop", let step else {
      throw Problem(.requestMalformed, "step is retry or drop")
    }
    guard !calls.isEmpty else {
      return .again(await page(problems: [("", Problem(.requestMalformed, words(.chooseCalls)))]))
    }
    if step == "drop", form["confirmed"] == nil { return .again(question(calls, form.text("reason"))) }
    var problems: [(String, Problem)] = []
    for call in calls {
      let address = Address.interface("outbox", call, step)
      // A drop takes a reason, a retry nothing.
      let once = form["once"].map { "\($0)-\(call)" }
      let result = await visit.reader.change(
        address, with: ReasonBody(reason: step == "drop" ? form.text("reason") : nil), once: once,
        as: OutboxCall.self)
      if case .failure(let problem) = result { problems.append((call, problem)) }
    }
    guard problems.isEmpty else { return .again(await page(problems: problems)) }
    return .done(.console("stores"), step == "retry" ? .retried : .dropped)
  }

  /// Asks before calls are dropped, and says what happens to how many.
  private func question(_ calls: [String], _ reason: String?) -> Page {
    Page(words(.dropQuestion), in: .stores, reading: .interface("outbox"), command: "pullbox outbox drop") {
      element(.p) { words(.dropConsequence, words.number(calls.count)) }
      element(.ul) {
        for call in calls { element(.li) { Markup.foreign(words(.callNumber, call)) } }
      }
      Layout.form(.console("stores", "calls"), visit) {
        element(.input, .input(.hidden), .name("once"), .value(RandomBytes.token(bits: 128)))
        element(.input, .input(.hidden), .name("confirmed"), .value("yes"))
        for call in calls { element(.input, .input(.hidden), .name("call"), .value(call)) }
        Parts.text(words(.reasonOfDrop), "reason", reason, hint: words(.reasonHint))
        element(.button, .look(.danger), .name("step"), .value("drop")) { words(.dropChosen) }
        element(.a, .href(.console("stores"))) { words(.cancel) }
      }
    }
  }

  private func page(problems: [(String, Problem)]) async -> Page {
    let isForm = visit.request.method == .post
    let filter = isForm ? [] : ["state", "store", "kind", "after"].map { ($0, visit.value($0)) }
    let calls = Address.interface("outbox", query: filter + [("limit", "50")])
    async let stores = visit.get(.interface("stores"), as: StoreStatuses.self)
    async let list = visit.get(calls, as: PullboxAPI.Page<OutboxCall>.self)
    let (statuses, outbox) = await (stores, list)
    var page = Page(
      words(.stores), in: .stores, reading: .interface("stores"), command: "pullbox stores; pullbox outbox"
    ) {
      for (call, problem) in problems {
        element(.div, .look(.problem), .role(.alert)) {
          element(.p) {
            call.isEmpty ? "" : words(.callNumber, call) + ": "
            Parts.refusal(problem, words)
          }
        }
      }
      Parts.section(words(.howStoresStand), statuses, words) { statuses in
        for store in statuses.stores { self.store(store) }
      }
      Parts.section(words(.calls), outbox, words) { self.calls($0) }
    }
    if let status = problems.first?.1.status { page.status = HTTPStatus(rawValue: status) }
    return page
  }

  private func store(_ store: StoreStatus) -> Markup {
    let isWell = store.isReachable && !store.callsStopped && !store.questionsStopped
    let never = Markup(words(.notSinceStart))
    return element(.section) {
      element(.h3) { Markup.foreign(store.name) }
      Parts.fields([
        (words(.state), Parts.state(words(isWell ? .answers : .away), isWell ? .good : .bad)),
        (words(.kind), Markup("\(store.kind), \(store.environments.joined(separator: ", "))")),
        (words(.lastAnswer), store.lastAnswer.map { Parts.age(of: $0, visit) } ?? never),
        (words(.lastFailure), store.lastFailure.map { Parts.age(of: $0, visit) } ?? never),
        (
          words(.lastNotification),
          store.lastNotification.map { notification in
            Markup([
              .foreign(
                [notification.type, notification.subtype].compactMap { $0 }.joined(separator: " ") + " "),
              Parts.age(of: notification.received, visit),
            ])
          }
        ),
        (words(.callsWaitingLabel), Markup(words.number(store.callsWaiting))),
        (words(.callsParkedLabel), Markup(words.number(store.callsParked))),
        (words(.oldestCall), store.oldestCall.map { Parts.age(of: $0, visit) }),
        (words(.unacknowledgedLabel), store.unacknowledged.map { Markup(words.number($0)) }),
        (words(.nextAcknowledgement), store.nextAcknowledgement.map { Parts.time($0, words) }),
      ])
    }
  }

  @MarkupBuilder
  private func calls(_ page: PullboxAPI.Page<OutboxCall>) -> Markup {
    Parts.filters(.console("stores"), words) {
      Parts.choice(
        words(.state), "state", visit.request.queryValue("state"),
        [("", words(.all))] + OutboxCall.State.allCases.map { ($0.rawValue, words($0.phrase)) })
      Parts.field(words(.store), "store", visit.request.queryValue("store"), .search)
    }
    if page.items.isEmpty {
      element(.p) { words(.noCalls) }
    } else if visit.may(.admin) {
      Layout.form(.console("stores", "calls"), visit) {
        element(.input, .input(.hidden), .name("once"), .value(RandomBytes.token(bits: 128)))
        element(.div, .look(.field, .wide)) { table(page.items, isForm: true) }
        element(.button, .name("step"), .value("retry")) { words(.retryChosen) }
        element(.button, .look(.danger), .name("step"), .value("drop")) { words(.dropChosen) }
      }
    } else {
      table(page.items, isForm: false)
    }
    Parts.paging(visit, next: page.next)
  }

  private func table(_ calls: [OutboxCall], isForm: Bool) -> Markup {
    Parts.table(
      words(.calls),
      [
        words(.call), words(.store), words(.kind), words(.transaction), words(.state), words(.attempts),
        words(.lastError),
      ],
      calls.map { call in
        let isOpen = call.state == .waiting || call.state == .parked
        let name = words(.callNumber, "\(call.id)")
        return [
          .init(
            isForm && isOpen
              ? element(.label) {
                element(.input, .input(.checkbox), .name("call"), .value("\(call.id)"))
                " \(name)"
              } : Markup(name)),
          .init(Markup.foreign(call.store)), .init(Parts.name(call.kind)),
          .init(
            Parts.link(.console("customers", query: [("transaction", call.transaction)]), call.transaction)),
          .init(Parts.state(words(call.state.phrase), call.state.look)),
          .numeric(words.number(call.attempts)),
          .init(call.lastError.map { Markup.foreign($0) } ?? .nothing),
        ]
      })
  }
}

extension OutboxCall.State {
  var phrase: Phrase {
    switch self {
    case .waiting: .callWaiting
    case .parked: .callParked
    case .done: .callDone
    case .dropped: .callDropped
    }
  }

  var look: Look {
    switch self {
    case .waiting: .waiting
    case .parked: .bad
    case .done, .dropped: .quiet
    }
  }
}
