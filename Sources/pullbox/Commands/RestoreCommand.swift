import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import ServiceRuntime

/// `restore [ID…]`: has the agent download what is owned and not here. A product that is given and not owned
/// fails, and nothing is started then.
enum RestoreCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "restore", summary: "Download again what was bought and is not on this device",
    discussion: """
      Without ID, every owned product is restored. --plan shows the owned products and \
      what would be done about each; with --latest it shows only those that would be \
      downloaded. With --wait the command ends when all downloads have ended, also those \
      that ran before.
      """,
    operands: [.init("ID", isRequired: false, repeats: true)],
    options: [
      .flag("plan", environment: .none, help: "Only show what is owned, and what would be downloaded"),
      .value(
        "latest", "N", environment: .none, help: "Only the N issues that appeared last, the newest first"),
      .waits, .timeout, .ignoredConditions,
    ])

  static func run(_ context: CommandContext) async throws {
    let wanted = try context.arguments.operands.map { try CommandContext.product($0) }
    let latest = try context.arguments.integer("latest", in: 1...1_000_000)
    let ignored = try context.ignoredConditions()
    let agent = try context.agent()
    guard !context.arguments.isSet("plan") else {
      let plan = RestorePlan(
        of: try await agent.restorePlan(), wanted: Set(wanted), latest: latest,
        held: try await agent.library(), live: try await agent.downloads(.live))
      return try plan.print(on: context.console)
    }
    let request = AgentRestoreRequest(
      products: wanted.isEmpty ? nil : wanted, order: latest == nil ? nil : .newest, limit: latest,
      ignore: ignored)
    try await DownloadStart.run(
      request, with: agent, context, whenNothing: "nothing is missing on this device")
  }
}

/// The plan of a restore: the step for each product that is owned. Pure.
struct RestorePlan {
  /// ||
  /// The raw values are the words of the table and of JSON.
  enum Step: String, Encodable {
    /// It is not here.
    case download
    /// A download is under way, or waits.
    case underWay = "under way"
    /// A download that the user has paused; a restore does not resume it.
    case paused
    /// The version is on this device and undamaged.
    case here
  }

  /// In JSON an object of the agent's list of owned products, with `step` beside its members.
  struct Entry: Encodable {
    /// The product as the agent answers it.
    var owned: EntitledProduct
    /// The step for the product.
    var step: Step

    /// The one key beside those of the product.
    private enum CodingKeys: CodingKey {
      case step
    }

    /// The product's members with the step beside them.
    func encode(to encoder: any Encoder) throws {
      try owned.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(step, forKey: .step)
    }
  }

  /// Each product once, with the strongest of the transactions that pay for it. With `latest` so many of those alone that would be
  /// downloaded, in the order in which they would be.
  private(set) var entries: [Entry]

  /// `wanted` are the only ones that are looked at, unless it is empty.
  ///
  /// - Parameters:
  ///   - latest: only that many, the newest first; nil for all in the server's order.
  ///   - held: the library. A damaged version counts as not here, and so does an older one.
  ///   - live: the downloads that are not over.
  init(
    of owned: [EntitledProduct], wanted: Set<ProductIdentifier> = [], latest: Int? = nil,
    held: [LibraryItem], live: [DownloadStatus]
  ) {
    var seen: Set<ProductIdentifier> = []
    entries = owned.ordered(by: latest == nil ? nil : .newest)
      .filter { (wanted.isEmpty || wanted.contains($0.product)) && seen.insert($0.product).inserted }
      .map { Entry(owned: $0, step: Self.step(for: $0, held: held, live: live)) }
    if let latest { entries = Array(entries.filter { $0.step == .download }.prefix(latest)) }
  }

  /// The version that is owned now decides. A download of the product counts whatever its version is.
  private static func step(for owned: EntitledProduct, held: [LibraryItem], live: [DownloadStatus]) -> Step {
    let isHere = held.contains {
      $0.product == owned.product && $0.version == owned.version && $0.state != .damaged
    }
    if isHere { return .here }
    guard let download = live.first(where: { $0.product == owned.product }) else { return .download }
    return download.state == .paused ? .paused : .underWay
  }

  /// Prints the plan; nothing is started.
  func print(on console: Console) throws {
    try console.print(
      entries,
      columns: [
        .name("PRODUCT"), .name("VERSION"), .number("SIZE"), .text("PLAN"), .text("STATE"), .text("BECAUSE"),
        .name("TRANSACTION"),
      ], whenEmpty: "nothing is owned that would be downloaded"
    ) { entry in
      [
        entry.owned.product.description, entry.owned.version.description, entry.owned.length.description,
        entry.step.rawValue, entry.owned.state, entry.owned.because, entry.owned.transaction.description,
      ]
    }
  }
}

/// `update [ID…]`: the same request as ``RestoreCommand`` makes, for those products alone that have a newer
/// version than this device.
enum UpdateCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "update", summary: "Download newer versions of what is on this device",
    discussion: "--plan only shows which there are.",
    operands: [.inLibrary(isRequired: false, repeats: true)],
    options: [
      .flag("plan", environment: .none, help: "Only show the newer versions"), .waits, .timeout,
    ])

  /// Asks for the newer versions and starts them. A product that is given and not here fails before anything is started.
  static func run(_ context: CommandContext) async throws {
    let wanted = try context.arguments.operands.map { try CommandContext.product($0) }
    let agent = try context.agent()
    let items = try await agent.library()
    try LibraryCommand.requireAll(
      wanted, among: items, otherwise: "'pullbox restore ID' fetches what is owned")
    let updates = ContentUpdate.find(among: try await agent.restorePlan(), for: items)
      .filter { wanted.isEmpty || wanted.contains($0.product) }
    guard !updates.isEmpty else { return context.console.note("there is no newer version") }
    guard !context.arguments.isSet("plan") else {
      return try ContentUpdate.print(updates, on: context.console)
    }
    try await DownloadStart.run(
      AgentRestoreRequest(products: updates.map(\.product)), with: agent, context,
      whenNothing: "the newer versions are under way already")
  }
}

