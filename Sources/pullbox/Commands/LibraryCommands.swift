import Commerce
import CoreTypes
import Entitlements
import Files
import PullboxAPI
import PullboxAPIClient
import PullboxKit
import ServiceRuntime
import SystemCalls

/// `library [ID…]`: lists what is on this device, or has the agent compare it with the publishers' manifests.
enum LibraryCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "library", summary: "Show the library of this device, or compare it with what was bought",
    discussion: """
      'pullbox path' prints where a product lies.
      --verify reads every file and compares it with what the publisher made; exit
      code 6 when something is missing or damaged, which 'pullbox repair' fetches.
      """,
    operands: [.inLibrary(isRequired: false, repeats: true)],
    options: [
      .flag("verify", environment: .none, help: "Compare every file, of all products or of those given")
    ])

  /// A product that is not here fails before anything is printed or verified.
  static func run(_ context: CommandContext) async throws {
    let agent = try context.agent()
    let wanted = try context.arguments.operands.map { try CommandContext.product($0) }
    let held = try await agent.library()
    try requireAll(wanted, among: held, otherwise: "'pullbox library' shows what there is")
    let items = held.filter { wanted.isEmpty || wanted.contains($0.product) }
    if context.arguments.isSet("verify") { return try await verify(items, with: agent, on: context.console) }
    try context.console.print(
      items,
      columns: [
        .name("PRODUCT"), .name("VERSION"), .number("SIZE"), .text("STATE"), .text("PLACED"), .text("TITLE"),
      ], whenEmpty: "the library is empty"
    ) { item in
      [
        item.product.description, item.version.description, item.length.description,
        state(item), LocalTime.text(item.placedAt),
        item.productTitle ?? item.title ?? "",
      ]
    }
  }

  /// Throws `library-item-unknown` for the first product that the library does not hold, with the nearest one that it does
  /// hold, and with `advice` where there is none.
  static func requireAll(
    _ products: [ProductIdentifier], among items: [LibraryItem], otherwise advice: String
  ) throws(APICallError) {
    let held = Set(items.map(\.product))
    guard let missing = products.first(where: { !held.contains($0) }) else { return }
    let nearest = EditDistance.nearest(to: missing.description, among: held.sorted())
    let hint = nearest.map { "did you mean \($0)?" } ?? advice
    throw .problem(Problem(.libraryItemUnknown, "\(missing); \(hint)"))
  }

  /// `present, pinned`, `damaged`, `taken back`, `left`, `moved away, not owned`: the state, whether it is still owned, and whether
  /// it is kept when room is made.
  static func state(_ item: LibraryItem) -> String {
    let state =
      if item.withdrawn == true { "moved away" } else if item.rolledBack == true, item.state == .present {
        item.left == true ? "left" : "taken back"
      } else { item.state?.rawValue ?? "" }
    return [state, item.owned == false ? mark(item) : "", item.pinned == true ? "pinned" : ""]
      .filter { !$0.isEmpty }.joined(separator: ", ")
  }

  /// Returns the mark of an item that is not owned any more.
  private static func mark(_ item: LibraryItem) -> String {
    item.because == EntitlementRule.closedByLapse.rawValue ? "closed" : "not owned"
  }

  /// The sentence of what is not owned any more, for people. A cause that only a later server knows is shown
  /// as it is.
  static func notice(_ item: LibraryItem) -> String {
    let reason =
      switch item.because {
      case EntitlementRule.revoked.rawValue: "the store has taken its purchase back, as with a refund"
      case EntitlementRule.closedByLapse.rawValue: "the subscription that opened it has ended"
      default: item.because ?? "the server said so"
      }
    let date = item.ownedAsOf.map { " (known since \(LocalTime.text($0)))" } ?? ""
    if item.withdrawn == true {
      return
        "\(item.product) is owned no more: \(reason)\(date); its files are kept where no reader sees them, for when it is owned again"
    }
    return "\(item.product) is on this device and owned no more: \(reason)\(date)"
  }

  /// Verifies one product after the other, and prints each version as it is done, with the faults below it.
  /// Ends with code 6 where anything is damaged, and with 4 while the library's volume is not there.
  private static func verify(
    _ items: [LibraryItem], with agent: AgentClient, on console: Console
  ) async throws {
    var damaged: [LibraryVerification] = []
    var seen: Set<ProductIdentifier> = []
    for product in items.map(\.product) where seen.insert(product).inserted {
      for found in try await agent.verify(product) {
        if found.state != .present { damaged.append(found) }
        if console.printsJSON {
          try console.print(json: found)
        } else {
          console.print("\(found.product) \(found.version)  \(found.state.rawValue)")
          for fault in found.faults {
            console.print("  \(fault.kind.rawValue)  \(fault.path.isEmpty ? "all of it" : fault.path)")
          }
        }
      }
    }
    if let first = damaged.first {
      throw CommandFailure(
        first.state == .offline ? .undetermined : .integrity,
        first.state == .offline
          ? "the library's volume is not there"
          : "\(damaged.count) not as they were bought; 'pullbox repair \(first.product)' fetches what is damaged"
      )
    }
    if items.isEmpty { console.note("the library is empty") }
  }
}

