import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// The requests that want a second operator, and one of them with its decision.
struct ApprovalPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  /// The requests, the newest first.
  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["state", "after", "notice"])
    let reading = Address.interface(
      "approvals",
      query: [("state", visit.value("state")), ("after", visit.value("after")), ("limit", "50")])
    let list = await visit.get(reading, as: PullboxAPI.Page<Approval>.self)
    return Page(words(.approvals), in: .today, reading: reading, command: "pullbox approvals") {
      element(.p, .look(.hint)) { words(.approvalsHint) }
      Parts.filters(.console("approvals"), words) {
        Parts.choice(
          words(.state), "state", visit.value("state"),
          [("", words(.all))] + Approval.State.allCases.map { ($0.rawValue, words($0.phrase)) })
      }
      switch list {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let page) where page.items.isEmpty: element(.p) { words(.noApprovals) }
      case .success(let page):
        Parts.table(
          words(.approvals),
          [
            words(.request), words(.subject), words(.state), words(.actor), words(.when),
            words(.approvalExpires), words(.decidedBy),
          ],
          page.items.map { approval in
            [
              .init(
                Parts.link(
                  .console("approvals", "\(approval.id)"), "\(approval.id): \(words.step(approval.action))")),
              .init(.foreign(approval.subject)),
              .init(Parts.state(words(approval.state.phrase), approval.state.look)),
              .init(.foreign(approval.askedBy)), .init(Parts.time(approval.asked, words)),
              .init(Parts.time(approval.expires, words)), .init(.foreign(approval.decidedBy ?? "")),
            ]
          })
        Parts.paging(visit, next: page.next)
      }
    }
  }

  /// One request, with the forms by which it is decided.
  func page(of id: String) async throws -> Page {
    try visit.request.requireQuery(only: ["notice"])
    return await page(of: id, reason: nil, problem: nil)
  }

  /// Approves or declines the request, and shows it again where that is refused, with who changed what meanwhile.
  func take(_ id: String, _ step: String, _ form: FormBody) async -> Outcome? {
    guard ["approve", "decline"].contains(step) else { return nil }
    let reason = form.text("reason")
    let result = await visit.reader.change(
      .interface("approvals", id, step), with: ReasonBody(reason: step == "decline" ? reason : nil),
      once: form["once"], as: Approval.self)
    switch result {
    case .success: return .done(.console("approvals", id), step == "approve" ? .carriedOut : .declined)
    case .failure(let problem): return .again(await page(of: id, reason: reason, problem: problem))
    }
  }

  private func page(of id: String, reason: String?, problem: Problem?) async -> Page {
    let reading = Address.interface("approvals", id)
    let found = await visit.get(reading, as: Approval.self)
    let meanwhile = problem?.code == .preconditionFailed ? await lastChange(try? found.get()) : nil
    var page = Page(
      words(.approvalNamed, id), in: .today, reading: reading, command: "pullbox approvals"
    ) {
      if let problem { StepForm.refusal(problem, meanwhile: meanwhile, visit) }
      switch found {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let approval):
        facts(approval)
        decision(approval, reason)
      }
      element(.p) { Parts.link(.console("approvals"), words(.allApprovals)) }
    }
    switch (found, problem) {
    case (_, let problem?), (.failure(let problem), _): page.status = HTTPStatus(rawValue: problem.status)
    default: break
    }
    return page
  }

  private func facts(_ approval: Approval) -> Markup {
    Parts.fields([
      (words(.state), Parts.state(words(approval.state.phrase), approval.state.look)),
      (words(.request), Markup(words.step(approval.action))),
      (words(.subject), subject(approval)),
      (words(.affected), approval.affected.map { Markup(words.number(Int($0))) }),
      (words(.reason), approval.reason.map { .foreign($0) }),
      (words(.actor), .foreign(approval.askedBy)),
      (words(.when), Parts.time(approval.asked, words)),
      (words(.approvalExpires), Parts.time(approval.expires, words)),
      (words(.decidedBy), approval.decidedBy.map { .foreign($0) }),
      (words(.decidedAt), approval.decided.map { Parts.time($0, words) }),
      (words(.outcome), approval.outcome.map { .foreign($0) }),
      (words(.detail), Parts.name(approval.request)),
    ])
  }

  /// A link to the version, or the product, that it is about.
  private func subject(_ approval: Approval) -> Markup {
    let parts = approval.subject.split(separator: " ").map(String.init)
    switch (approval.action, parts.count) {
    case ("version.withdraw", 2):
      return Parts.link(.console("products", parts[0], parts[1]), approval.subject)
    case ("product.withdraw", 1): return Parts.link(.console("products", parts[0]), approval.subject)
    default: return .foreign(approval.subject)
    }
  }

  @MarkupBuilder
  private func decision(_ approval: Approval, _ reason: String?) -> Markup {
    if approval.state == .waiting {
      if approval.askedBy == visit.visitor.holder.name {
        element(.section) {
          element(.h2) { words(.nextStep) }
          element(.p) { words(.ownApproval) }
          declining(approval, reason, words(.takeRequestBack))
        }
      } else if visit.may(approval.scope) {
        element(.section) {
          element(.h2) { words(.nextStep) }
          element(.p) { words(.approveConsequence, words.step(approval.action), approval.subject) }
          Layout.form(.console("approvals", "\(approval.id)", "approve"), visit) {
            StepForm.hidden(nil)
            element(.button, .look(.danger)) { words(.approve) }
          }
          declining(approval, reason, words(.decline))
        }
      } else {
        element(.p) { words(.approvalNeedsScope, approval.scope.rawValue) }
      }
    }
  }

  /// The form by which a request is declined, or taken back by who asked.
  private func declining(_ approval: Approval, _ reason: String?, _ label: String) -> Markup {
    Layout.form(.console("approvals", "\(approval.id)", "decline"), visit) {
      StepForm.hidden(nil)
      Parts.text(words(.reason), "reason", reason, hint: words(.reasonHint))
      element(.button) { label }
    }
  }

  private func lastChange(_ approval: Approval?) async -> AuditEntry? {
    guard let approval, let product = approval.subject.split(separator: " ").first,
      approval.action != "grant.revoke"
    else { return nil }
    let history = await visit.get(
      .interface("audit", query: [("product", String(product)), ("limit", "1")]),
      as: PullboxAPI.Page<AuditEntry>.self)
    return (try? history.get())?.items.first
  }
}

extension Approval.State {
  var phrase: Phrase {
    switch self {
    case .waiting: .approvalWaiting
    case .approved: .approvalApproved
    case .done: .approvalDone
    case .declined: .approvalDeclined
    case .refused: .approvalRefused
    case .expired: .approvalExpired
    }
  }

  var look: Look {
    switch self {
    case .waiting, .approved: .waiting
    case .done: .good
    case .declined, .refused, .expired: .bad
    }
  }
}

extension Words {
  /// The step of a request, as it is asked for; one that this version does not know as the audit log names it.
  func step(_ action: String) -> String {
    switch action {
    case "version.withdraw": self(.withdrawVersion)
    case "product.withdraw": self(.takeProductOffSale)
    case "grant.revoke": self(.revokeGrants)
    default: action
    }
  }
}
