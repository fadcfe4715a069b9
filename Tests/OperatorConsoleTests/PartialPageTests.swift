import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI
import Testing

@testable import OperatorConsole

@Suite("Pages of what is known, while the rest is not")
struct PartialPageTests {
  /// Answers 503 below some paths, and an empty list below all others.
  private struct Interface: AsyncHandler {
    var broken: @Sendable (String) -> Bool
    /// Sums of deliveries from then on are answered 503.
    var unknownSince: String?
    /// The answer of `reports`.
    var report: String?

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      if broken(request.path) || unknownSince.map({ $0 == request.queryValue("since") }) == true {
        return .problem(Problem(.unavailable, "the database cannot be used"))
      }
      let body =
        if request.path.hasSuffix("/reports") {
          report ?? "{}"
        } else if request.path.hasSuffix("/sums") {
          #"{"since":"2026-09-20T00:00:00.000Z","until":"2026-09-21T00:00:00.000Z","grants":3,"bytesDelivered":7}"#
        } else {
          #"{"items":[]}"#
        }
      return HTTPResponse(
        status: .ok, headers: ["Content-Type": "application/json"], body: .bytes(Array(body.utf8)))
    }
  }

  private func visit(
    _ target: String, scopes: Set<OperatorScope> = [.admin], report: String? = nil,
    unknownSince: String? = nil, broken: @escaping @Sendable (String) -> Bool = { _ in false }
  ) throws -> Visit {
    let key = SecretDigest(of: "a key")
    return Visit(
      request: try HTTPRequest(method: .get, rawTarget: target),
      visitor: Visitor(
        holder: Operator(name: "ada", scopes: scopes), key: key, language: .english, formToken: "token"),
      reader: OperatorReader(
        interface: ManagementInterface(
          Interface(broken: broken, unknownSince: unknownSince, report: report)), key: key),
      now: Timestamp(millisecondsSinceEpoch: 1_790_000_000_000))
  }

  @Test("with nothing to read every page comes, and says in each place what it cannot show")
  func nothing() async throws {
    func check(_ path: String, _ make: (Visit) async throws -> OperatorConsole.Page) async throws {
      let visit = try visit("/console/\(path)") { _ in true }
      let page = try await make(visit)
      let html = String(decoding: Layout.document(page, for: visit, notice: nil), as: UTF8.self)
      #expect(html.contains("the database cannot be used"), "\(path)")
      #expect(html.contains("<nav") && html.contains("<h1>"), "\(path)")
    }
    try await check("") { try await TodayPage($0).page() }
    try await check("products") { try await ProductsPage($0).page() }
    try await check("products/a") { try await ProductPage($0, product: "a").page() }
    try await check("products/a/1.0") { try await VersionPage($0, product: "a", version: "1.0").page() }
    try await check("publications") { try await PublicationsPage($0).page() }
    try await check("publications/a") { try await PublicationsPage($0).page(of: "a") }
    try await check("deliveries") { try await DeliveriesPage($0).page() }
    try await check("deliveries/0123456789abcdef") {
      try await DeliveryPage($0, grant: "0123456789abcdef").page()
    }
    try await check("customers?transaction=1&product=a") { try await CustomerPage($0).page() }
    try await check("customers/revoke?device=a") { try await GrantsStepPage($0).page() }
    try await check("customers/reader?name=a") { try await ReaderKeyStepPage($0).page() }
    try await check("approvals") { try await ApprovalPage($0).page() }
    try await check("approvals/17") { try await ApprovalPage($0).page(of: "17") }
    try await check("products/a/edit") {
      try await EditPage($0, ProductEditing(product: "a"), named: "a").page()
    }
    try await check("publications/a/edit") {
      try await EditPage($0, PublicationEditing(publication: "a"), named: "a").page()
    }
    try await check("stores") { try await StoresPage($0).page() }
    try await check("money") { try await MoneyPage($0).page() }
    try await check("house") { try await HousePage($0).page() }
    try await check("audit") { try await AuditPage($0).page() }
  }

  @Test("what can be read is shown beside what cannot")
  func some() async throws {
    let visit = try visit("/console/stores") { $0.hasSuffix("/stores") }
    let html = try await StoresPage(visit).page().body.html
    #expect(html.contains("the database cannot be used"))
    #expect(html.contains("There are no such calls."))
  }

  @Test("a day on which nothing was sold, of which a report has no row, has sold nothing")
  func units() async throws {
    for (day, units) in [("2026-09-20", 0), ("2026-09-21", 7)] {
      let row = #"{"day":"\#(day)","units":7,"refunds":0,"newSubscribers":0,"lapsed":0,"active":0}"#
      let report =
        #"{"from":"2026-08-23T00:00:00.000Z","to":"2026-09-22T00:00:00.000Z","rows":[\#(row)]}"#
      let html = try await TodayPage(visit("/console/", report: report)).page().body.html
      #expect(html.contains("<dt>Units today (UTC)</dt><dd>\(units)</dd>"))
      #expect(html.contains("<dt>Units in 30 days</dt><dd>7</dd>"))
    }
  }

  @Test("of a day or a month whose sums cannot be read the page of today says so, beside the other one's")
  func sums() async throws {
    let now = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)
    func html(unknownSince days: Int64?) async throws -> String {
      let since = days.map { (now - .seconds($0 * 86_400)).rfc3339 }
      return try await TodayPage(visit("/console/", unknownSince: since)).page().body.html
    }
    let (day, month) = ("Grants in 24 hours", "Grants in 30 days")
    func isKnown(_ name: String, _ html: String) -> Bool { html.contains("<dt>\(name)</dt><dd>3</dd>") }
    func isUnknown(_ name: String, _ html: String) -> Bool {
      html.contains("<p>\(name), ") && html.contains(": not known now. <bdi>the database cannot be used")
    }
    let whole = try await html(unknownSince: nil)
    #expect(isKnown(day, whole) && isKnown(month, whole))
    #expect(!isUnknown(day, whole) && !isUnknown(month, whole))
    let withoutMonth = try await html(unknownSince: 30)
    #expect(isKnown(day, withoutMonth) && isUnknown(month, withoutMonth))
    #expect(!isKnown(month, withoutMonth) && !isUnknown(day, withoutMonth))
    let withoutDay = try await html(unknownSince: 1)
    #expect(isKnown(month, withoutDay) && isUnknown(day, withoutDay))
  }

  @Test("an order of sold units that there is not is refused, with those that there are")
  func moneyOrder() async throws {
    for order in ["size", "Units", "units,refunds"] {
      let visit = try visit("/console/money?order=\(order)")
      let problem = await #expect(throws: Problem.self) { _ = try await MoneyPage(visit).page() }
      #expect(problem?.status == 400)
      #expect(problem?.detail?.contains("units or refunds") == true)
    }
    for order in ["", "units", "refunds"] {
      _ = try await MoneyPage(visit("/console/money?order=\(order)")).page()
    }
  }

  @Test("while not all is known, the page of today does not say that nothing needs somebody")
  func today() async throws {
    let visit = try visit("/console/") { $0.hasSuffix("/scrub") }
    let html = try await TodayPage(visit).page().body.html
    #expect(html.contains("Packages: not known now."))
    #expect(!html.contains("<p>Nothing.</p>"))
  }
}
