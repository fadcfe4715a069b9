import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// A step that an operator may take about a version.
enum VersionStep: String, CaseIterable, Sendable {
  case submit, approve, reject, release, stop, withdraw

  var scope: OperatorScope {
    switch self {
    case .approve, .reject: .review
    case .submit, .release, .stop, .withdraw: .publish
    }
  }

  /// Whether it may be taken from there, as far as a page tells; the interface decides.
  func isPossible(for version: VersionRecord) -> Bool {
    switch self {
    case .submit: version.state == .draft || version.state == .rejected
    case .approve: version.state == .submitted
    case .reject: version.state == .submitted || version.state == .approved
    case .release:
      [.approved, .superseded].contains(version.state)
        || version.state == .released && version.percentage ?? 100 < 100
    case .stop: version.scheduled != nil
    case .withdraw: version.state == .released || version.state == .superseded
    }
  }

  var phrase: Phrase {
    switch self {
    case .submit: .submit
    case .approve: .approve
    case .reject: .reject
    case .release: .release
    case .stop: .cancelRelease
    case .withdraw: .withdraw
    }
  }

  var notice: Notice {
    switch self {
    case .submit: .submitted
    case .approve: .approved
    case .reject: .rejected
    case .release: .released
    case .stop: .releaseCancelled
    case .withdraw: .withdrawn
    }
  }
}

/// One version: where it stands, what it costs which devices, how its release goes, and what may be done about it.
struct VersionPage {
  let visit: Visit
  let product: String
  let version: String
  private var words: Words { visit.words }

  init(_ visit: Visit, product: String, version: String) {
    self.visit = visit
    self.product = product
    self.version = version
  }

