import CoreTypes
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// The page of the audit log: who did what, newest first, with filters in the address.
struct AuditPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  private static let filters = ["product", "actor", "action"]

  func page() async throws -> Page {
    try visit.request.requireQuery(only: Set(Self.filters + ["since", "until", "after", "notice"]))
    let dates = ["since", "until"].map { name in (name, visit.value(name).map { Self.moment($0) }) }
    let reading = Address.interface(
      "audit", query: (Self.filters + ["after"]).map { ($0, visit.value($0)) } + dates + [("limit", "100")])
    let list = await visit.get(reading, as: PullboxAPI.Page<AuditEntry>.self)
    return Page(words(.audit), in: .audit, reading: reading, command: "pullbox audit") {
      Parts.filters(.console("audit"), words) {
        Parts.field(words(.actor), "actor", visit.value("actor"), .search)
        Parts.field(words(.action), "action", visit.value("action"), .search, hint: words(.actionHint))
        Parts.field(words(.product), "product", visit.value("product"), .search)
        Parts.field(words(.since), "since", visit.value("since"), .date)
        Parts.field(words(.untilDay), "until", visit.value("until"), .date)
      }
      switch list {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let page) where page.items.isEmpty: element(.p) { words(.noEntries) }
      case .success(let page):
        Parts.table(
          words(.audit), [words(.when), words(.actor), words(.action), words(.subject), words(.detail)],
          page.items.map { entry in
            [
              .init(Parts.time(entry.at, words)), .init(Markup.foreign(entry.actor)),
              .init(Markup([.foreign(words.action(entry.action)), Markup(" "), Parts.name(entry.action)])),
              .init(Parts.name(entry.subject)), .init(entry.detail.map { Markup.foreign($0) } ?? .nothing),
            ]
          })
        Parts.paging(visit, next: page.next)
      }
    }
  }

  /// A day as the browser's field has it becomes its first moment; anything else stays, for the interface to judge.
  private static func moment(_ text: String) -> String {
    text.utf8.count == 10 ? text + "T00:00:00Z" : text
  }
}
