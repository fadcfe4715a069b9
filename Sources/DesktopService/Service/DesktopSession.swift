public import CoreTypes
public import MessageBus
public import ServiceRuntime
public import SystemCalls

/// The desktop's side of the agent, for one user's session: notices, progress on the icon, links, and the search of the shell. Without the
/// agent, without notifications or without a bus it waits, and wakes up for nothing.
public actor DesktopSession: Service {
  /// The name in the log.
  public nonisolated var name: String { "desktop" }
  /// The program's name on the user's bus, and that of its `.desktop` file.
  public static let busName: BusName = "com.pullbox.Desktop"
  static let path: BusPath = "/com/pullbox/Desktop"
  static let searchPath: BusPath = "/com/pullbox/Desktop/SearchProvider"

  private nonisolated let session: BusConnection
  nonisolated let followers: [AgentFollower]
  /// The word which program is in a sandbox.
  nonisolated let callers: SandboxedCallers
  /// The content that programs in sandboxes are shown.
  nonisolated let documents: DocumentPortal
  private nonisolated let server: any NoticeServer
  private nonisolated let launcher: ProgramLauncher
  private nonisolated let words: NoticeWords
  private nonisolated let locale: String
  nonisolated let log: Log
  private var plan: NotificationPlan
  private var progress = LauncherProgress()
  /// The search over the libraries as they were at these revisions.
  private var searched: (revisions: [Int], search: LibrarySearch)?
  /// The changes that wait to be sent, in order.
  private nonisolated let changes: AsyncStream<NotificationPlan.Change>
  private nonisolated let changesContinuation: AsyncStream<NotificationPlan.Change>.Continuation
  /// The products whose content is shown no more.
  private nonisolated let hidden: AsyncStream<String>
  private nonisolated let hiddenContinuation: AsyncStream<String>.Continuation
  /// The actions that were chosen.
  private nonisolated let actions: AsyncStream<Notice.Action>
  private nonisolated let actionsContinuation: AsyncStream<Notice.Action>.Continuation
  /// The actions that are carried out; so many at once at most.
  private var actionsUnderWay: Set<Notice.Action> = []
  private static let maximumActions = 16

  /// Connects to the user's bus and to the machine's. A program in a sandbox shows notices through the portal. `processes` is `/proc` but for
  /// tests. Throws ``BusError`` where libsystemd is missing, or the environment names no bus of the user.
  public init(
    environment: [String: String], clock: any MonotonicClock = SystemMonotonicClock(),
    launcher: ProgramLauncher = .system, isSandboxed: Bool = FlatpakSandbox.isAround,
    processes: String = "/proc", agents: String? = nil, log: Log
  ) throws(BusError) {
    session = try BusConnection.open(
      .session, environment: environment, configuration: BusConfiguration(service: Self.busName))
    let machine = try BusConnection.open(.system, environment: environment)
    let start = clock.now()
    let now: @Sendable () -> Double = { (clock.now() - start).inSeconds }
    // The user's own agent counts first.
    followers = [(AgentPlace.session, session), (.machine, machine)].map { place, bus in
      AgentFollower(place, on: bus, clock: clock, now: now)
    }
    locale =
      ["LC_ALL", "LC_MESSAGES", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
    words = NoticeWords(locale: locale)
    plan = NotificationPlan(words: words)
    server =
      isSandboxed
      ? PortalNotifications(on: session, words: words) : NotificationServer(on: session, words: words)
    self.launcher = launcher
    self.log = log
    callers = SandboxedCallers(
      on: session, processes: processes, agents: agents, isSandboxed: isSandboxed)
    documents = DocumentPortal(on: session, log: log)
    (hidden, hiddenContinuation) = AsyncStream.makeStream()
    (changes, changesContinuation) = AsyncStream.makeStream()
    (actions, actionsContinuation) = AsyncStream.makeStream(
      bufferingPolicy: .bufferingOldest(Self.maximumActions))
  }

  /// Runs until the task is canceled or ``stop()`` is called.
  public func run() async throws {
    await withDiscardingTaskGroup { group in
      for follower in followers {
        group.addTask { await follower.follow { await self.take($0) } }
      }
      group.addTask { await self.server.follow { await self.take($0) } }
      group.addTask { await self.sendChanges() }
      group.addTask { await self.performActions() }
      group.addTask { for await product in self.hidden { await self.documents.end(product) } }
      while let request = await session.nextRequest() {
        group.addTask { await self.answer(request) }
      }
      changesContinuation.finish()
      actionsContinuation.finish()
      hiddenContinuation.finish()
      group.cancelAll()
    }
  }

  /// Ends both connections.
  public nonisolated func stop() async {
    session.close()
    for follower in followers { follower.bus.close() }
  }

  // MARK: notices

  private func take(_ news: AgentFollower.News) {
    switch news {
    case .plan(let event): handle(event)
    case .progress(let name, let bytes):
      if progress.update(name, bytes) { showProgress() }
    case .hidden(let product): hiddenContinuation.yield(product)
    case .gone(let place):
      handle(.agentGone(place))
      if progress.clear(place) { showProgress() }
    }
  }

  private func take(_ answer: NoticeAnswer) {
    switch answer {
    case .chosen(let action): actionsContinuation.yield(action)
    case .closed(let subject): handle(.closed(subject))
    case .gone: handle(.desktopGone)
    case .there: handle(.desktopThere)
    }
  }

  private func handle(_ event: NotificationPlan.Event) {
    for change in plan.handle(event) { changesContinuation.yield(change) }
  }

  private func sendChanges() async {
    for await change in changes {
      switch change {
      case .close(let subject): await server.close(subject)
      case .show(let notice):
        do throws(BusError) {
          try await server.show(notice)
        } catch {
          log.debug("a notice cannot be shown", ["error": LogValue(error)])
          // One that was refused would be refused again; all others wait until the desktop can be asked.
          handle(error.isOfTheMessage ? .refused(notice) : .unshown(notice.subject))
        }
      }
    }
  }

  /// `Update` of `com.canonical.Unity.LauncherEntry`, which docks follow.
  private func showProgress() {
    let signal = BusSignal(
      "Update", of: "com.canonical.Unity.LauncherEntry", at: Self.path,
      arguments: [
        .string("application://com.pullbox.Desktop.desktop"),
        .properties([
          "progress": .double(Double(progress.shown ?? 0) / 100),
          "progress-visible": .boolean(progress.shown != nil),
          "count": .int64(Int64(clamping: progress.count)), "count-visible": .boolean(progress.count > 1),
        ]),
      ])
    // A dock that cannot be told shows the next change.
    try? session.send(signal)
  }

  // MARK: actions

  /// Carries out what was chosen, beside the answers that come meanwhile: an agent may ask for a password. The same action is under way
  /// once, however often it is chosen.
  private func performActions() async {
    await withDiscardingTaskGroup { group in
      for await action in actions {
        guard actionsUnderWay.count < Self.maximumActions, actionsUnderWay.insert(action).inserted else {
          log.info("an action is not carried out, since it or too many others are under way")
          continue
        }
        group.addTask { await self.performToItsEnd(action) }
      }
      group.cancelAll()
    }
  }

  private func performToItsEnd(_ action: Notice.Action) async {
    await perform(action)
    actionsUnderWay.remove(action)
  }

  private func perform(_ action: Notice.Action) async {
    switch action {
    case .later: break
    case .read(let product): await read(product)
    case .downloadAnyway(let download):
      await ask(at: download.place) { agent throws(BusError) in
        let downloads: BusPath = "/com/pullbox/Agent1/downloads"
        guard let path = downloads.appending(identifier: download.id) else {
          return
        }
        _ = try await agent.call(
          "SetUrgency", "com.pullbox.Agent1.Download", path, [.string("now")])
      }
    case .makeRoom: await showLibrary()
    case .buy(let product, let shown, let place):
      await ask(at: place) { agent throws(BusError) in
        _ = try await agent.call(
          "Buy", AgentFollower.agentInterface, AgentFollower.root,
          [.string(product), .properties(["shown": .string(shown)])])
      }
    case .restore:
      await ask { agent throws(BusError) in
        _ = try await agent.call(
          "Restore", AgentFollower.agentInterface, AgentFollower.root, [.strings([]), .properties([:])])
      }
    }
  }

  /// Has the agent do something; a refusal becomes a notice.
  private func ask(
    at place: AgentPlace? = nil, _ body: (AgentFollower) async throws(BusError) -> Void
  ) async {
    do throws(BusError) {
      if let named = followers.first(where: { $0.place == place }) {
        try await body(named)
      } else {
        try await body(await follower())
      }
    } catch {
      log.warning("the agent has refused", ["error": LogValue(error)])
      handle(.asked(Notice(.link, words.refused, Notice.text(error.message))))
    }
  }

  /// The agent that is there, the user's own first.
  private func follower() async -> AgentFollower {
    for follower in followers {
      if await follower.isThere { return follower }
    }
    return followers[0]
  }

  /// Opens page 1 of the product by `pullbox`, which knows pages, else the content by the desktop.
  private func read(_ product: String) async {
    for follower in followers {
      guard let item = await follower.items[product] else { continue }
      do throws(BusError) {
        let path = try await follower.call("Open", "com.pullbox.Agent1.LibraryItem", item.path).first?.text
        _ = launcher.start([["pullbox", "open", product, "1"], ["xdg-open", path ?? ""]])
      } catch {
        log.warning("a product cannot be opened", ["error": LogValue(error)])
      }
      return handle(.opened(product: product))
    }
    handle(.asked(Notice(.link, Notice.text(product), words.notHere)))
  }

  /// Shows the library in the desktop's file manager (`org.freedesktop.FileManager1`), else by `xdg-open`.
  private func showLibrary() async {
    let follower = await follower()
    guard
      let path = try? await follower.bus.property(
        "LibraryPath", of: AgentFollower.agentInterface, at: AgentFollower.root,
        destination: AgentFollower.agent
      ).text
    else { return }
    let call = BusMethodCall(
      "ShowFolders", of: "org.freedesktop.FileManager1", at: "/org/freedesktop/FileManager1",
      destination: "org.freedesktop.FileManager1",
      arguments: [
        .strings(["file://" + path.split(separator: "/").map { "/" + String($0).percentEncoded }.joined()]),
        .string(""),
      ])
    if (try? await session.call(call)) == nil { _ = launcher.start([["xdg-open", path]]) }
  }

  // MARK: what others ask

  private func answer(_ request: BusRequest) async {
    let texts = request.arguments.first?.elements?.compactMap(\.text) ?? []
    if request.path == Self.path, request.interface == Self.readersInterface {
      return await answerReader(request)
    }
    switch (request.path, request.interface, request.member) {
    case (Self.path, "org.freedesktop.Application", "Activate"):
      request.answer.reply()
      await showLibrary()
    case (Self.path, "org.freedesktop.Application", "Open"):
      request.answer.reply()
      for text in texts.prefix(8) { await open(text) }
    case (Self.path, "org.freedesktop.Application", "ActivateAction"): request.answer.reply()
    case (Self.searchPath, "org.gnome.Shell.SearchProvider2", "GetInitialResultSet"):
      request.answer.reply([.strings(await search().products(matching: texts))])
    case (Self.searchPath, "org.gnome.Shell.SearchProvider2", "GetSubsearchResultSet"):
      let terms = request.arguments.last?.elements?.compactMap(\.text) ?? []
      request.answer.reply([.strings(await search().products(matching: terms, among: Set(texts)))])
    case (Self.searchPath, "org.gnome.Shell.SearchProvider2", "GetResultMetas"):
      let search = await search()
      let entries = texts.prefix(LibrarySearch.maximumResults).compactMap { search.entry(of: $0) }
      request.answer.reply([.array(of: "a{sv}", entries.map(Self.meta))])
    case (Self.searchPath, "org.gnome.Shell.SearchProvider2", "ActivateResult"):
      request.answer.reply()
      if let product = request.arguments.first?.text { await read(product) }
    case (Self.searchPath, "org.gnome.Shell.SearchProvider2", "LaunchSearch"):
      request.answer.reply()
      await showLibrary()
    default:
      request.answer.refuse(
        "org.freedesktop.DBus.Error.UnknownMethod", "\(request.path) has no method \(request.member)")
    }
  }

  /// Made anew where a library has changed: the shell asks with each key.
  private func search() async -> LibrarySearch {
    var revisions: [Int] = []
    for follower in followers { revisions.append(await follower.revision) }
    if let searched, searched.revisions == revisions { return searched.search }
    var entries: [String: LibrarySearch.Entry] = [:]
    for follower in followers.reversed() {
      for (product, item) in await follower.items {
        entries[product] = .init(product: product, title: item.title, cover: item.cover)
      }
    }
    var search = LibrarySearch()
    search.replace(with: entries.values.sorted { ($0.title, $0.product) < ($1.title, $1.product) })
    searched = (revisions, search)
    return search
  }

  private static func meta(_ entry: LibrarySearch.Entry) -> BusValue {
    .properties([
      "id": .string(entry.product), "name": .string(Notice.text(entry.title)),
      "gicon": .string(entry.cover ?? NotificationServer.application),
    ])
  }

  /// Asks what the link is about; nothing is bought by a link.
  private func open(_ text: String) async {
    guard let link = PullboxLink(text) else {
      return log.info("a link is not understood", ["link": LogValue(String(text.prefix(200)))])
    }
    switch link {
    case .read(let product): await read(product)
    case .restore:
      handle(
        .asked(
          Notice(
            .link, words.restoreTitle, words.restoreQuestion, actions: [.restore, .later], isQuestion: true)))
    case .buy(let product):
      do throws(BusError) {
        let language = String(locale.prefix { $0 != "." && $0 != "@" }.map { $0 == "_" ? "-" : $0 })
        let agent = await follower()
        let answer = try await agent.call(
          "Offer", AgentFollower.agentInterface, AgentFollower.root,
          [.string(product), .string(language == "C" || language == "POSIX" ? "" : language)])
        let offer = answer.first
        let title = Notice.text(offer?["title"]?.text ?? product)
        if offer?["held"]?.flag == true {
          return handle(
            .asked(Notice(.link, title, words.alreadyHeld, actions: [.read(product: product), .later])))
        }
        guard let price = offer?["price"]?.text, !price.isEmpty, let shown = offer?["shown"]?.text else {
          return handle(.asked(Notice(.link, title, words.notForSale)))
        }
        // The first action is the one that a click beside the buttons chooses: never the purchase.
        handle(
          .asked(
            Notice(
              .link, title, words.buyQuestion(Notice.quoted(price)),
              actions: [.later, .buy(product: product, shown: shown, at: agent.place)], isQuestion: true)))
      } catch {
        handle(.asked(Notice(.link, Notice.text(product), Notice.text(error.message))))
      }
    }
  }

  /// Hands links to the program of this session, which the bus starts where it does not run. Throws ``BusError``.
  public static func open(links: [String], environment: [String: String]) async throws(BusError) {
    let bus = try BusConnection.open(.session, environment: environment)
    defer { bus.close() }
    _ = try await bus.call(
      BusMethodCall(
        "Open", of: "org.freedesktop.Application", at: path, destination: busName,
        arguments: [.strings(links), .properties([:])]))
  }
}