/// `repair ID`: has the agent fetch what is missing or damaged, and tells which versions it removed instead,
/// since a newer one replaces them. A paused download is named, as it is not resumed by this.
enum RepairCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "repair", summary: "Fetch what is missing or damaged of a product on this device",
    discussion: """
      The folder is placed anew. Files that other programs put into it are kept beside it, in VERSION.others.
      """,
    operands: [.inLibrary()]
  )

  /// Asks for the repair and compares the library before and after it, since the agent's answer has no removals.
  static func run(_ context: CommandContext) async throws {
    let product = try context.product(0)
    let agent = try context.agent()
    let before = try await agent.library().filter { $0.product == product }
    let downloads = try await agent.repair(product)
    let after = try await agent.library().filter { $0.product == product }
    let removed = before.filter { item in !after.contains { $0.version == item.version } }
    for item in removed {
      context.console.note("\(product) \(item.version) was damaged and is replaced: it was removed")
    }
    if downloads.isEmpty, removed.isEmpty {
      context.console.note("nothing of \(product) is missing or damaged")
    }
    for download in downloads {
      try DownloadSelector.print(download, on: context.console)
      if download.state == .paused { context.console.note(paused: download) }
    }
  }
}

/// `path ID`: prints the path of the newest version, alone on its line. Ends with code 1 for a product that
/// is not here, 6 where another program removed the content, and 4 while the library's volume is not there.
enum PathCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "path", summary: "Print the path of a product's newest version on this device",
    discussion: "A version that the publisher took back counts only where there is no other.",
    operands: [.inLibrary()])

  /// Prints the path and a line feed. With `--json` it prints the item instead.
  static func run(_ context: CommandContext) async throws {
    let product = try context.product(0)
    let newest = try await newest(of: product, at: try context.agent())
    if context.console.printsJSON {
      try context.console.print(json: newest)
    } else {
      context.console.print(path: newest.path)
    }
  }

  /// Returns the item to open: the product's newest. Throws a failure if there is none that can be opened. A
  /// version that is damaged and still there is answered. The file system is asked here, on this device.
  static func newest(of product: ProductIdentifier, at agent: AgentClient) async throws -> LibraryItem {
    let items = try await agent.library()
    try LibraryCommand.requireAll(
      [product], among: items, otherwise: "'pullbox downloads' shows what is under way")
    guard let newest = items.current(of: product) else {
      throw APICallError.problem(Problem(.libraryItemUnknown, "\(product)"))
    }
    guard newest.withdrawn != true else {
      throw APICallError.problem(Problem(.entitlementRevoked, LibraryCommand.notice(newest)))
    }
    guard newest.state != .offline else {
      throw CommandFailure(
        .undetermined, "the library's volume is not there; 'pullbox doctor' says what to do")
    }
    if newest.state == .damaged, try FileSystem.status(of: newest.path) == nil {
      throw CommandFailure(
        .integrity, "\(newest.path) was removed by another program; 'pullbox repair \(product)' fetches it")
    }
    return newest
  }
}

