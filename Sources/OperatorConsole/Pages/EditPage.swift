import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// The rules by which products, or publications, are edited in a form: the description of the interface's record, its fields, and the
/// description that a filled form makes.
protocol Editing: Sendable {
  /// The interface's answer to a reading, and to a change.
  associatedtype Record: Decodable & Sendable
  /// The body of a change.
  associatedtype Description: Encodable & Sendable

  /// The part of the console that it belongs to, below which its page and its form lie.
  var section: Section { get }
  /// The interface's address of it.
  var reading: Address { get }
  /// The refusal that says that there is none yet, where its form may then describe it; nil where it may not.
  var codeOfNone: ProblemCode? { get }
  /// The description that has nothing.
  var nothing: Description { get }

  func description(of record: Record) -> Description
  func fields(_ description: Description, _ words: Words) -> EditedFields
  /// A field that the form does not have stays as it is `before`. Throws `request-malformed` for a field that cannot be read.
  func description(_ form: FormBody, from before: Description, _ words: Words) throws(Problem) -> Description
  /// Why it cannot be described for the first time under that name; nil where it can.
  func refusal(_ visit: Visit) async -> Problem?
  /// The latest entry of the audit log about it; nil where none can be had.
  func lastChange(_ visit: Visit) async -> AuditEntry?
}

/// The page with the form in which something is edited. Every change is shown before it is made, and made under the state that was
/// shown.
struct EditPage<Rules: Editing> {
  private let visit: Visit
  private let rules: Rules
  /// The identifier of what is edited.
  private let name: String
  private var words: Words { visit.words }
  private var home: Address { .console(rules.section.rawValue, name) }

  private typealias Found = Result<OperatorReader.Reading<Rules.Record>, Problem>
  private typealias State = (description: Rules.Description, tag: String?)

  init(_ visit: Visit, _ rules: Rules, named name: String) {
    self.visit = visit
    self.rules = rules
    self.name = name
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: [])
    return await page(await read(), typed: nil)
  }

  /// Shows what the form would change, or changes it where that was seen.
  func take(_ form: FormBody) async throws -> Outcome {
    let found = await read()
    guard let (before, tag) = state(of: found) else { return .again(await page(found, typed: form)) }
    let form = rules.fields(before, words).touched(in: form)
    let wanted: Rules.Description
    do throws(Problem) {
      wanted = try rules.description(form, from: before, words)
    } catch {
      return .again(await page(found, typed: form, problem: error))
    }
    let changes = rules.fields(before, words).changes(to: rules.fields(wanted, words))
    guard form["confirmed"] == "yes" else {
      return .again(await page(found, typed: form, changes: changes, isLate: form["tag"] != tag))
    }
    // A form that was sent twice has done it before.
    if changes.isEmpty { return .done(home, .edited) }
    // A form without a tag was shown where there was nothing.
    let result = await visit.reader.change(
      rules.reading, by: .put, with: wanted, from: form["tag"], isNew: form["tag"] == nil,
      as: Rules.Record.self)
    switch result {
    case .success: return .done(home, .edited)
    case .failure(let problem):
      return .again(await page(await read(), typed: form, problem: problem))
    }
  }

  private func read() async -> Found {
    let found: Found = await visit.reader.get(rules.reading, as: Rules.Record.self)
    guard case .failure(let problem) = found, problem.code == rules.codeOfNone,
      let refusal = await rules.refusal(visit)
    else { return found }
    return .failure(refusal)
  }

  /// The description, with its tag; nothing, without one, for what may be described for the first time. Nil where that is not known.
  private func state(of found: Found) -> State? {
    switch found {
    case .success(let record): (rules.description(of: record.value), record.tag)
    case .failure(let problem): problem.code == rules.codeOfNone ? (rules.nothing, nil) : nil
    }
  }

  private func page(
    _ found: Found, typed: FormBody?, changes: [EditedFields.Change]? = nil, isLate: Bool = false,
    problem: Problem? = nil
  ) async -> Page {
    let form = EditForm(visit, action: .console(rules.section.rawValue, name, "edit"))
    let state = state(of: found)
    let late = isLate ? Problem(.preconditionFailed, words(.changedMeanwhile)) : nil
    let meanwhile = problem ?? late == nil ? nil : await rules.lastChange(visit)
    var page = Page(
      words(.editNamed, name), in: rules.section, reading: rules.reading, command: "pullbox import FILE"
    ) {
      if let problem = problem ?? late { StepForm.refusal(problem, meanwhile: meanwhile, visit) }
      element(.p) { Parts.link(home, name) }
      if let state {
        let fields = rules.fields(state.description, words)
        if let changes, let typed {
          // Of the state that the changes were worked out from.
          form.preview(changes, of: fields, tag: state.tag, typed: typed)
        }
        form.form(fields, tag: state.tag, typed: typed, problem: problem)
      } else if case .failure(let problem) = found {
        Parts.problem(problem, words)
      }
    }
    switch (found, problem) {
    case (.failure(let problem), _) where state == nil: page.status = HTTPStatus(rawValue: problem.status)
    case (_, let problem?): page.status = HTTPStatus(rawValue: problem.status)
    default: break
    }
    return page
  }
}
