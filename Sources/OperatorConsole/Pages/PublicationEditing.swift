import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// The rules by which a publication is edited: its texts, its cover, its place in lists, and what stays of issues that are taken back. One that has products and was never described
/// is described by the form.
struct PublicationEditing: Editing {
  let publication: String

  var section: Section { .publications }
  var reading: Address { .interface("publications", publication) }
  var codeOfNone: ProblemCode? { .publicationUnknown }
  var nothing: PublicationDescription { PublicationDescription() }

  func description(of record: OperatorPublication) -> PublicationDescription {
    PublicationDescription(of: record)
  }

  func fields(_ publication: PublicationDescription, _ words: Words) -> EditedFields {
    var fields = EditedFields()
    fields.add(publication.localizations ?? [:], words)
    fields.add("cover", words(.cover), publication.cover?.description, hint: words(.coverHint))
    fields.add("order", words(.order), publication.order.map(String.init))
    fields.add(
      "keep", words(.keepRevokedIssues), isTrue: publication.policy?.keepsRevokedIssues == true,
      hint: words(.keepRevokedIssuesHint), words)
    return fields
  }

  func description(
    _ form: FormBody, from before: PublicationDescription, _ words: Words
  ) throws(Problem) -> PublicationDescription {
    var wanted = before
    wanted.localizations = try EditedFields.texts(form, from: before.localizations ?? [:], words)
    if form["cover"] != nil {
      wanted.cover = try EditedFields.value("cover", .cover, of: form, words) { ProductIdentifier($0) }
    }
    if form["order"] != nil {
      wanted.order = try EditedFields.value("order", .order, of: form, words) { Int($0) }
    }
    if form["keep"] != nil {
      let isKept = try EditedFields.isTrue("keep", .keepRevokedIssues, of: form, words)
      var policy = wanted.policy ?? SubscriptionPolicy()
      policy.keepsRevokedIssues = isKept ? true : nil
      wanted.policy = policy == SubscriptionPolicy() ? nil : policy
    }
    return wanted
  }

  /// Only a name that a product bears is one of a publication that may be described here.
  func refusal(_ visit: Visit) async -> Problem? {
    let products = await visit.get(
      .interface("products", query: [("publication", publication), ("limit", "1")]),
      as: PullboxAPI.Page<OperatorProduct>.self)
    switch products {
    case .success(let page) where page.items.isEmpty:
      return Problem(.notFound, visit.words(.noSuchPublication, publication))
    case .success: return nil
    case .failure(let problem): return problem
    }
  }

  /// The audit log is asked by product, and a publication is none.
  func lastChange(_ visit: Visit) async -> AuditEntry? { nil }
}