/// A version that the server has for this device, newer than those it holds. `update --plan --json` prints
/// it.
struct ContentUpdate: Encodable {
  /// The product with a newer version.
  var product: ProductIdentifier
  /// The title that the library has for it.
  var title: String?
  /// The highest version on this device.
  var held: ContentVersion
  /// The version that the server offers.
  var newest: ContentVersion
  /// Bytes of the package; what did not change of it is not fetched.
  var length: ByteCount

  /// In the library's order. Pure. The highest version here is compared with the one that the server offers.
  /// A product that is owned no more has none.
  static func find(among owned: [EntitledProduct], for items: [LibraryItem]) -> [ContentUpdate] {
    var seen: Set<ProductIdentifier> = []
    return items.compactMap { item in
      guard seen.insert(item.product).inserted,
        let held = items.filter({ $0.product == item.product }).map(\.version).max(),
        let offered = owned.first(where: { $0.product == item.product }), offered.version > held
      else { return nil }
      return ContentUpdate(
        product: item.product, title: item.title, held: held, newest: offered.version, length: offered.length)
    }
  }

  /// A table in the order of the updates, with the size of the whole package.
  static func print(_ updates: [ContentUpdate], on console: Console) throws {
    try console.print(
      updates,
      columns: [.name("PRODUCT"), .name("HERE"), .name("NEWEST"), .number("SIZE"), .text("TITLE")],
      whenEmpty: "there is no newer version"
    ) { update in
      [
        update.product.description, update.held.description, update.newest.description,
        update.length.description, update.title ?? "",
      ]
    }
  }
}

/// The options of commands that start downloads or wait for them.
extension CommandOption {
  /// `--wait`.
  static let waits = CommandOption.flag(
    "wait", abbreviation: "w", environment: .none, help: "Wait until the downloads have ended")
  /// `--timeout`, which means nothing without `--wait`.
  static let timeout = CommandOption.value(
    "timeout", "DURATION", environment: .none,
    help:
      "With --wait, stop waiting after this time, such as 90s or 5m (exit code 4, or 5 if there is no room); the agent continues"
  )
}

/// Starts downloads of what is owned, and waits for them where that is asked for. `restore` and `update`
/// share it.
enum DownloadStart {
  /// Starts what the request asks for, prints the products that were started, and waits with `--wait`. A
  /// download that failed ends with its own code, and a paused one with 4. With nothing to start it says why:
  /// nothing is missing, it is under way, or the library's volume is not there (code 4).
  ///
  /// - Parameter whenNothing: the remark where nothing is started and nothing is under way.
  static func run(
    _ request: AgentRestoreRequest, with agent: AgentClient, _ context: CommandContext,
    whenNothing: String
  ) async throws {
    let console = context.console
    let timeout = try context.timeout()
    let started = try await agent.restore(request)
    let waits = context.arguments.isSet("wait")
    for product in started {
      if console.printsJSON {
        try console.print(json: ["product": product.description])
      } else if !waits {
        console.print(product.description)
      }
    }
    let standing = DownloadStanding(of: try await agent.downloads(.live), request: request, started: started)
    for download in standing.paused { console.note(paused: download) }
    if started.isEmpty {
      if try await agent.status().libraryState == .offline {
        throw CommandFailure(.undetermined, "the library's volume is not there")
      }
      switch standing.running.count {
      case 0 where standing.paused.isEmpty: console.note(whenNothing)
      case 0: break
      case let count: console.note("\(CountText.of(count, "download")) under way already")
      }
    }
    guard waits else {
      if !started.isEmpty { console.note("next: pullbox downloads --watch") }
      return
    }
    let latest = DownloadWait.Latest()
    let ended = try await withTimeout(timeout) {
      try await DownloadWait.run(standing.running.map(\.id), with: agent, on: console, noting: latest)
    } expired: {
      latest.expiry
    }
    if !console.printsJSON {
      for download in ended {
        console.print("\(download.name) \(download.version?.description ?? "")  \(download.standing)")
      }
    }
    if let failed = ended.first(where: { $0.state.isFinal && $0.state != .finished }) {
      throw CommandFailure(
        ExitCode(endOf: failed),
        "\(StandingText.ending(of: failed)); 'pullbox resume \(failed.id)' tries again")
    }
    if let paused = standing.paused.first ?? ended.first(where: { $0.state == .paused }) {
      throw CommandFailure(.undetermined, "the download of \(paused.name) is paused, and is not waited for")
    }
  }
}

/// Which downloads a request for what is owned concerns, those among them that it did not start. Pure.
struct DownloadStanding {
  /// To be waited for.
  private(set) var running: [DownloadStatus] = []
  /// One that the user has paused would be waited for without an end.
  private(set) var paused: [DownloadStatus] = []

  /// A request without products and without a limit is about everything that is under way, and so is one that found nothing to
  /// start.
  init(of live: [DownloadStatus], request: AgentRestoreRequest, started: [ProductIdentifier]) {
    for download in live {
      let isConcerned =
        started.contains(download.product)
        || (request.products?.contains(download.product) ?? (request.limit == nil || started.isEmpty))
      guard isConcerned else { continue }
      if download.state == .paused { paused.append(download) } else { running.append(download) }
    }
  }
}
