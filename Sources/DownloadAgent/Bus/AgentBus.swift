import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import HTTPServer
import MessageBus
import PullboxAPI
import ServiceRuntime

/// The agent on a bus: answers ``BusContract`` from what the control interface has, and tells those who asked what changes. While no client
/// has asked, it follows no event.
actor AgentBus {
  /// The connection, which has the agent's name.
  nonisolated let bus: BusConnection
  /// The functions below the socket's routes.
  nonisolated let control: ControlInterface
  private nonisolated let clock: any MonotonicClock
  nonisolated let log: Log
  /// The way to content for programs in a sandbox; nil on the bus of the system, where they are not told from others.
  nonisolated let readers: SandboxedReaders?

  private var watchers = BusWatchers()
  private var ledger = BusChangeLedger()
  /// The stream of events; nil while no client watches.
  private var observer: EventObserver?
  /// Presentations that are not to be disturbed, by their cookies.
  var inhibitors: [UInt32: BusName] = [:]
  private var lastCookie: UInt32 = 0
  /// The connections whose end is waited for, because they watch or have a presentation: one wait for each.
  private(set) var followed: [BusName: BusSubscription] = [:]
  /// Whether the log has that watchers cannot be asked.
  private var isRefusalReported = false

  /// Given when the first watcher comes.
  private nonisolated let isWatched = AsyncSignal()
  /// Given when progress has begun to wait, and at the end of a stream of events.
  private nonisolated let isWaiting = AsyncSignal()
  /// The watchers who are to be asked whether they read.
  private nonisolated let questions: AsyncStream<BusName>
  private nonisolated let questionsContinuation: AsyncStream<BusName>.Continuation

  /// Answers on `bus` from ``run()`` on.
  init(
    on bus: BusConnection, control: ControlInterface, readers: SandboxedReaders? = nil,
    clock: any MonotonicClock, log: Log
  ) {
    self.bus = bus
    self.readers = readers
    self.control = control
    self.clock = clock
    self.log = log
    (questions, questionsContinuation) = AsyncStream.makeStream()
  }

  /// Answers until the connection is closed or the task is canceled.
  func run() async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.reportState() }
      group.addTask { await self.followEvents() }
      group.addTask { await self.askWatchers() }
      while let request = await bus.nextRequest() {
        group.addTask { await self.answer(request) }
      }
      group.cancelAll()
    }
  }

  /// Says once when the name is there, when it is lost, and when the bus refuses it.
  private nonisolated func reportState() async {
    var hasName = false
    var isRefused = false
    for await state in bus.states() {
      if let error = state.serviceError, !isRefused {
        log.error(
          "the bus refuses the agent's name, which is asked for again",
          ["name": LogValue(BusContract.name.description), "error": LogValue(error)])
      }
      isRefused = state.serviceError != nil
      guard state.ownsService != hasName else { continue }
      hasName = state.ownsService
      log.info(
        hasName ? "the agent is on the bus" : "the agent has left the bus",
        ["name": LogValue(BusContract.name.description)])
    }
  }

  // MARK: watching

  /// Keeps the watcher until its connection ends; one that watches already is only answered. The state that `tell` answers may already be
  /// followed by changes.
  func watch(_ request: BusRequest, tell: ([BusObject]) -> Void) async throws {
    let user = await bus.credentials(of: request.sender)?.user
    let isNew = !watchers.contains(request.sender)
    guard watchers.add(request.sender, user: user) else {
      throw BusRefusal.limits(
        "\(BusWatchers.maximum) watchers at most, \(BusWatchers.maximumOfUser) of a user")
    }
    if observer == nil {
      guard let begun = control.hub.subscribe() else {
        forget(request.sender)
        throw BusRefusal.limits("there are too many observers of events")
      }
      observer = begun
      isWatched.signal()
    }
    do {
      let objects = try await objects()
      ledger.begin(objects)
      tell(objects)
    } catch {
      if isNew { forget(request.sender) }
      throw error
    }
    await keep(request.sender)
  }

  /// Waits until the connection with that unique name has ended, or has nothing here any more, and lets go what it has here. Returns at once
  /// where that is waited for already.
  func keep(_ name: BusName) async {
    guard followed[name] == nil, hasSomething(name) else { return }
    let subscription = bus.subscribe(BusMatch(sender: name, .none))
    followed[name] = subscription
    news: for await news in subscription {
      switch news {
      case .vanished, .refused: break news
      case .appeared, .signal, .missed: continue
      }
    }
    guard followed[name] === subscription else { return }
    for cookie in inhibitors.filter({ $0.value == name }).keys { setInhibitor(nil, of: cookie) }
    forget(name)
    release(name)
  }

  private func hasSomething(_ name: BusName) -> Bool {
    watchers.contains(name) || inhibitors.values.contains(name)
  }

  /// Ends the wait for a connection that has nothing here any more.
  func release(_ name: BusName) {
    guard !hasSomething(name) else { return }
    followed.removeValue(forKey: name)?.cancel()
  }

  private func forget(_ name: BusName) {
    defer { release(name) }
    guard watchers.remove(name), watchers.isEmpty else { return }
    observer?.close()
    observer = nil
    ledger = BusChangeLedger()
  }

  /// Reads events for as long as there are watchers.
  private func followEvents() async {
    while !Task.isCancelled {
      await isWatched.wait(atMost: nil, clock: clock)
      guard let observer else { continue }
      await withDiscardingTaskGroup { group in
        group.addTask {
          while let item = await observer.next() { await self.process(item) }
          await self.lost(observer)
        }
        group.addTask { await self.tellProgress(of: observer) }
      }
      control.hub.unsubscribe(observer)
      // An observer that fell too far behind is replaced.
      if self.observer == nil { await observeAgain() }
      guard self.observer != nil else { continue }
      await renew()
      isWatched.signal()
    }
  }

  /// Waits until the hub has room for another observer, as long as there are watchers.
  private func observeAgain() async {
    while observer == nil, !watchers.isEmpty {
      guard (try? await clock.sleep(for: Self.pauseWithoutObserver)) != nil else { return }
      guard observer == nil, !watchers.isEmpty else { return }
      observer = control.hub.subscribe()
    }
  }

  /// Tells watchers what has changed since the last event that was read.
  private func renew() async {
    do {
      let objects = try await objects()
      for signal in ledger.renew(objects, at: clock.now()) { send(signal, about: signal.subject) }
    } catch {
      log.warning("what has changed meanwhile cannot be read for the bus", ["error": LogValue(error)])
    }
  }

  /// The wait for room among the observers of events.
  static let pauseWithoutObserver: Duration = .seconds(1)

  /// The stream has ended. Where there are watchers, by the hub's own choice: another one begins with the state anew.
  private func lost(_ ended: EventObserver) {
    if observer === ended { observer = watchers.isEmpty ? nil : control.hub.subscribe() }
    isWaiting.signal()
  }

  private func process(_ item: EventObserver.Item) async {
    guard case .event(let event) = item else { return }
    switch event {
    case .download(let download): note(BusObject(download))
    case .transaction(let transaction): note(BusObject(transaction))
    case .library(let event): await process(event.item)
    case .issueReady(let item): tell("IssueReady", item)
    case .correctionReady(let item): tell("CorrectionReady", item)
    case .owned(let entry):
      let signal = BusSignal(
        "OwnershipChanged", of: BusContract.agent.name, at: BusObject.root,
        arguments: [
          .string(entry.product.description), .string(entry.kind),
          .int64(entry.until?.millisecondsSinceEpoch ?? 0),
        ])
      send(signal, about: BusObject.root)
    }
  }

  /// Tells of a product as its version that is read; the object goes with the last version.
  private func process(_ item: LibraryItem) async {
    do {
      if let current = try await control.library.items().current(of: item.product) {
        note(BusObject(current))
      } else if let path = BusObject(item)?.path, let signal = ledger.remove(path) {
        send(signal, about: path)
      }
    } catch {
      log.warning("the library cannot be read for the bus", ["error": LogValue(error)])
    }
  }

  private func note(_ object: BusObject?) {
    guard let object else { return }
    let signals = ledger.note(object, at: clock.now())
    for signal in signals { send(signal, about: signal.subject) }
    if signals.isEmpty, ledger.nextTime != nil { isWaiting.signal() }
  }

  private func tell(_ member: String, _ item: LibraryItem) {
    guard let path = BusObject(item)?.path else { return }
    let signal = BusSignal(
      member, of: BusContract.agent.name, at: BusObject.root,
      arguments: [.path(path), .string(item.product.description)])
    send(signal, about: path)
  }

  /// Tells progress that has waited its second, for as long as the observer is followed.
  private func tellProgress(of observer: EventObserver) async {
    while self.observer === observer, !Task.isCancelled {
      await isWaiting.wait(atMost: ledger.nextTime.map { max(.zero, $0 - clock.now()) }, clock: clock)
      for signal in ledger.due(at: clock.now()) { send(signal, about: signal.path) }
    }
  }

  private func send(_ signal: BusSignal, about path: BusPath, to one: BusName? = nil) {
    let (recipients, asked) = watchers.send(signal.length, about: path, to: one)
    for name in recipients {
      do throws(BusError) {
        try bus.send(signal, to: name)
      } catch {
        watchers.missed(path, by: name)
      }
    }
    for name in asked { questionsContinuation.yield(name) }
  }

  /// The wait after which a watcher counts as asked whom the bus's policy does not let the agent ask, so that it is
  /// told ``BusWatchers/boundOfWatcher`` in any such time at most.
  static let pauseWithoutQuestion: Duration = .seconds(8)

  /// Asks watchers whether they have read, each as long as it takes. Any answer of theirs will do; without one in an hour a watcher is
  /// forgotten.
  private nonisolated func askWatchers() async {
    await withDiscardingTaskGroup { group in
      for await name in questions {
        group.addTask {
          let call = BusMethodCall("Ping", of: .peer, at: "/", destination: name)
          do throws(BusError) {
            _ = try await self.bus.call(call, timeout: .seconds(3600))
          } catch {
            switch error.name {
            case "org.freedesktop.DBus.Error.AccessDenied":
              await self.reportRefusal(error)
              // Canceled at the end of the agent alone.
              guard (try? await self.clock.sleep(for: Self.pauseWithoutQuestion)) != nil else { return }
            // The bus's word for one that has gone.
            case "org.freedesktop.DBus.Error.NoReply": return await self.forget(name)
            // It has not answered for an hour, or no connection of the bus before is there any more.
            case nil where error.code == .timedOut || error.code == .disconnected:
              return await self.forget(name)
            // A question that could not be asked is asked again after the pause, with the next signals.
            case nil:
              guard (try? await self.clock.sleep(for: Self.pauseWithoutQuestion)) != nil else { return }
            default: if error.isServiceMissing { return await self.forget(name) }
            }
          }
          await self.answered(name)
        }
      }
    }
  }

  private func reportRefusal(_ error: BusError) {
    guard !isRefusalReported else { return }
    isRefusalReported = true
    log.warning(
      "the policy of the bus does not let the agent ask whether watchers read; they are told less at a time",
      ["error": LogValue(error)])
  }

  private func answered(_ name: BusName) {
    for path in watchers.answered(name) {
      guard let signal = ledger.whole(path) else { continue }
      send(signal, about: path, to: name)
    }
  }

  // MARK: presentations

  /// Whether a presentation is not to be disturbed.
  var isInhibited: Bool { !inhibitors.isEmpty }

  /// Returns the cookie of a new presentation of that connection.
  func inhibit(for name: BusName) throws -> UInt32 {
    guard inhibitors.count < BusWatchers.maximum,
      inhibitors.values.count(where: { $0 == name }) < BusWatchers.maximumOfUser
    else { throw BusRefusal.limits("too many presentations are not to be disturbed") }
    lastCookie &+= 1
    setInhibitor(name, of: lastCookie)
    return lastCookie
  }

  /// Begins or ends a presentation, and tells all who follow the agent where that makes a difference.
  func setInhibitor(_ name: BusName?, of cookie: UInt32) {
    let before = isInhibited
    inhibitors[cookie] = name
    guard isInhibited != before else { return }
    let signal = BusSignal.propertiesChanged(
      of: BusContract.agent.name, at: BusObject.root, ["Inhibited": .boolean(isInhibited)])
    do throws(BusError) {
      try bus.send(signal)
    } catch {
      log.warning("a change cannot be told on the bus", ["error": LogValue(error)])
    }
  }
}
