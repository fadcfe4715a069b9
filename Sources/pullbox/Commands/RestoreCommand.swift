import Commerce
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import ServiceRuntime

enum RestoreCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "restore", summary: "Download again what was bought and is not on this device",
    discussion: """
      Without ID it is everything that is owned. --plan shows what that is. With --wait \
      the command ends when the downloads have ended.
      """,
    operands: [.init("ID", isRequired: false, repeats: true)],
    options: [
      .flag("plan", environment: .none, help: "Only show what is owned"),
      .value(
        "latest", "N", environment: .none, help: "Only the N issues that appeared last, the newest first"),
      .waits, .timeout,
    ])

  static func run(_ context: CommandContext) async throws {
    let wanted = try context.arguments.operands.map { try CommandContext.product($0) }
    let latest = try context.arguments.integer("latest", in: 1...1_000_000)
    let agent = try context.agent()
    guard !context.arguments.isSet("plan") else {
      let plan = try await agent.restorePlan().filter { wanted.isEmpty || wanted.contains($0.product) }
      return try print(plan, on: context.console)
    }
    let request = AgentRestoreRequest(
      products: wanted.isEmpty ? nil : wanted, order: latest == nil ? nil : .newest, limit: latest)
    try await DownloadStart.run(
      request, with: agent, context, whenNothing: "nothing is missing on this device")
  }

  private static func print(_ plan: [EntitledProduct], on console: Console) throws {
    try console.print(
      plan,
      columns: [
        .text("PRODUCT"), .text("VERSION"), .number("SIZE"), .text("STATE"), .text("BECAUSE"),
        .text("TRANSACTION"),
      ], whenEmpty: "nothing is owned"
    ) { owned in
      [
        owned.product.description, owned.version.description, owned.length.description, owned.state,
        owned.because, owned.transaction.description,
      ]
    }
  }
}

enum UpdateCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "update", summary: "Download newer versions of what is on this device",
    discussion: "--plan only shows which there are.",
    operands: [.inLibrary(isRequired: false, repeats: true)],
    options: [
      .flag("plan", environment: .none, help: "Only show the newer versions"), .waits, .timeout,
    ])

  static func run(_ context: CommandContext) async throws {
    let wanted = try context.arguments.operands.map { try CommandContext.product($0) }
    let agent = try context.agent()
    let items = try await agent.library()
    if let missing = wanted.first(where: { product in !items.contains { $0.product == product } }) {
      throw APICallError.problem(
        Problem(.libraryItemUnknown, "\(missing); 'pullbox restore \(missing)' fetches what is owned"))
    }
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

/// A version that the server has for this device, newer than those it holds.
struct ContentUpdate: Encodable {
  var product: ProductIdentifier
  var title: String?
  var held: ContentVersion
  var newest: ContentVersion
  /// Bytes of the package; what did not change of it is not fetched.
  var length: ByteCount

  /// In the library's order. Pure.
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

  static func print(_ updates: [ContentUpdate], on console: Console) throws {
    try console.print(
      updates,
      columns: [.text("PRODUCT"), .text("HERE"), .text("NEWEST"), .number("SIZE"), .text("TITLE")],
      whenEmpty: "there is no newer version"
    ) { update in
      [
        update.product.description, update.held.description, update.newest.description,
        update.length.description, update.title ?? "",
      ]
    }
  }
}

extension CommandOption {
  static let waits = CommandOption.flag(
    "wait", abbreviation: "w", environment: .none, help: "Wait until the downloads have ended")
  static let timeout = CommandOption.value(
    "timeout", "DURATION", environment: .none,
    help:
      "With --wait, stop waiting after this time, such as 90s or 5m (exit code 4, or 5 if there is no room); the agent continues"
  )
}

/// Starts downloads of what is owned, and waits for them where that is asked for.
enum DownloadStart {
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
    let live = try await agent.downloads(.live)
    for download in live where download.state == .paused && !started.contains(download.product) {
      console.note(paused: download)
    }
    if started.isEmpty {
      if try await agent.status().libraryState == .offline {
        throw CommandFailure(.undetermined, "the library's volume is not there")
      }
      console.note(whenNothing)
    }
    guard waits else { return }
    let wanted = Set(started + (request.products ?? []))
    // A paused one would be waited for without an end.
    let awaited = live.filter { wanted.contains($0.product) && $0.state != .paused }.map(\.id)
    let latest = DownloadWait.Latest()
    let ended = try await withTimeout(timeout) {
      try await DownloadWait.run(awaited, with: agent, on: console, noting: latest)
    } expired: {
      latest.expiry
    }
    if !console.printsJSON {
      for download in ended {
        console.print("\(download.name) \(download.version?.description ?? "")  \(download.standing)")
      }
    }
    if let failed = ended.first(where: { $0.state != .finished }) {
      throw CommandFailure(
        ExitCode(endOf: failed),
        "\(StandingText.ending(of: failed)); 'pullbox resume \(failed.id)' tries again")
    }
  }
}
