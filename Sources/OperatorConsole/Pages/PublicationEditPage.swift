import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer

/// The form in which a publication is edited: its texts, its cover and its place in lists. Every change is shown before it is made.
struct PublicationEditPage {
  private let visit: Visit
  private let publication: String
  private var words: Words { visit.words }
  private var reading: Address { .interface("publications", publication) }

  private typealias Found = Result<OperatorReader.Reading<OperatorPublication>, Problem>

  init(_ visit: Visit, publication: String) {
    self.visit = visit
    self.publication = publication
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: [])
    return page(await read(), typed: nil)
  }

  /// Shows what the form would change, or changes it where that was seen.
  func take(_ form: FormBody) async throws -> Outcome {
    let found = await read()
    guard let (before, _) = state(of: found) else { return .again(page(found, typed: form)) }
    let wanted: PublicationDescription
    do throws(Problem) {
      wanted = try description(form, from: before)
    } catch {
      return .again(page(found, typed: form, problem: error))
    }
    let changes = fields(before).changes(to: fields(wanted))
    guard form["confirmed"] == "yes" else { return .again(page(found, typed: form, changes: changes)) }
    // A form that was sent twice has done it before.
    if changes.isEmpty { return .done(.console("publications", publication), .edited) }
    let result = await visit.reader.change(
      reading, by: .put, with: wanted, from: form["tag"], as: OperatorPublication.self)
    switch result {
    case .success: return .done(.console("publications", publication), .edited)
    case .failure(let problem): return .again(page(await read(), typed: form, problem: problem))
    }
  }

  private func read() async -> Found { await visit.reader.get(reading, as: OperatorPublication.self) }

  /// The description, with its tag; nothing for one that has products and was never described. Nil where that is not known.
  private func state(of found: Found) -> (PublicationDescription, tag: String?)? {
    switch found {
    case .success(let record): (PublicationDescription(of: record.value), record.tag)
    case .failure(let problem):
      problem.code == .publicationUnknown ? (PublicationDescription(), nil) : nil
    }
  }

  private func fields(_ publication: PublicationDescription) -> EditedFields {
    var fields = EditedFields()
    fields.add(publication.localizations ?? [:], words)
    fields.add("cover", words(.cover), publication.cover?.description, hint: words(.coverHint))
    fields.add("order", words(.order), publication.order.map(String.init))
    return fields
  }

  /// The publication as the form describes it; what the form does not have stays as it is.
  private func description(
    _ form: FormBody, from before: PublicationDescription
  ) throws(Problem) -> PublicationDescription {
    var wanted = before
    wanted.localizations = try EditedFields.texts(form, from: before.localizations ?? [:], words)
    if form["cover"] != nil {
      wanted.cover = try EditedFields.value(.cover, form.text("cover"), words) { ProductIdentifier($0) }
    }
    if form["order"] != nil {
      wanted.order = try EditedFields.value(.order, form.text("order"), words) { Int($0) }
    }
    return wanted
  }

  private func page(
    _ found: Found, typed: FormBody?, changes: [EditedFields.Change]? = nil, problem: Problem? = nil
  ) -> Page {
    let form = EditForm(visit, action: .console("publications", publication, "edit"))
    let state = state(of: found)
    var page = Page(
      words(.editNamed, publication), in: .publications, reading: reading, command: "pullbox import FILE"
    ) {
      if let problem { StepForm.refusal(problem, meanwhile: nil, visit) }
      element(.p) { Parts.link(.console("publications", publication), publication) }
      if let (description, tag) = state {
        let fields = fields(description)
        if let changes, let typed { form.preview(changes, of: fields, tag: tag, typed: typed) }
        form.form(fields, tag: tag, typed: typed)
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
