import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// Asks before all grants of a transaction, or of a device, are revoked, and says how many they are.
struct GrantsStepPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  /// Beyond so many the name has to be typed.
  private static let manyGrants = 100
  private static let names = ["transaction", "device"]

  func page() async throws -> Page {
    try visit.request.requireQuery(only: Set(Self.names))
    let subject = Self.names.compactMap { name in visit.value(name).map { (name, $0) } }
    guard subject.count == 1, let named = subject.first else {
      throw Problem(.requestMalformed, "one of transaction and device is needed")
    }
    return await page(of: named.0, named.1, reason: nil, problem: nil)
  }

  /// Revokes the grants that the question was about: where others stand by now, or what stands cannot be read, it is asked again.
  func take(_ form: FormBody) async throws -> Outcome {
    guard let name = Self.names.first(where: { form.text($0) != nil }), let value = form.text(name) else {
      throw Problem(.requestMalformed, "one of transaction and device is needed")
    }
    let reason = form.text("reason")
    let tag: String
    do throws(Problem) {
      tag = try StepForm.tag(of: form, words)
    } catch {
      return .again(await page(of: name, value, reason: reason, problem: error))
    }
    switch await plan(of: name, value) {
    case .failure(let problem):
      return .again(await page(of: name, value, reason: reason, problem: problem))
    case .success(let plan) where plan.value.grants > Self.manyGrants && form.text("typed") != value:
      return .again(
        await page(
          of: name, value, reason: reason,
          problem: Problem(.requestMalformed, words(.typedNameDiffers))))
    case .success: break
    }
    let result = await visit.reader.change(
      .interface("revocations"),
      with: RevocationRequest(
        transaction: name == "transaction" ? value : nil, device: name == "device" ? value : nil,
        reason: reason), once: form["once"], from: tag, as: RevocationReport.self)
    switch result {
    // The question again, about those behind them.
    case .success(let report) where report.value.hasMore:
      return .again(await page(of: name, value, reason: reason, problem: nil))
    case .success: return .done(.console("customers", query: [(name, value)]), .revoked)
    case .failure(let problem):
      if let waiting = Outcome.waiting(problem) { return waiting }
      return .again(await page(of: name, value, reason: reason, problem: problem))
    }
  }

  /// The grants that would be revoked, the newest 1,000 at most, with the tag of these.
  private func plan(
    of name: String, _ value: String
  ) async -> Result<OperatorReader.Reading<RevocationPlan>, Problem> {
    await visit.reader.get(.interface("revocations", query: [(name, value)]))
  }

  private func page(of name: String, _ value: String, reason: String?, problem: Problem?) async -> Page {
    let plan = await plan(of: name, value)
    var page = Page(
      words(.revokeAllTitle, value), in: .customers,
      reading: .interface("revocations", query: [(name, value)]),
      command: "pullbox \(name == "device" ? "revoke" : "grants") --\(name) \(shellWord(value))"
    ) {
      if let problem { StepForm.refusal(problem, meanwhile: nil, visit) }
      switch plan {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let plan): question(plan.value, plan.tag, of: name, value, reason)
      }
      element(.p) { element(.a, .href(.console("customers", query: [(name, value)]))) { words(.cancel) } }
    }
    if let problem { page.status = HTTPStatus(rawValue: problem.status) }
    return page
  }

  @MarkupBuilder
  private func question(
    _ plan: RevocationPlan, _ tag: String?, of name: String, _ value: String, _ reason: String?
  ) -> Markup {
    element(.p) {
      words(
        .revokeAllConsequence, words.number(Int(plan.grants)), words.number(Int(plan.devices)),
        words.number(Int(plan.begun)))
    }
    if plan.hasMore { element(.p) { words(.onlyTheNewest) } }
    if plan.grants > 0 {
      Layout.form(.console("customers", "revoke"), visit) {
        StepForm.hidden(tag)
        element(.input, .input(.hidden), .name(name), .value(value))
        Parts.text(words(.reason), "reason", reason, hint: words(.reasonHint))
        if plan.grants > Self.manyGrants {
          Parts.field(words(.typeName, value), "typed", nil, attributes: [.autocomplete(.off)])
        }
        element(.button, .look(.danger)) { words(.revokeAll) }
      }
    }
  }
}
