import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIServer
import RouteAccess
import ServiceAPI

/// The page of today: what has to be looked at, the worst first, and what the last day and month were like.
struct TodayPage {
  private let visit: Visit
  private var words: Words { visit.words }

  init(_ visit: Visit) {
    self.visit = visit
  }

  /// One thing to be done: how bad it is, why, and where it is done.
  private struct Task {
    var isBad: Bool
    var reason: String
    var address: Address
    var step: Phrase
  }

  /// The readings, each by itself: what cannot be read is said so, and the rest is shown.
  private struct Readings: Sendable {
    var stores: Result<StoreStatuses, Problem>
    var server: Result<ServerStatus, Problem>
    var scrub: Result<PackageScrubReport, Problem>
    var irregularities: Result<PullboxAPI.Page<Irregularity>, Problem>
    var submittedProducts: Result<PullboxAPI.Page<OperatorProduct>, Problem>
    var submittedVersions: Result<PullboxAPI.Page<OperatorProduct>, Problem>
    var pauses: Result<[PausedRelease], Problem>
    var approvals: Result<PullboxAPI.Page<Approval>, Problem>
    var sales: Result<SalesReport, Problem>
    var day: Result<DeliverySums, Problem>
    var month: Result<DeliverySums, Problem>
  }

  /// A release that paused itself, and for which nothing was done yet.
  private struct PausedRelease: Sendable {
    /// The product and the version, as the audit log names them.
    var subject: String
    var address: Address
  }

  private static let day: Duration = .seconds(86_400)
  /// A pause that is older has been seen.
  private static let pauseDays: Int64 = 90
  private static let pauseLimit = "20"
  /// Pages of pauses that are looked at, at most: what was dealt with may stand before what was not.
  private static let pausePages = 10
  /// Once so many are found that stand, no more are looked for.
  private static let pausesShown = 20
  /// Entries of a list that are looked at, at most.
  private static let limit = "200"

  func page() async throws -> Page {
    try visit.request.requireQuery(only: ["notice"])
    let readings = await read()
    let tasks = tasks(readings)
    let failures = failures(readings)
    return Page(
      words(.today), in: .today, reading: .interface("stores"), command: "pullbox stores"
    ) {
      Parts.live(visit) {
        element(.section, .labeled(by: "tasks")) {
          element(.h2, .id("tasks")) { words(.needsAttention) }
          for (name, problem) in failures { unknown(name, problem) }
          if tasks.isEmpty {
            element(.p) { words(failures.isEmpty ? .nothingToDo : .nothingKnownToDo) }
          } else {
            element(.ul, .look(.tasks)) {
              for task in tasks {
                element(.li, .look(.task, task.isBad ? .bad : .waiting)) {
                  element(.p) {
                    element(.strong) { words(task.isBad ? .urgent : .waits) + ": " }
                    Markup.foreign(task.reason)
                  }
                  element(.a, .href(task.address), .look(.button, .quiet)) { words(task.step) }
                }
              }
            }
          }
        }
        figures(readings)
      }
    }
  }

  private func read() async -> Readings {
    let month = words.isoDay(visit.now - .seconds(29 * 86_400))
    async let stores = visit.get(.interface("stores"), as: StoreStatuses.self)
    async let server = visit.get(.interface("server"), as: ServerStatus.self)
    async let scrub = visit.get(.interface("scrub"), as: PackageScrubReport.self)
    async let irregularities = visit.get(
      .interface("irregularities", query: [("limit", Self.limit)]), as: PullboxAPI.Page<Irregularity>.self)
    async let products = visit.get(
      .interface("products", query: [("sale", SaleState.submitted.rawValue), ("limit", Self.limit)]),
      as: PullboxAPI.Page<OperatorProduct>.self)
    async let versions = visit.get(
      .interface("products", query: [("state", VersionState.submitted.rawValue), ("limit", Self.limit)]),
      as: PullboxAPI.Page<OperatorProduct>.self)
    async let pauses = pausedReleases()
    async let approvals = visit.get(
      .interface("approvals", query: [("state", "waiting"), ("limit", Self.limit)]),
      as: PullboxAPI.Page<Approval>.self)
    async let sales = visit.get(
      .interface("reports", query: [("by", "day"), ("from", month), ("only", "units")]), as: SalesReport.self)
    async let day = sums(of: Self.day)
    async let thirtyDays = sums(of: Self.day * 30)
    return await Readings(
      stores: stores, server: server, scrub: scrub, irregularities: irregularities,
      submittedProducts: products,
      submittedVersions: versions, pauses: pauses, approvals: approvals, sales: sales, day: day,
      month: thirtyDays)
  }

  private func sums(of time: Duration) async -> Result<DeliverySums, Problem> {
    await visit.get(.interface("deliveries", "sums", query: [("since", (visit.now - time).rfc3339)]))
  }