/// `open ID [PAGE]`: opens the newest version, or one page of it, and tells the agent afterwards, so that what could not be opened does
/// not count as opened. With `--print` it counts as opened too.
enum OpenCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "open", summary: "Open a product's newest version on this device with the desktop's program for it",
    discussion: """
      xdg-open chooses the program. When the agent makes room, it removes first what was \
      opened longest ago. With --print the path is printed, and nothing is started. PAGE \
      counts from 1, of content whose pages lie in files of their own. Of a product that \
      is still on its way the page comes before the rest: page 1 unless another is named.
      """,
    operands: [.inLibrary(), .init("PAGE", isRequired: false)],
    options: [
      .flag("print", environment: .none, help: "Print the path and start no program"),
      .value("with", "PROGRAM", environment: .none, help: "Open it with this program"),
    ])

  /// Opens before it notes. A program that cannot be started is a failure, and the item does not count as opened.
  static func run(_ context: CommandContext) async throws {
    let product = try context.product(0)
    let agent = try context.agent()
    let page = context.arguments.operands.dropFirst().first
    if try await agent.library().allSatisfy({ $0.product != product }),
      try await agent.downloads(.live).contains(where: { $0.product == product })
    {
      return try await openComing(page, of: product, from: agent, context)
    }
    let newest = try await PathCommand.newest(of: product, at: agent)
    try await ComingPage.removeAll(of: product, keptIn: CommandStateDirectory())
    var path = newest.path
    if let page {
      let sections = try await agent.sections(of: product).sections.filter(\.isHere).map(\.tag)
      path = try PlacedPage.path(of: page, in: newest, with: Set(sections))
    }
    if !context.arguments.isSet("print") {
      try await Opener.open(
        path, with: context.arguments.value("with") ?? Opener.program,
        withholding: context.arguments.secretVariables)
    }
    let noted = try await agent.noteOpened(product)
    if context.console.printsJSON {
      for item in noted where item.version == newest.version { try context.console.print(json: item) }
    } else if context.arguments.isSet("print") {
      context.console.print(path: path)
    } else {
      context.console.note("opened \(path)")
    }
  }
}

extension OpenCommand {
  /// It does not count as opened: the library does not hold it yet. While the page does not come, it tells what that waits for: the one who
  /// opens it may be able to change it.
  private static func openComing(
    _ number: String?, of product: ProductIdentifier, from agent: AgentClient, _ context: CommandContext
  ) async throws {
    let console = context.console
    let (page, path) = try await withThrowingTaskGroup(of: (ComingPage, String)?.self) { group in
      group.addTask {
        let page = try await ComingPage.find(number, of: product, at: agent)
        return (page, try await page.fetch(from: agent, keptIn: CommandStateDirectory()))
      }
      group.addTask {
        // A page that is here is open by then, and nothing is waited for.
        try await SystemMonotonicClock().sleep(for: .milliseconds(500))
        try await Self.tellWaits(of: product, from: agent) { console.note($0) }
        return nil
      }
      defer { group.cancelAll() }
      while let found = try await group.next() {
        if let found { return found }
      }
      throw CancellationError()
    }
    guard !context.arguments.isSet("print") else { return context.console.print(path: path) }
    try await Opener.open(
      path, with: context.arguments.value("with") ?? Opener.program,
      withholding: context.arguments.secretVariables)
    context.console.note("opened \(page.file.path) of \(page.product), which is still on its way")
  }

  /// Tells what the product's download waits for until the task is cancelled, or the agent's events cannot be read: the page may come all the
  /// same, and says itself why it does not. Throws `CancellationError`.
  static func tellWaits(
    of product: ProductIdentifier, from agent: AgentClient, _ tell: (String) -> Void
  ) async throws {
    var wait = PageWait(product)
    do {
      try await agent.follow { update in
        for text in wait.news(of: update) { tell(text) }
        return .continue
      }
    } catch {
      try Task.checkCancellation()
    }
  }
}

/// `pin ID…`: one request to the agent for each product; the first that is refused ends the command.
enum PinCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "pin", summary: "Keep a product on this device when the agent makes room",
    operands: [.inLibrary(repeats: true)])

  /// Pins all versions of each product.
  static func run(_ context: CommandContext) async throws { try await set(true, in: context) }

  /// Prints nothing but the items with `--json`.
  static func set(_ isPinned: Bool, in context: CommandContext) async throws {
    let agent = try context.agent()
    for product in try context.arguments.operands.map({ try CommandContext.product($0) }) {
      for item in try await agent.setPinned(isPinned, product) where context.console.printsJSON {
        try context.console.print(json: item)
      }
    }
  }
}

/// `unpin ID…`: the reverse of ``PinCommand``.
enum UnpinCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "unpin", summary: "Let the agent remove a product again to make room",
    operands: [.inLibrary(repeats: true)])

  /// Lifts the pin of each product; the items lose nothing else.
  static func run(_ context: CommandContext) async throws { try await PinCommand.set(false, in: context) }
}

/// `remove ID`: removes all versions of a product from this device. It asks no question and prints nothing.
enum RemoveCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "remove", summary: "Remove a product from this device; 'restore' downloads it again",
    operands: [.inLibrary()])

  /// Makes one request. The agent refuses a product that is not in its library.
  static func run(_ context: CommandContext) async throws {
    try await context.agent().remove(try context.product(0))
  }
}

/// The remark that commands for downloads share.
extension Console {
  /// A request to fetch something starts nothing beside a download that the user has paused.
  func note(paused download: DownloadStatus) {
    note("the download of \(download.name) is paused; 'pullbox resume \(download.id)' goes on with it")
  }
}
