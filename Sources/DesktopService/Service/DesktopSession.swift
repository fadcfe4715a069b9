public import CoreTypes
public import Files
public import MessageBus
public import ServiceRuntime
import SystemCalls

/// The desktop's side of the agent, for one user's session: notices, progress on the icon, links, and the search of the shell. Without the
/// agent, without notifications or without a bus it waits, and wakes up for nothing.
public actor DesktopSession: Service {
  /// The name in the log.
  public nonisolated var name: String { "desktop" }
  /// The program's name on the user's bus, and that of its `.desktop` file.
  public static let busName: BusName = "com.pullbox.Desktop"
  static let path: BusPath = "/com/pullbox/Desktop"
  static let searchPath: BusPath = "/com/pullbox/Desktop/SearchProvider"

  nonisolated let session: BusConnection
  nonisolated let followers: [AgentFollower]
  /// The word which program is in a sandbox.
  nonisolated let callers: SandboxedCallers
  /// The content that programs in sandboxes are shown.
  nonisolated let documents: DocumentPortal
  private nonisolated let server: any NoticeServer
  private nonisolated let seat: SeatFollower
  nonisolated let launcher: ProgramLauncher
  nonisolated let words: NoticeWords
  nonisolated let locale: String
  /// The socket of the device's agent.
  nonisolated let machineSocket: String
  nonisolated let log: Log
  private(set) var plan: NotificationPlan
  private var progress = LauncherProgress()
  /// The search over the libraries as they were at these revisions.
  var searched: (revisions: [Int], search: LibrarySearch)?
  /// The changes that wait to be sent, in order.
  private nonisolated let changes: AsyncStream<NotificationPlan.Change>
  private nonisolated let changesContinuation: AsyncStream<NotificationPlan.Change>.Continuation
  /// The products whose content is shown no more.
  private nonisolated let hidden: AsyncStream<String>
  private nonisolated let hiddenContinuation: AsyncStream<String>.Continuation
  /// The actions that were chosen.
  nonisolated let actions: AsyncStream<Notice.Action>
  private nonisolated let actionsContinuation: AsyncStream<Notice.Action>.Continuation
  /// The actions that are carried out; so many at once at most.
  var actionsUnderWay: Set<Notice.Action> = []
  static let maximumActions = 16

  /// The socket of an agent that serves the whole device, unless a test has another: that of `AgentSocket.systemPath`.
  static let machineSocket = "/run/pullbox/agent.sock"

  /// Connects to the user's bus and to the machine's. A program in a sandbox shows notices through the portal. `processes` is `/proc` but for
  /// tests, and `machineSocket` the device's agent's. Throws ``BusError`` where libsystemd is missing, or the environment names no bus of the user.
  public init(
    environment: [String: String], clock: any MonotonicClock = SystemMonotonicClock(),
    launcher: ProgramLauncher = .system, isSandboxed: Bool = FlatpakSandbox.isAround,
    processes: String = "/proc", agents: String? = nil, machineSocket: String? = nil, log: Log
  ) throws(BusError) {
    session = try BusConnection.open(
      .session, environment: environment, configuration: BusConfiguration(service: Self.busName))
    let machine = try BusConnection.open(.system, environment: environment)
    let start = clock.now()
    let now: @Sendable () -> Double = { (clock.now() - start).inSeconds }
    // The user's own agent counts first.
    followers = [(AgentPlace.session, session), (.machine, machine)].map { place, bus in
      AgentFollower(place, on: bus, clock: clock, log: log, now: now)
    }
    locale =
      ["LC_ALL", "LC_MESSAGES", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
    words = NoticeWords(locale: locale)
    plan = NotificationPlan(words: words)
    server =
      isSandboxed
      ? PortalNotifications(on: session, words: words) : NotificationServer(on: session, words: words)
    seat = SeatFollower(on: machine)
    self.launcher = launcher
    self.machineSocket = machineSocket ?? Self.machineSocket
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
      group.addTask {
        await self.seat.follow { isActive in await self.handle(.inhibited(!isActive, by: .seat)) }
      }
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

  private func take(_ news: [AgentFollower.News]) {
    var events: [NotificationPlan.Event] = []
    let before = progress
    for piece in news {
      switch piece {
      case .plan(let event): events.append(event)
      case .progress(let name, let bytes): _ = progress.update(name, bytes)
      case .hidden(let product): hiddenContinuation.yield(product)
      case .gone(let place):
        events.append(.agentGone(place))
        _ = progress.clear(place)
      }
    }
    handle(events)
    if progress != before { showProgress() }
  }

  private func take(_ answer: NoticeAnswer) {
    switch answer {
    case .chosen(let action, let subject):
      // The desktop takes the notice of a link away, and leaves that of the product.
      if case .read = action, case .product(let product) = subject { handle(.reading(product: product)) }
      if case .dropped = actionsContinuation.yield(action) { giveUp(action) }
    case .closed(let subject): handle(.closed(subject))
    case .gone: handle(.desktopGone)
    case .there: handle(.desktopThere)
    }
  }

  /// Takes in what has happened to notices.
  func handle(_ event: NotificationPlan.Event) { handle([event]) }

  /// Takes in what has happened at once.
  func handle(_ events: [NotificationPlan.Event]) {
    for change in plan.handle(events) { changesContinuation.yield(change) }
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
}