  /// The releases that paused themselves within ``pauseDays``, the latest first, without those that were released again, were withdrawn, or
  /// that a later release has taken the place of.
  private func pausedReleases() async -> Result<[PausedRelease], Problem> {
    let since = visit.now - .seconds(Self.pauseDays * 86_400)
    var known: Set<String> = []
    var standing: [PausedRelease] = []
    var after: String?
    for _ in 0..<Self.pausePages {
      let found = await visit.get(
        .interface(
          "audit",
          query: [
            ("action", "version.pause"), ("since", since.rfc3339), ("limit", Self.pauseLimit),
            ("after", after),
          ]), as: PullboxAPI.Page<AuditEntry>.self)
      switch found {
      case .failure(let problem): return .failure(problem)
      case .success(let page):
        standing += await pausedReleases(page.items.filter { known.insert($0.subject).inserted })
        after = page.next
      }
      if after == nil || standing.count >= Self.pausesShown { break }
    }
    return .success(standing)
  }

  /// Those of the pauses that stand, in their order.
  private func pausedReleases(_ pauses: [AuditEntry]) async -> [PausedRelease] {
    let standing = await withTaskGroup(of: (Int, Bool).self) { group in
      for (index, entry) in pauses.enumerated() { group.addTask { (index, await stands(entry)) } }
      return await group.reduce(into: [Int: Bool]()) { $0[$1.0] = $1.1 }
    }
    return pauses.enumerated().filter { standing[$0.offset] == true }.map { _, entry in
      let parts = entry.subject.split(separator: " ").map(String.init)
      return PausedRelease(
        subject: entry.subject,
        address: parts.count == 2 ? .console("products", parts[0], parts[1]) : .console("products"))
    }
  }

  /// Whether the version stands as its pause has left it, and no other one was released since. A pause of which that is not known stands.
  private func stands(_ pause: AuditEntry) async -> Bool {
    let parts = pause.subject.split(separator: " ").map(String.init)
    guard parts.count == 2 else { return false }
    switch await visit.get(.interface("products", parts[0]), as: OperatorProduct.self) {
    case .failure(let problem): return problem.code != .productUnknown
    case .success(let product):
      // Of many versions the newest are listed, and those that are released always.
      guard let version = product.versions.first(where: { "\($0.version)" == parts[1] }) else { return false }
      return version.state == .superseded && version.reason != nil
        && !product.versions.contains { other in
          other.state == .released && other.released.map { $0 > pause.at } == true
        }
    }
  }

  /// The readings that failed, by the names of what they are about.
  private func failures(_ readings: Readings) -> [(String, Problem)] {
    func problem<Value>(_ name: Phrase, _ reading: Result<Value, Problem>) -> (String, Problem)? {
      guard case .failure(let problem) = reading else { return nil }
      return (words(name), problem)
    }
    return [
      problem(.stores, readings.stores), problem(.server, readings.server),
      problem(.packages, readings.scrub),
      problem(.irregularPurchases, readings.irregularities),
      problem(.products, readings.submittedProducts), problem(.versions, readings.submittedVersions),
      problem(.audit, readings.pauses), problem(.approvals, readings.approvals),
    ].compactMap { $0 }
  }

  private func tasks(_ readings: Readings) -> [Task] {
    var tasks: [Task] = []
    if case .success(let statuses) = readings.stores {
      for store in statuses.stores { tasks += self.tasks(of: store) }
    }
    if case .success(let status) = readings.server { tasks += self.tasks(of: status) }
    if case .success(let report) = readings.scrub, !report.faults.isEmpty {
      tasks.append(
        Task(
          isBad: true, reason: words(.packagesDamaged, words.number(report.faults.count)),
          address: .console("house"), step: .look))
    }
    if case .success(let paused) = readings.pauses {
      tasks += paused.map { release in
        Task(
          isBad: true, reason: words(.releasePaused, release.subject), address: release.address, step: .look)
      }
    }
    if case .success(let page) = readings.approvals {
      for approval in page.items where approval.state == .waiting {
        let isOwn = approval.askedBy == visit.visitor.holder.name
        tasks.append(
          Task(
            isBad: false,
            reason: words(
              .approvalWaits, approval.askedBy, words.step(approval.action), approval.subject),
            address: .console("approvals", "\(approval.id)"), step: isOwn ? .look : .approveOrDecline))
      }
    }
    if case .success(let page) = readings.submittedVersions {
      for product in page.items {
        for version in product.versions where version.state == .submitted {
          tasks.append(
            Task(
              isBad: false,
              reason: words(.versionWaits, product.title(visit.visitor.language), "\(version.version)"),
              address: .console("products", "\(product.product.id)", "\(version.version)"), step: .review))
        }
      }
    }
    if case .success(let page) = readings.submittedProducts {
      tasks += page.items.map { product in
        Task(
          isBad: false, reason: words(.productWaits, product.title(visit.visitor.language)),
          address: .console("products", "\(product.product.id)"), step: .review)
      }
    }
    if case .success(let page) = readings.irregularities {
      let recent = page.items.filter { visit.now - $0.lastSeen < Self.day * 7 }
      for kind in Irregularity.Kind.known {
        let cases = recent.filter { $0.kind == kind }
        guard let first = cases.first else { continue }
        tasks.append(
          Task(
            isBad: false, reason: words(kind.phrase, words.number(cases.count)),
            address: .console("customers", query: [("transaction", first.transaction.description)]),
            step: .look))
      }
    }
    return tasks.filter(\.isBad) + tasks.filter { !$0.isBad }
  }

