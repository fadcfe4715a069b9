import CatalogFiles
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// The import of a file of the catalog: pasted or chosen, shown with every change, and then made, for the state that was shown.
struct ImportPage {
  /// Bytes of a file in the browser; longer ones are for the command line.
  static let maximumLength = ByteCount.mebibytes(1)
  private static let fields: Set = ["token", "format", "text", "content", "tag", "confirmed"]
  private static let catalog = Address.interface("catalog")

  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  /// The file as it was sent, and its form.
  private struct Sheet {
    var text: String
    var format: CatalogFile.Format
  }

  /// The result of looking at a file.
  private enum Look {
    /// Nothing was looked at.
    case nothing
    /// The changes that it would make, and the tag of the state that they are for.
    case plan(CatalogImportPlan, tag: String?)
    /// Faults with the lines that they are in; nil for the whole.
    case faults([(line: Int?, fault: String)])
    /// The interface refuses it.
    case problem(Problem)
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["notice"])
    return page(nil, .nothing)
  }

  /// Shows what the file would change, or changes it where that was seen.
  func take() async throws -> Outcome {
    var form = try MultipartForm(visit.request)
    var fields: [String: String] = [:]
    var file = ""
    let limit = Int(Self.maximumLength.rawValue)
    while let part = try await form.next() {
      guard part.fileName != nil || Self.fields.contains(part.name) else {
        throw Problem(.requestMalformed, "the form has no field \(part.name.prefix(40))")
      }
      // Base 64 of what may be sent.
      let text = try await form.text(upTo: part.name == "content" ? limit * 4 / 3 + 4 : limit)
      guard part.fileName == nil else {
        file = text
        continue
      }
      guard fields.updateValue(text, forKey: part.name) == nil else {
        throw Problem(.requestMalformed, "\(part.name) occurs more than once")
      }
    }
    guard SecretDigest(of: visit.visitor.formToken).matches(fields["token"]) else {
      throw Problem.foreignForm
    }
    // A browser sends a pasted text with other line breaks than it shows; a file comes as it is.
    var text = file.isEmpty ? (fields["text"] ?? "").replacing("\r\n", with: "\n") : file
    if let content = fields["content"] {
      guard let bytes = Base64.decode(content), let kept = String(validating: bytes, as: UTF8.self) else {
        throw Problem(.requestMalformed, "the content is no text in base 64")
      }
      text = kept
    }
    let sheet = Sheet(
      text: text, format: fields["format"].flatMap { CatalogFile.Format(rawValue: $0) } ?? .csv)
    return await take(sheet, tag: fields["confirmed"] == "yes" ? fields["tag"] : nil)
  }

  private func take(_ sheet: Sheet, tag: String?) async -> Outcome {
    let file: CatalogFile
    do throws(CatalogFileError) {
      file = try CatalogFile(Array(sheet.text.utf8), as: sheet.format)
    } catch {
      let faults = error.faults.map { fault in
        (line: Int?(fault.line), fault: (fault.member.map { "\($0): " } ?? "") + fault.detail)
      }
      return .again(page(sheet, .faults(faults)))
    }
    guard let tag else { return .again(page(sheet, await look(file))) }
    let result = await visit.reader.change(
      Self.catalog, with: file.catalog, from: tag, as: CatalogImportReport.self)
    switch result {
    case .success: return .done(.console("products"), .imported)
    case .failure(let problem) where problem.code == .preconditionFailed:
      let look = await look(file)
      // A form that was sent twice has done it before.
      if case .plan(let plan, _) = look, plan.report.created + plan.report.changed == 0 {
        return .done(.console("products"), .imported)
      }
      // What others have changed is in the preview that follows.
      return .again(page(sheet, look, isLate: true))
    case .failure(let problem): return .again(page(sheet, Self.refused(problem, file)))
    }
  }

  private func look(_ file: CatalogFile) async -> Look {
    let result = await visit.reader.change(
      Address(Self.catalog.segments + ["preview"]), with: file.catalog, as: CatalogImportPlan.self)
    switch result {
    case .success(let reading): return .plan(reading.value, tag: reading.tag)
    case .failure(let problem): return Self.refused(problem, file)
    }
  }

  /// The interface numbers the items of each list from 0, and an item begins its line.
  private static func refused(_ problem: Problem, _ file: CatalogFile) -> Look {
    guard problem.code == .catalogInvalid, let faults = problem.faults else { return .problem(problem) }
    return .faults(
      faults.map { fault in
        let parts = (fault.path ?? "").split(separator: ".", maxSplits: 2).map(String.init)
        guard parts.count == 3, let index = Int(parts[1]), index >= 0,
          let line = file.line(of: parts[0], index)
        else { return (line: nil, fault: "\(fault.path ?? ""): \(fault.detail)") }
        return (line: line, fault: "\(parts[2]): \(fault.detail)")
      })
  }

  private func page(_ sheet: Sheet?, _ look: Look, isLate: Bool = false) -> Page {
    var page = Page(
      words(.importCatalog), in: .products, reading: .interface("products"), command: "pullbox import FILE"
    ) {
      if isLate {
        element(.div, .look(.problem), .role(.alert)) { element(.p) { words(.importLate) } }
      }
      switch look {
      case .nothing: Markup.nothing
      case .problem(let problem): StepForm.refusal(problem, meanwhile: nil, visit)
      case .faults(let found): faults(found, sheet)
      case .plan(let plan, let tag): preview(plan, tag, sheet)
      }
      element(.p) { words(.importHint, words.bytes(Self.maximumLength)) }
      element(.form, .method(.post), .action(.console("import")), .multipart, .look(.stacked)) {
        element(.input, .input(.hidden), .name("token"), .value(visit.visitor.formToken))
        Parts.choice(
          words(.importFormat), "format", sheet?.format.rawValue ?? "csv",
          [("csv", words(.importCSV)), ("json", words(.importJSON))])
        Parts.field(words(.importFile), "file", nil, .file)
        Parts.text(
          words(.importText), "text", sheet?.text, hint: words(.importTextHint),
          limit: Int(Self.maximumLength.rawValue))
        element(.button) { words(.previewChanges) }
      }
    }
    switch look {
    case .problem(let problem): page.status = HTTPStatus(rawValue: problem.status)
    case .faults: page.status = .unprocessableContent
    default: page.status = isLate ? .preconditionFailed : .ok
    }
    return page
  }

  /// Each fault beside the line that it is in.
  private func faults(_ faults: [(line: Int?, fault: String)], _ sheet: Sheet?) -> Markup {
    let lines = (sheet?.text ?? "").split(separator: "\n", omittingEmptySubsequences: false)
    return element(.div, .look(.problem), .role(.alert)) {
      element(.p) { words(.importFaults) }
      Parts.table(
        words(.importFaults), [words(.line), words(.fault), words(.text)],
        faults.map { fault in
          let text = fault.line.flatMap { lines.indices.contains($0 - 1) ? lines[$0 - 1] : nil }
          return [
            .init(fault.line.map { words.number($0) } ?? ""), .init(Markup.foreign(fault.fault)),
            .init(text.map { Parts.name(String($0.prefix(200))) } ?? .nothing),
          ]
        })
    }
  }

  @MarkupBuilder
  private func preview(_ plan: CatalogImportPlan, _ tag: String?, _ sheet: Sheet?) -> Markup {
    element(.section) {
      element(.h2) { words(.changesToMake) }
      element(.p, .role(.status)) {
        words(
          .importCounts, words.number(plan.report.created), words.number(plan.report.changed),
          words.number(plan.report.unchanged))
      }
      if plan.hasMore { element(.p) { words(.importMore, words.number(plan.changes.count)) } }
      for change in plan.changes {
        Parts.table(
          "\(words(change.kind.phrase)) \(change.id)" + (change.isNew ? " (\(words(.isNew)))" : ""),
          [words(.field), words(.before), words(.after)],
          change.members.map { member in
            [
              .init(Parts.name(member.member)), .init(.foreign(member.old ?? "")),
              .init(.foreign(member.new ?? "")),
            ]
          })
      }
      if let sheet, let tag, plan.report.created + plan.report.changed > 0 {
        element(.form, .method(.post), .action(.console("import")), .multipart, .look(.fields)) {
          element(.input, .input(.hidden), .name("token"), .value(visit.visitor.formToken))
          element(.input, .input(.hidden), .name("format"), .value(sheet.format.rawValue))
          element(.input, .input(.hidden), .name("tag"), .value(tag))
          element(.input, .input(.hidden), .name("confirmed"), .value("yes"))
          element(
            .input, .input(.hidden), .name("content"), .value(Base64.encode(Array(sheet.text.utf8))))
          element(.button, .look(.button)) { words(.makeChanges) }
        }
      }
    }
  }
}

extension CatalogImportChange.Kind {
  var phrase: Phrase {
    switch self {
    case .product: .product
    case .publication: .publication
    case .priceTier: .priceTier
    }
  }
}
