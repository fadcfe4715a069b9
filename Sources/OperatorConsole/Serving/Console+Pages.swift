import HTTPParsing
import HTTPServer
import PullboxAPI
import PullboxAPIServer

extension Console {
  /// Answers a request for a page, by the parts of its path behind `/console/`.
  func show(_ path: [String], _ visit: Visit) async throws -> HTTPResponse {
    switch path.first {
    case "json": return try await json(Array(path.dropFirst()), visit)
    case "pictures": return try await picture(Array(path.dropFirst()), visit)
    default: break
    }
    let notice = try visit.request.onlyQueryValue("notice").flatMap { Notice(rawValue: $0) }
    guard let page = try await page(path, visit) else {
      return page(
        Page(visit.words(.noSuchPage), in: nil) {
          element(.p) { element(.a, .href(.console())) { visit.words(.toToday) } }
        }, visit, notice: nil, status: .notFound)
    }
    return self.page(page, visit, notice: notice, status: page.status)
  }

  /// Answers with a page.
  func page(_ page: Page, _ visit: Visit, notice: Notice?, status: HTTPStatus) -> HTTPResponse {
    Self.html(Layout.document(page, for: visit, notice: notice), status: status)
  }

  /// Finds and makes the page of a path; nil where there is none.
  private func page(_ path: [String], _ visit: Visit) async throws -> Page? {
    switch (path[0], path.count) {
    case ("", 1): return try await TodayPage(visit).page()
    case ("products", 1): return try await ProductsPage(visit).page()
    case ("upload", 1): return try await UploadPage(visit).page()
    case ("import", 1): return try await ImportPage(visit).page()
    case ("products", 2): return try await ProductPage(visit, product: path[1]).page()
    case ("products", 3) where path[2] == "edit":
      return try await EditPage(visit, ProductEditing(product: path[1]), named: path[1]).page()
    case ("publications", 3) where path[2] == "edit":
      return try await EditPage(visit, PublicationEditing(publication: path[1]), named: path[1]).page()
    case ("products", 3): return try await VersionPage(visit, product: path[1], version: path[2]).page()
    case ("products", 4) where path[3] == "release":
      return try await ReleasePage(visit, product: path[1], version: path[2]).page()
    case ("products", 4) where path[3] == "pages":
      return try await VersionPagesPage(visit, product: path[1], version: path[2]).page()
    case ("publications", 1): return try await PublicationsPage(visit).page()
    case ("publications", 2): return try await PublicationsPage(visit).page(of: path[1])
    case ("deliveries", 1): return try await DeliveriesPage(visit).page()
    case ("deliveries", 2): return try await DeliveryPage(visit, grant: path[1]).page()
    case ("deliveries", 3):
      guard let step = GrantStep(path[2]) else { return nil }
      return try await GrantStepPage(visit, grant: path[1], step: step).page()
    case ("customers", 1): return try await CustomerPage(visit).page()
    case ("customers", 2) where path[1] == "revoke": return try await GrantsStepPage(visit).page()
    case ("customers", 2) where path[1] == "reader": return try await ReaderKeyStepPage(visit).page()
    case ("approvals", 1): return try await ApprovalPage(visit).page()
    case ("approvals", 2): return try await ApprovalPage(visit).page(of: path[1])
    case ("stores", 1): return try await StoresPage(visit).page()
    case ("money", 1): return try await MoneyPage(visit).page()
    case ("house", 1): return try await HousePage(visit).page()
    case ("audit", 1): return try await AuditPage(visit).page()
    default: return nil
    }
  }

  /// Carries a form out, by the parts of its path.
  func change(_ path: [String], _ visit: Visit, _ door: Door, _ secret: String) async throws -> HTTPResponse {
    try visit.request.requireQuery(only: [])
    if path == ["upload"] { return answer(try await UploadPage(visit).take(), to: visit) }
    if path == ["import"] { return answer(try await ImportPage(visit).take(), to: visit) }
    let form = try await FormBody(
      visit.request, repeatable: ["call"],
      upTo: path.last == "edit" ? FormBody.maximumEditLength : FormBody.maximumLength)
    guard SecretDigest(of: visit.visitor.formToken).matches(form["token"]) else { throw Problem.foreignForm }
    switch path {
    case ["sign-out"]: return try await signOut(door, secret)
    case ["language"]:
      if let language = form["language"].flatMap({ Language(rawValue: $0) }) {
        try await sessions.speak(language, secret)
      }
      return Self.seeOther(Self.page(form["page"]) ?? .console())
    default: break
    }
    guard let outcome = try await outcome(of: path, form, visit) else {
      throw Problem(.notFound, "there is no such form")
    }
    return answer(outcome, to: visit)
  }