  private func tasks(of status: ServerStatus) -> [Task] {
    var tasks: [Task] = []
    if let room = status.room, room.free.rawValue < room.size.rawValue / 10 {
      tasks.append(
        Task(
          isBad: true, reason: words(.diskFilling, words.bytes(room.free), words.bytes(room.size)),
          address: .console("house"), step: .look))
    }
    if let end = status.certificateExpires, end - visit.now < Self.day * 14 {
      tasks.append(
        Task(
          isBad: true, reason: words(.certificateEnding, words.moment(end)), address: .console("house"),
          step: .look))
    }
    // A server of today has nothing that a backup would have.
    if visit.now - (status.backup?.made ?? status.started) > Self.day * 2 {
      let last = status.backup.map { words.moment($0.made) } ?? words(.neverBackedUp)
      tasks.append(
        Task(isBad: false, reason: words(.backupOld, last), address: .console("house"), step: .look))
    }
    return tasks
  }

  private func tasks(of store: StoreStatus) -> [Task] {
    var tasks: [Task] = []
    if !store.isReachable {
      let since = store.lastAnswer.map { words.moment($0) } ?? words(.sinceStart)
      tasks.append(
        Task(
          isBad: true, reason: words(.storeAway, store.name, since), address: .console("stores"), step: .look)
      )
    }
    if let urgent = store.unacknowledgedUrgent, urgent > 0 {
      tasks.append(
        Task(
          isBad: true, reason: words(.unacknowledged, words.number(urgent), store.name),
          address: .console("stores"), step: .look))
    }
    if store.callsParked > 0 {
      tasks.append(
        Task(
          isBad: true, reason: words(.callsParked, words.number(store.callsParked), store.name),
          address: .console("stores", query: [("state", "parked"), ("store", store.name)]), step: .decide))
    }
    return tasks
  }

  private func figures(_ readings: Readings) -> Markup {
    element(.section) {
      element(.h2) { words(.lastDayAndMonth) }
      element(.dl, .look(.figures)) {
        if case .success(let sums) = readings.day {
          figure(words(.grantsOfDay), words.number(sums.grants))
          figure(words(.bytesOfDay), words.bytes(sums.bytesDelivered))
        }
        if case .success(let sums) = readings.month {
          figure(words(.grantsOfMonth), words.number(sums.grants))
          figure(words(.bytesOfMonth), words.bytes(sums.bytesDelivered))
        }
        if case .success(let report) = readings.sales {
          figure(words(.salesOfDay), words.number(units(today: report)))
          figure(words(.salesOfMonth), words.number(report.rows.reduce(0) { $0 + $1.units }))
        }
      }
      if case .failure(let problem) = readings.day {
        unknown("\(words(.grantsOfDay)), \(words(.bytesOfDay))", problem)
      }
      if case .failure(let problem) = readings.month {
        unknown("\(words(.grantsOfMonth)), \(words(.bytesOfMonth))", problem)
      }
      switch readings.sales {
      case .failure(let problem): Parts.problem(problem, words)
      case .success(let report): SalesChart(report: report, words: words).markup
      }
    }
  }

  /// A part that could not be read, by its name, and why.
  private func unknown(_ name: String, _ problem: Problem) -> Markup {
    element(.div, .look(.problem)) {
      element(.p) {
        words(.unknownPart, name) + " "
        Parts.refusal(problem, words)
      }
    }
  }

  /// A day on which nothing was sold has no row.
  private func units(today report: SalesReport) -> Int {
    let today = words.isoDay(visit.now)
    return report.rows.filter { $0.day == today }.reduce(0) { $0 + $1.units }
  }

  private func figure(_ name: String, _ value: String) -> Markup {
    element(.div, .look(.figure)) {
      element(.dt) { name }
      element(.dd) { value }
    }
  }
}

extension Irregularity.Kind {
  /// The sentence of the kind, with a place for the number of cases.
  var phrase: Phrase {
    switch self {
    case .manyDevices: .manyDevices
    case .manyPayers: .manyPayers
    case .namedByMany: .namedByMany
    case .otherAccount: .otherAccount
    default: .otherIrregularity
    }
  }
}

extension OperatorProduct {
  /// The title in that language, else in any, else the product's name.
  func title(_ language: Language) -> String {
    product.localizations.title(language) ?? product.id.description
  }
}

extension [String: Product.Localization] {
  /// The title in that language, else the first by tag; nil without any.
  func title(_ language: Language) -> String? {
    let own = keys.filter { $0.lowercased().hasPrefix(language.rawValue) }.min()
    return (own ?? keys.min()).flatMap { self[$0]?.title }
  }
}
