import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess

/// Asks before all grants of a transaction, or of a device, are revoked, and says how many they are.
struct GrantsStepPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  /// Beyond so many the name has to be typed.
  private static let manyGrants = 100
  private static let pages = 5
  private static let names = ["transaction", "device"]

  func page() async throws -> Page {
    try visit.request.requireQuery(only: Set(Self.names))
    let subject = Self.names.compactMap { name in visit.value(name).map { (name, $0) } }
    guard subject.count == 1, let named = subject.first else {
      throw Problem(.requestMalformed, "one of transaction and device is needed")
    }
    return await page(of: named.0, named.1, reason: nil, problem: nil)
  }

  /// Revokes what the question was about. A grant that is refused is said, and the others are revoked.
  func take(_ form: FormBody) async throws -> Outcome {
    guard let name = Self.names.first(where: { form.text($0) != nil }), let value = form.text(name) else {
      throw Problem(.requestMalformed, "one of transaction and device is needed")
    }
    let reason = form.text("reason")
    do throws(Problem) {
      let (grants, isComplete) = try await live(of: name, value)
      guard grants.count <= Self.manyGrants || form.text("typed") == value else {
        throw Problem(.requestMalformed, words(.typedNameDiffers))
      }
      for grant in grants {
        let result = await visit.reader.change(
          .interface("grants", "\(grant.grant)", GrantStep.revoke.rawValue), with: ReasonBody(reason: reason),
          as: OperatorGrant.self)
        if case .failure(let problem) = result { throw problem }
      }
      // The question again, about those behind them.
      guard isComplete else { return .again(await page(of: name, value, reason: reason, problem: nil)) }
      return .done(.console("customers", query: [(name, value)]), .revoked)
    } catch {
      return .again(await page(of: name, value, reason: reason, problem: error))
    }
  }

  /// The grants that are not revoked, of the newest five pages; and whether these were all.
  private func live(
    of name: String, _ value: String
  ) async throws(Problem) -> (grants: [OperatorGrant], isComplete: Bool) {
    var (found, after) = ([OperatorGrant](), String?.none)
    for _ in 0..<Self.pages {
      let reading = await visit.get(
        .interface("grants", query: [(name, value), ("after", after), ("limit", "200")]),
        as: PullboxAPI.Page<OperatorGrant>.self)
      let page = try reading.get()
      found += page.items.filter { $0.state != .revoked }
      after = page.next
      if after == nil { return (found, true) }
    }
    return (found, false)
  }

  private func page(of name: String, _ value: String, reason: String?, problem: Problem?) async -> Page {
    var (grants, failure): ((grants: [OperatorGrant], isComplete: Bool), Problem?) = (([], true), nil)
    do throws(Problem) {
      grants = try await live(of: name, value)
    } catch {
      failure = error
    }
    let (count, isComplete) = (grants.grants.count, grants.isComplete)
    let devices = Set(grants.grants.map(\.device)).count
    let begun = grants.grants.count { $0.state == .granted && $0.bytesDelivered > .zero }
    var page = Page(
      words(.revokeAllTitle, value), in: .customers, reading: .interface("grants", query: [(name, value)]),
      command: "pullbox grants --\(name) \(shellWord(value))"
    ) {
      if let problem { StepForm.refusal(problem, meanwhile: nil, visit) }
      if let failure { Parts.problem(failure, words) }
      element(.p) {
        words(.revokeAllConsequence, words.number(count), words.number(devices), words.number(begun))
      }
      if !isComplete { element(.p) { words(.onlyTheNewest) } }
      if count > 0 {
        Layout.form(.console("customers", "revoke"), visit) {
          element(.input, .input(.hidden), .name(name), .value(value))
          Parts.text(words(.reason), "reason", reason, hint: words(.reasonHint))
          if count > Self.manyGrants {
            Parts.field(words(.typeName, value), "typed", nil, attributes: [.autocomplete(.off)])
          }
          element(.button, .look(.danger)) { words(.revokeAll) }
        }
      }
      element(.p) { element(.a, .href(.console("customers", query: [(name, value)]))) { words(.cancel) } }
    }
    if let problem { page.status = HTTPStatus(rawValue: problem.status) }
    return page
  }
}