  private func answer(_ outcome: Outcome, to visit: Visit) -> HTTPResponse {
    switch outcome {
    case .done(let address, let notice): Self.seeOther(address.with("notice", notice.rawValue))
    case .again(let again): page(again, visit, notice: nil, status: again.status)
    }
  }

  /// Finds the form of a path and carries it out; nil where there is none.
  private func outcome(of path: [String], _ form: FormBody, _ visit: Visit) async throws -> Outcome? {
    switch (path[0], path.count) {
    case ("stores", 2) where path[1] == "calls": return try await StoresPage(visit).decide(form)
    case ("customers", 2) where path[1] == "revoke": return try await GrantsStepPage(visit).take(form)
    case ("customers", 2) where path[1] == "reader": return try await ReaderKeyStepPage(visit).take(form)
    case ("approvals", 3): return await ApprovalPage(visit).take(path[1], path[2], form)
    case ("house", 2) where path[1] == "scrub": return await HousePage(visit).scrub()
    case ("house", 2) where path[1] == "collect": return await HousePage(visit).collect()
    case ("deliveries", 3):
      guard let step = GrantStep(path[2]) else { return nil }
      return try await GrantStepPage(visit, grant: path[1], step: step).take(form)
    case ("products", 3) where path[2] == "edit":
      return try await EditPage(visit, ProductEditing(product: path[1]), named: path[1]).take(form)
    case ("publications", 3) where path[2] == "edit":
      return try await EditPage(visit, PublicationEditing(publication: path[1]), named: path[1]).take(form)
    case ("products", 3):
      guard let step = SaleStep(rawValue: path[2]) else { return nil }
      return try await ProductPage(visit, product: path[1]).take(step, form)
    case ("products", 4):
      guard let step = VersionStep(rawValue: path[3]) else { return nil }
      return try await VersionPage(visit, product: path[1], version: path[2]).take(step, form)
    default: return nil
    }
  }

  /// Shows what the interface answers to that `GET`, as it is.
  private func json(_ path: [String], _ visit: Visit) async throws -> HTTPResponse {
    guard path.starts(with: ["v1", "operator"]) else { throw Problem(.notFound) }
    let address = Address(path, query: visit.request.query.map { ($0.name, $0.value) })
    var response = await visit.reader.interface.answer(.get, address, with: visit.visitor.key)
    response.headers["Cache-Control"] = "no-store"
    return response
  }

  /// Shows a picture that the interface has of a product: its cover, a sample, or a page of a version.
  private func picture(_ path: [String], _ visit: Visit) async throws -> HTTPResponse {
    let parts: [String]
    if path.count == 4, path[2] == "pages" {
      parts = ["v1", "operator", "products", path[0], "versions", path[1], "pages", path[3]]
    } else {
      guard path.count == 2 || path.count == 3, ["cover", "samples", "screenshot"].contains(path[1]) else {
        throw Problem(.notFound)
      }
      parts = (path[1] == "screenshot" ? ["v1", "operator", "products"] : ["v1", "products"]) + path
    }
    let address = Address(parts, query: visit.request.query.map { ($0.name, $0.value) })
    var response = await visit.reader.interface.answer(.get, address, with: visit.visitor.key)
    // A package of one file has no cover: a picture says so.
    if path[1] == "cover", case .bytes(let document) = response.body,
      Problem(document: document, status: response.status.rawValue, isDeclared: true)?.code == .previewUnknown
    {
      return ConsoleAsset.noCover.response(to: visit.request, digest: "")
    }
    // What a package brings is shown as a picture, or not at all.
    guard response.headers["Content-Type"]?.hasPrefix("image/") == true,
      response.headers["Content-Type"] != "image/svg+xml"
    else { throw Problem(.previewUnknown) }
    response.headers["Cache-Control"] = "private, max-age=300"
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response
  }
}

extension HTTPRequest {
  /// A parameter of the query that may be there once. Throws `request-malformed` for two: which of them counts would be for proxies
  /// to decide.
  func onlyQueryValue(_ name: String) throws(Problem) -> String? {
    let values = queryValues(name)
    guard values.count <= 1 else { throw Problem(.requestMalformed, "\(name) occurs more than once") }
    return values.first
  }
}
