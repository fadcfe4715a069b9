import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// The stored packages: which are damaged, what a collection would remove, and which uploads were left.
struct HousePage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["notice"])
    return await page(problem: nil)
  }

  /// Reads all packages again.
  func scrub() async -> Outcome {
    let result = await visit.reader.change(
      .interface("scrub"), with: EmptyForm(), as: PackageScrubReport.self)
    switch result {
    case .success: return .done(.console("house"), .scrubbing)
    case .failure(let problem): return .again(await page(problem: problem))
    }
  }

  /// Removes what nothing needs.
  func collect() async -> Outcome {
    let result = await visit.reader.change(
      .interface("collection"), with: GarbageCollectionRequest(), as: GarbageCollectionReport.self)
    switch result {
    case .success: return .done(.console("house"), .collected)
    case .failure(let problem): return .again(await page(problem: problem))
    }
  }

  private func page(problem: Problem?) async -> Page {
    async let report = visit.get(.interface("scrub"), as: PackageScrubReport.self)
    async let list = visit.get(
      .interface("uploads", query: [("limit", "100")]), as: PullboxAPI.Page<UploadRecord>.self)
    async let status = visit.get(.interface("server"), as: ServerStatus.self)
    let (scrub, uploads, server) = await (report, list, status)
    let plan: Result<GarbageCollectionReport, Problem>? =
      visit.may(.admin)
      ? await visit.reader.change(
        .interface("collection"), with: GarbageCollectionRequest(dryRun: true),
        as: GarbageCollectionReport.self
      ).map(\.value) : nil
    let configuration =
      visit.may(.admin)
      ? await visit.get(.interface("configuration"), as: OperatorConfiguration.self) : nil
    var page = Page(
      words(.house), in: .house, reading: .interface("scrub"), command: "pullbox scrub; pullbox gc"
    ) {
      if let problem { StepForm.refusal(problem, meanwhile: nil, visit) }
      Parts.section(words(.server), server, words) { facts($0) }
      Parts.section(words(.packages), scrub, words) { packages($0) }
      if let plan { Parts.section(words(.collection), plan, words) { collection($0) } }
      Parts.section(words(.uploadsLeft), uploads, words) { self.uploads($0.items) }
      if let configuration {
        Parts.section(words(.configurationInEffect), configuration, words) { settings($0.settings) }
      }
    }
    if let problem { page.status = HTTPStatus(rawValue: problem.status) }
    return page
  }

  private func facts(_ status: ServerStatus) -> Markup {
    Parts.fields([
      (words(.program), Markup(status.version)), (words(.node), .foreign(status.node)),
      (words(.started), Parts.age(of: status.started, visit)),
      (
        words(.room),
        status.room.map { Markup(words(.freeOf, words.bytes($0.free), words.bytes($0.size))) }
      ),
      (
        words(.lastBackup),
        status.backup.map {
          Markup([
            Parts.age(of: $0.made, visit), Markup(", \(words.bytes($0.length)), "), Parts.name($0.generation),
          ])
        } ?? Markup(words(.neverBackedUp))
      ),
      (words(.certificateEnds), status.certificateExpires.map { Parts.time($0, words) }),
    ])
  }

  @MarkupBuilder
  private func packages(_ report: PackageScrubReport) -> Markup {
    element(.p) { words(.packagesRead, words.number(report.packages), words.number(report.waiting)) }
    if report.faults.isEmpty {
      element(.p) { Parts.state(words(.allWhole), .good) }
    } else {
      Parts.table(
        words(.damagedPackages), [words(.digest), words(.fault), words(.when)],
        report.faults.map { item in
          [
            .init(Parts.name("\(item.digest)")), .init(Parts.state(words(item.fault.phrase), .bad)),
            .init(Parts.time(item.checked, words)),
          ]
        })
    }
    if visit.may(.admin) {
      Layout.form(.console("house", "scrub"), visit) {
        element(.button) { words(.scrubNow) }
      }
    }
  }

  @MarkupBuilder
  private func collection(_ plan: GarbageCollectionReport) -> Markup {
    element(.p) {
      words(
        .collectionPlan, words.number(plan.blobs.count), words.number(plan.uploads.count),
        words.bytes(plan.bytes),
        words.number(plan.waiting.count))
    }
    if !plan.blobs.isEmpty || !plan.uploads.isEmpty {
      Layout.form(.console("house", "collect"), visit) {
        element(.button, .look(.danger)) { words(.collectNow) }
      }
    }
  }

  /// The keys that are set, and then how many are not.
  @MarkupBuilder
  private func settings(_ settings: [OperatorConfiguration.Setting]) -> Markup {
    let (set, count) = (settings.filter { $0.origin != nil }, settings.count { $0.origin == nil })
    Parts.table(
      words(.configurationInEffect), [words(.configurationKey), words(.value), words(.origin)],
      set.map { setting in
        [
          .init(Parts.name(setting.key)),
          .init(
            Markup([
              setting.value.map { Parts.name($0) } ?? Markup(words(.secretSet)),
              setting.waitsForRestart
                ? Markup([Markup(" "), Parts.state(words(.waitsForRestart), .waiting)]) : .nothing,
            ])),
          .init(setting.place.map { Parts.name($0) } ?? Markup(words(.originDefault))),
        ]
      })
    element(.p) { words(.keysNotSet, words.number(count)) }
    element(.p) {
      Parts.link(Layout.json(.interface("configuration")), words(.asJSON))
      "; "
      element(.code, .notTranslated) { "pullbox-server --print-config" }
    }
  }

  private func uploads(_ uploads: [UploadRecord]) -> Markup {
    guard !uploads.isEmpty else { return element(.p) { words(.noUploads) } }
    return Parts.table(
      words(.uploadsLeft), [words(.file), words(.actor), words(.arrived), words(.begun), words(.forgotten)],
      uploads.map { upload in
        [
          .init(Markup.foreign(upload.name ?? upload.upload)), .init(.foreign(upload.owner)),
          .numeric("\(words.bytes(upload.offset)) / \(upload.length.map { words.bytes($0) } ?? "?")"),
          .init(Parts.time(upload.created, words)), .init(Parts.time(upload.expires, words)),
        ]
      })
  }
}

extension PackageFault {
  var phrase: Phrase { self == .missing ? .faultMissing : .faultDamaged }
}