  private var path: Address { .interface("products", product, "versions", version) }

  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["notice"])
    return await page(form: nil, problem: nil)
  }

  /// Takes a step, and shows the form again with what was typed where it is refused.
  func take(_ step: VersionStep, _ form: FormBody) async throws -> Outcome {
    do throws(Problem) {
      let result = try await change(step, form)
      switch result {
      case .success:
        let parts = form["page"] == "release" ? [product, version, "release"] : [product, version]
        return .done(Address(["console", "products"] + parts), step.notice)
      case .failure(let problem): throw problem
      }
    } catch {
      if let waiting = Outcome.waiting(error) { return waiting }
      return .again(await page(form: form, problem: error))
    }
  }

  private func change(
    _ step: VersionStep, _ form: FormBody
  ) async throws(Problem) -> Result<OperatorReader.Reading<VersionRecord>, Problem> {
    let (once, tag) = (form["once"], try StepForm.tag(of: form, words))
    let address = Address(path.segments + [step.rawValue])
    switch step {
    case .submit, .approve, .reject:
      return await visit.reader.change(
        address, with: ReasonBody(reason: form.text("reason")), once: once, from: tag)
    case .release:
      var request = ReleaseRequest()
      // An empty field is no share: the interface would take it for all devices.
      guard let share = form.text("percentage").flatMap({ Int($0) }) else {
        throw Problem(.requestMalformed, words(.shareHint))
      }
      request.percentage = share
      if let at = form.text("at") {
        guard let date = Timestamp(rfc3339: at.replacing(" ", with: "T") + ":00Z") else {
          throw Problem(.requestMalformed, words(.atHint))
        }
        request.at = date
      }
      return await visit.reader.change(address, with: request, once: once, from: tag)
    case .stop:
      return await visit.reader.change(
        Address(path.segments + ["release"]), by: .delete, with: EmptyForm(), once: once, from: tag)
    case .withdraw:
      guard form.text("typed") == "\(product) \(version)" else {
        throw Problem(.requestMalformed, words(.typedNameDiffers))
      }
      let request = WithdrawalRequest(
        reason: form.text("reason"), stopDownloads: form["stops"] == nil ? nil : true)
      return await visit.reader.change(address, with: request, once: once, from: tag)
    }
  }

  private func page(form: FormBody?, problem: Problem?) async -> Page {
    async let found = visit.reader.get(path, as: VersionRecord.self)
    async let sizes = visit.get(Address(path.segments + ["costs"]), as: UpdateSizes.self)
    async let under = visit.get(
      .interface(
        "deliveries",
        query: [("product", product), ("version", version), ("state", "granted"), ("limit", "200")]),
      as: PullboxAPI.Page<OperatorGrant>.self)
    async let course = visit.get(Address(path.segments + ["course"]), as: ReleaseCourse.self)
    async let changes = visit.get(
      .interface("audit", query: [("product", product), ("version", version), ("limit", "50")]),
      as: PullboxAPI.Page<AuditEntry>.self)
    let (record, costs, fetching, curve, audit) = await (found, sizes, under, course, changes)
    var page = Page(
      words(.versionNamed, product, version), in: .products, reading: path,
      command: "pullbox versions \(shellWord(product))"
    ) {
      if let problem {
        StepForm.refusal(problem, meanwhile: (try? record.get())?.value.history?.first, visit)
      }
      switch record {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let reading):
        facts(reading.value)
        steps(reading, costs: costs, fetching: fetching, form: form)
        Parts.section(words(.updateSizes), costs, words) { self.sizes($0) }
        Parts.section(words(.course), curve, words) { course in
          CourseChart(course: course, now: visit.now, words: words).markup
          element(.p) {
            Parts.link(.console("products", product, version, "release"), words(.releaseMore))
          }
        }
        element(.p) {
          Parts.link(.console("products", product, version, "pages"), words(.pagesLook))
        }
        pictures(reading.value)
        Parts.section(words(.history), audit, words) { StepForm.history($0.items, visit) }
      }
    }
    switch (record, problem) {
    case (.failure(let problem), _), (_, let problem?): page.status = HTTPStatus(rawValue: problem.status)
    default: break
    }
    return page
  }

  private func facts(_ record: VersionRecord) -> Markup {
    Parts.fields([
      (words(.product), Parts.link(.console("products", product), product)),
      (words(.state), Parts.state(words(record.state.phrase), record.state.look)),
      (words(.releasedTo), record.percentage.map { Markup(words.percent($0)) }),
      (
        words(.scheduled),
        record.scheduled.map {
          Markup([Parts.time($0.at, words), Markup(", \(words.percent($0.percentage)), "), .foreign($0.by)])
        }
      ),
      (words(.reason), record.reason.map { .foreign($0) }),
      (words(.downloadsStopped), record.downloadsStopped == true ? Markup(words(.mayBeHad)) : nil),
      (words(.size), Markup("\(words.bytes(record.length)), \(words(.filesOf, words.number(record.files)))")),
      (words(.created), Parts.time(record.created, words)),
      (words(.released), record.released.map { Parts.time($0, words) }),
      (words(.submittedBy), record.submittedBy.map { .foreign($0) }),
      (words(.approvedBy), record.approvedBy.map { .foreign($0) }),
      (words(.digest), Parts.name("\(record.digest)")),
    ])
  }

  private func steps(
    _ reading: OperatorReader.Reading<VersionRecord>, costs: Result<UpdateSizes, Problem>,
    fetching: Result<PullboxAPI.Page<OperatorGrant>, Problem>, form: FormBody?
  ) -> Markup {
    let possible = VersionStep.allCases.filter { visit.may($0.scope) && $0.isPossible(for: reading.value) }
    guard !possible.isEmpty else { return .nothing }
    return element(.section) {
      element(.h2) { words(.nextStep) }
      for step in possible {
        Layout.form(.console("products", product, version, step.rawValue), visit) {
          StepForm.hidden(reading.tag)
          switch step {
          case .submit, .approve, .stop: Markup.nothing
          case .reject:
            Parts.field(words(.reason), "reason", form?["reason"], attributes: [.maximumLength(500)])
          case .release: release(form, costs)
          case .withdraw: withdrawal(form, costs, fetching)
          }
          element(.button, .look(step == .withdraw || step == .reject ? .danger : .button)) {
            words(step.phrase)
          }
        }
      }
    }
  }

  @MarkupBuilder
  private func release(_ form: FormBody?, _ costs: Result<UpdateSizes, Problem>) -> Markup {
    if case .success(let sizes) = costs {
      let devices = sizes.holders.filter { $0.version != sizes.version }.reduce(0) { $0 + $1.devicesReached }
      element(.p) { words(.releaseConsequence, words.number(devices), words.bytes(sizes.bytesToFetch)) }
    }
    Parts.field(
      words(.share), "percentage", form?["percentage"] ?? "100", .number, hint: words(.shareHint),
      isRequired: true, attributes: Attribute.range(1...100))
    Parts.field(words(.releaseAt), "at", form?["at"], hint: words(.atHint))
  }

  @MarkupBuilder
  private func withdrawal(
    _ form: FormBody?, _ costs: Result<UpdateSizes, Problem>,
    _ fetching: Result<PullboxAPI.Page<OperatorGrant>, Problem>
  ) -> Markup {
    element(.p) { words(.withdrawConsequence, holders(costs), waiting(fetching)) }
    Parts.field(words(.reason), "reason", form?["reason"], attributes: [.maximumLength(500)])
    element(.div, .look(.field)) {
      element(.label) {
        element(.input, .input(.checkbox), .name("stops"), .value("yes"))
        " " + words(.stopDownloads)
      }
    }
    Parts.field(
      words(.typeName, "\(product) \(version)"), "typed", nil, attributes: [.autocomplete(.off)])
  }

  private func holders(_ costs: Result<UpdateSizes, Problem>) -> String {
    guard case .success(let sizes) = costs else { return "?" }
    return words.number(sizes.holders.filter { $0.version == sizes.version }.reduce(0) { $0 + $1.devices })
  }

  private func waiting(_ fetching: Result<PullboxAPI.Page<OperatorGrant>, Problem>) -> String {
    guard case .success(let page) = fetching else { return "?" }
    return words.number(page.items.count) + (page.next == nil ? "" : "+")
  }

  private func sizes(_ sizes: UpdateSizes) -> Markup {
    guard !sizes.holders.isEmpty else { return element(.p) { words(.noHolders, words.bytes(sizes.length)) } }
    return Parts.table(
      words(.updateSizes),
      [
        words(.heldVersion), words(.devices), words(.toFetchEach), words(.filesChanged), words(.filesAdded),
        words(.filesRemoved),
      ],
      sizes.holders.map { holder in
        [
          .init(Parts.link(.console("products", product, "\(holder.version)"), "\(holder.version)")),
          .numeric(words.number(holder.devices)), .numeric(words.bytes(holder.bytesToFetch)),
          .numeric(words.number(holder.filesChanged)), .numeric(words.number(holder.filesAdded)),
          .numeric(words.number(holder.filesRemoved)),
        ]
      })
  }

  /// The pictures that everyone may see: they are there once the version is released.
  @MarkupBuilder
  private func pictures(_ record: VersionRecord) -> Markup {
    if [.released, .superseded].contains(record.state) {
      element(.section) {
        element(.h2) { words(.pictures) }
        element(
          .img,
          with: [
            .source(
              Address(
                ["console", "pictures", product, "cover"], query: [("version", version), ("width", "320")])),
            .alternative(words(.coverOf, "\(product) \(version)")), .look(.cover), .lazy,
          ] + Attribute.size(width: 160, height: 240))
      }
    }
  }
}
