import HTTPServer
import PullboxAPI

/// The form in which something is edited, and the preview of every change before it is made.
struct EditForm {
  let visit: Visit
  /// Where the form is sent.
  let action: Address
  /// Whether there are texts, to which a language may be added.
  let texts: Bool
  private var words: Words { visit.words }

  init(_ visit: Visit, action: Address, hasTexts: Bool = true) {
    self.visit = visit
    self.action = action
    texts = hasTexts
  }

  /// The fields of a new language.
  private static let added = ["language", "newtitle", "newdescription"]

  /// The form with its fields, or what was typed into them, each with what `problem` says of it.
  func form(
    _ fields: EditedFields, tag: String?, typed: FormBody?, problem: Problem? = nil
  ) -> Markup {
    func fault(_ name: String) -> String? { problem?.faults?.first { $0.path == name }?.detail }
    return Layout.form(action, visit, look: .stacked) {
      hidden(tag)
      for field in fields.fields {
        let value = (typed?[field.name] ?? field.value).replacing("\r\n", with: "\n")
        element(.input, .input(.hidden), .name(field.shownName), .value(field.shownDigest))
        if field.isLong {
          Parts.text(
            field.label, field.name, value, hint: field.hint, problem: fault(field.name), limit: 20_000)
        } else if !field.options.isEmpty {
          Parts.choice(
            field.label, field.name, value, field.options.map { ($0.value, $0.text) }, hint: field.hint,
            problem: fault(field.name))
        } else {
          Parts.field(field.label, field.name, value, hint: field.hint, problem: fault(field.name))
        }
      }
      if texts {
        Parts.field(words(.newLanguage), "language", typed?["language"], hint: words(.newLanguageHint))
        Parts.field(words(.newTitle), "newtitle", typed?["newtitle"], problem: fault("newtitle"))
        Parts.text(words(.newDescription), "newdescription", typed?["newdescription"], limit: 20_000)
      }
      element(.button) { words(.previewChanges) }
    }
  }

  /// The changes that a form would make, and the button that does it. What was typed goes with it.
  func preview(
    _ changes: [EditedFields.Change], of fields: EditedFields, tag: String?, typed: FormBody
  ) -> Markup {
    guard !changes.isEmpty else { return element(.p, .role(.status)) { words(.nothingChanges) } }
    return element(.section) {
      element(.h2) { words(.changesToMake) }
      Parts.table(
        words(.changesToMake), [words(.field), words(.before), words(.after)],
        changes.map { [.init($0.label), .init(.foreign($0.before)), .init(.foreign($0.after))] })
      Layout.form(action, visit) {
        hidden(tag)
        element(.input, .input(.hidden), .name("confirmed"), .value("yes"))
        for name in fields.fields.map(\.name) + (texts ? Self.added : []) {
          if let value = typed[name] { element(.input, .input(.hidden), .name(name), .value(value)) }
        }
        element(.button, .look(.button)) { words(.makeChanges) }
      }
    }
  }

  @MarkupBuilder
  private func hidden(_ tag: String?) -> Markup {
    if let tag { element(.input, .input(.hidden), .name("tag"), .value(tag)) }
  }
}
