import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// A step that an operator may take about a grant.
enum GrantStep: String, Sendable {
  case revoke, reinstate

  init?(_ text: String) { self.init(rawValue: text) }
}

/// Asks before a grant is revoked or reinstated, and says what will happen.
struct GrantStepPage {
  private let visit: Visit
  private let grant: String
  private let step: GrantStep
  private var words: Words { visit.words }

  init(_ visit: Visit, grant: String, step: GrantStep) {
    self.visit = visit
    self.grant = grant
    self.step = step
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: [])
    return await page(reason: nil, problem: nil)
  }

  /// Carries the step out, and asks again where it is refused.
  func take(_ form: FormBody) async throws -> Outcome {
    let reason = form.text("reason")
    let tag: String
    do throws(Problem) {
      tag = try StepForm.tag(of: form, words)
    } catch {
      return .again(await page(reason: reason, problem: error))
    }
    let result = await visit.reader.change(
      .interface("grants", grant, step.rawValue), with: ReasonBody(reason: reason), once: form["once"],
      from: tag, as: OperatorGrant.self)
    switch result {
    case .success: return .done(.console("deliveries", grant), step == .revoke ? .revoked : .reinstated)
    case .failure(let problem):
      if let waiting = Outcome.waiting(problem) { return waiting }
      return .again(await page(reason: reason, problem: problem))
    }
  }

  private func page(reason: String?, problem: Problem?) async -> Page {
    let found = await visit.reader.get(.interface("grants", grant), as: OperatorGrant.self)
    let title = words(step == .revoke ? .revokeTitle : .reinstateTitle, grant)
    var page = Page(
      title, in: .deliveries, reading: .interface("grants", grant),
      command: "pullbox \(step.rawValue) \(grant)"
    ) {
      if let problem { StepForm.refusal(problem, meanwhile: nil, visit) }
      switch found {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let reading):
        element(.p) { consequence(reading.value) }
        Layout.form(.console("deliveries", grant, step.rawValue), visit) {
          StepForm.hidden(reading.tag)
          Parts.text(words(.reason), "reason", reason, hint: words(.reasonHint))
          element(.button, .look(step == .revoke ? .danger : .button)) {
            words(step == .revoke ? .revoke : .reinstate)
          }
          element(.a, .href(.console("deliveries", grant))) { words(.cancel) }
        }
      }
    }
    if let problem { page.status = HTTPStatus(rawValue: problem.status) }
    return page
  }

  private func consequence(_ grant: OperatorGrant) -> String {
    let delivered = words.bytes(grant.bytesDelivered)
    return switch step {
    case .revoke:
      words(.revokeConsequence, "\(grant.device)", "\(grant.product) \(grant.version)", delivered)
    case .reinstate: words(.reinstateConsequence, "\(grant.device)", "\(grant.product) \(grant.version)")
    }
  }
}
