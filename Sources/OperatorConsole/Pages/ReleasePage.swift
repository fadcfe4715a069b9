import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI

/// One release: the devices that have it, what fails and why, when it pauses itself, and the steps on and back.
struct ReleasePage {
  private let visit: Visit
  private let product: String
  private let version: String
  private var words: Words { visit.words }

  init(_ visit: Visit, product: String, version: String) {
    self.visit = visit
    self.product = product
    self.version = version
  }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["notice"])
    let path = Address.interface("products", product, "versions", version)
    let reading = Address(path.segments + ["course"])
    async let record = visit.reader.get(path, as: VersionRecord.self)
    async let course = visit.get(reading, as: ReleaseCourse.self)
    async let failures = visit.get(
      .interface("deliveries", "failures", query: [("product", product), ("version", version)]),
      as: DeliveryFailures.self)
    let (found, spread, failing) = await (record, course, failures)
    let earlier = await earlierVersion()
    var page = Page(
      words(.releaseNamed, product, version), in: .products, reading: reading,
      command: "pullbox versions \(shellWord(product)) \(shellWord(version))"
    ) {
      switch found {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let version): facts(version.value)
      }
      Parts.section(words(.course), spread, words) {
        CourseChart(course: $0, now: visit.now, words: words).markup
      }
      Parts.section(words(.failures), failing, words) { failures in
        FailureTable(
          failures: failures, visit: visit,
          list: .console("deliveries", query: [("product", product), ("version", version)])
        ).markup
      }
      Parts.section(words(.pausing), spread, words) { pausing($0) }
      if visit.may(.publish), case .success(let version) = found { steps(version, back: earlier) }
    }
    if case .failure(let problem) = found { page.status = HTTPStatus(rawValue: problem.status) }
    return page
  }

  /// The version that devices get again when this one goes back: the one that all others have, else the one that was released last.
  private func earlierVersion() async -> OperatorReader.Reading<VersionRecord>? {
    let list = await visit.get(
      .interface("products", product, "versions", query: [("limit", "200")]),
      as: PullboxAPI.Page<VersionRecord>.self)
    guard case .success(let page) = list else { return nil }
    let others = page.items.filter { "\($0.version)" != version }
    let candidate =
      others.first { $0.state == .released && $0.percentage == 100 }
      ?? others.filter { $0.state == .superseded && $0.released != nil }
      .max { ($0.released ?? $0.created) < ($1.released ?? $1.created) }
    guard let candidate else { return nil }
    return try? await visit.reader.get(
      .interface("products", product, "versions", "\(candidate.version)"), as: VersionRecord.self
    ).get()
  }

  private func facts(_ record: VersionRecord) -> Markup {
    Parts.fields([
      (words(.product), Parts.link(.console("products", product), product)),
      (words(.version), Parts.link(.console("products", product, version), version)),
      (words(.state), Parts.state(words(record.state.phrase), record.state.look)),
      (words(.releasedTo), record.percentage.map { Markup(words.percent($0)) }),
      (words(.scheduled), record.scheduled.map { Parts.time($0.at, words) }),
      (words(.reason), record.reason.map { .foreign($0) }),
      (words(.released), record.released.map { Parts.time($0, words) }),
    ])
  }

  @MarkupBuilder
  private func pausing(_ course: ReleaseCourse) -> Markup {
    if let share = course.pausesAbove, let from = course.pausesFrom {
      element(.p) { words(.pauseRule, words.percent(share), words.number(from)) }
      element(.p) {
        words(.pauseStanding, words.number(course.failed), words.number(course.failed + course.verified))
      }
    } else {
      element(.p) { words(.neverPauses) }
    }
  }

  @MarkupBuilder
  private func steps(
    _ reading: OperatorReader.Reading<VersionRecord>, back earlier: OperatorReader.Reading<VersionRecord>?
  ) -> Markup {
    let isRollout = reading.value.state == .released && reading.value.percentage ?? 100 < 100
    if isRollout {
      element(.section) {
        element(.h2) { words(.raiseShare) }
        form(version, reading.tag) {
          Parts.field(
            words(.share), "percentage", "\(min(100, (reading.value.percentage ?? 100) * 2))", .number,
            hint: words(.shareHint), isRequired: true, attributes: Attribute.range(1...100))
          element(.button, .look(.button)) { words(.release) }
        }
      }
    }
    if reading.value.state == .released, let earlier {
      element(.section) {
        element(.h2) { words(.goBack) }
        element(.p) { words(.goBackConsequence, "\(earlier.value.version)", version) }
        form("\(earlier.value.version)", earlier.tag) {
          element(.input, .input(.hidden), .name("percentage"), .value("100"))
          element(.button, .look(.danger)) { words(.goBackTo, "\(earlier.value.version)") }
        }
      }
    }
  }

  private func form(
    _ version: String, _ tag: String?, @MarkupBuilder _ content: () -> Markup
  ) -> Markup {
    Layout.form(.console("products", product, version, "release"), visit) {
      StepForm.hidden(tag)
      element(.input, .input(.hidden), .name("page"), .value("release"))
      content()
    }
  }
}
