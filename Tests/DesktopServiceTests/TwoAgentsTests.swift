import CoreTypes
import MessageBus
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import DesktopService

/// The whole program between the user's own agent, the device's, a desktop and logind, which all stand in.
@Suite(
  "A desktop with two agents", .serialized, .timeLimit(.minutes(5)),
  .enabled(if: PrivateBus.isAvailable, "this machine has no dbus-daemon"))
struct TwoAgentsTests {
  private static let product = "com.example.heroes"
  private static let itemInterface: BusInterface = "com.pullbox.Agent1.LibraryItem"
  private static let downloadInterface: BusInterface = "com.pullbox.Agent1.Download"

  private static let loginSession: BusPath = "/org/freedesktop/login1/session/_31"

  private static func item(_ product: String = product) -> BusPath {
    ("/com/pullbox/Agent1/library" as BusPath).appending(identifier: product) ?? AgentFollower.root
  }

  private static func download(_ id: String) -> BusPath {
    ("/com/pullbox/Agent1/downloads" as BusPath).appending(identifier: id) ?? AgentFollower.root
  }

  /// The things that one of the agents has, and its answers. A test changes them.
  private struct Agent: Sendable {
    var products: Set<String> = []
    /// The reasons for which its downloads wait.
    var waits: [String: String] = [:]
    /// The path that `Open` answers; nil for a refusal.
    var content: String? = "/own/heroes"
    var library = "/own"
    var subscriptions: [[String: BusValue]] = []
    /// The answer to `Offer`; nil for a refusal.
    var offer: [String: BusValue]?

    func answer(_ request: BusRequest) -> [BusValue]? {
      switch request.member {
      case "GetManagedObjects":
        func object(_ path: BusPath, _ interface: BusInterface, _ properties: [String: BusValue]) -> BusEntry
        {
          BusEntry(
            key: .path(path),
            value: .dictionary(
              key: "s", value: "a{sv}",
              [BusEntry(key: .string(interface.description), value: .properties(properties))]))
        }
        let items = products.map { object(item($0), itemInterface, ["Title": .string("Heroes")]) }
        let downloads = waits.map { id, reason in
          object(download(id), downloadInterface, TwoAgentsTests.properties(id, "waiting", reason))
        }
        return [.dictionary(key: "o", value: "a{sa{sv}}", items + downloads)]
      case "Get":
        return [.variant(request.arguments[1].text == "Inhibited" ? .boolean(false) : .string(library))]
      case "Subscriptions": return [.array(of: "a{sv}", subscriptions.map { .properties($0) })]
      case "Open": return content.map { [.string($0)] }
      case "Offer": return offer.map { [.properties($0)] }
      case "SetUrgency": return []
      default: return nil
      }
    }
  }

  private static func properties(_ id: String, _ state: String, _ reason: String) -> [String: BusValue] {
    [
      "Id": .string(id), "Product": .string(product), "Title": .string("Heroes"), "State": .string(state),
      "Reason": .string(reason), "BytesVerified": .uint64(1), "BytesTotal": .uint64(4),
    ]
  }

  /// Everything that a test has at hand.
  private struct House: Sendable {
    let program: DesktopSession
    let session: PrivateBus
    let own: StandIn
    let device: StandIn
    let desktop: StandIn
    let files: StandIn
    let login: StandIn
    let agents: [AgentPlace: Locked<Agent>]
    let isActive: Locked<Bool>
    /// Whether logind knows a session of the program.
    let inSession: Locked<Bool>
    /// Whether the session was active, for each notice.
    let notified: Locked<[Bool]>
    /// The command lines of each start of a program.
    let launches: AsyncStream<[[String]]>
    let launched: Locked<Int>
    let clock: ManualMonotonicClock
    let socket: String

    func ready(_ place: AgentPlace) async throws {
      _ = try await next("Subscriptions", of: place == .session ? own : device)
    }

    func agent(_ place: AgentPlace) -> StandIn { place == .session ? own : device }

    func issue(_ place: AgentPlace) throws {
      try agent(place).bus.send(
        BusSignal(
          "IssueReady", of: AgentFollower.agentInterface, at: AgentFollower.root,
          arguments: [.path(TwoAgentsTests.item()), .string(TwoAgentsTests.product)]))
    }

    func change(_ id: String, _ state: String, _ reason: String, at place: AgentPlace = .session) throws {
      try agent(place).bus.send(
        .propertiesChanged(
          of: TwoAgentsTests.downloadInterface, at: TwoAgentsTests.download(id),
          TwoAgentsTests.properties(id, state, reason)))
    }

    /// A person chooses the answer; the desktop takes the notice away for that.
    func choose(_ key: String, of number: UInt32) throws {
      try desktop.bus.send(
        BusSignal(
          "ActionInvoked", of: "org.freedesktop.Notifications", at: "/org/freedesktop/Notifications",
          arguments: [.uint32(number), .string(key)]))
      try desktop.bus.send(
        BusSignal(
          "NotificationClosed", of: "org.freedesktop.Notifications", at: "/org/freedesktop/Notifications",
          arguments: [.uint32(number), .uint32(2)]))
    }

    func search(_ member: String, _ arguments: [BusValue]) async throws {
      let shell = try BusConnection.open(.address(session.address))
      _ = try await shell.call(
        BusMethodCall(
          member, of: "org.gnome.Shell.SearchProvider2", at: DesktopSession.searchPath,
          destination: DesktopSession.busName, arguments: arguments))
      shell.close()
    }
  }

  private static func next(_ member: String, of standIn: StandIn) async throws -> BusRequest {
    for await request in standIn.calls where request.member == member { return request }
    throw CancellationError()
  }

  /// Between two looks at the program, for which others may need the thread.
  private static func pause() async throws { try await SystemMonotonicClock().sleep(for: .milliseconds(10)) }

  /// Runs the program until `body` returns; of the device's agent there is the socket, or not.
  private func withHouse(
    own: Agent = Agent(), device: Agent = Agent(content: "/device/heroes", library: "/device"),
    hasSocket: Bool = true, isActive: Bool = true, hasSession: Bool = true,
    _ body: (House) async throws -> Void
  ) async throws {
    let (session, machine) = (try PrivateBus(), try PrivateBus())
    try session.start()
    try machine.start()
    let socket = machine.directory.path("agent.sock")
    if hasSocket { _ = try FileDescriptor.open(socket, .writeOnly, options: .create) }
    let agents = [AgentPlace.session: Locked(own), .machine: Locked(device)]
    let (active, inSession) = (Locked(isActive), Locked(hasSession))
    let notified = Locked<[Bool]>([])
    let ownStandIn = try StandIn(AgentFollower.agent, on: session) { request in
      agents[.session]?.current.answer(request)
    }
    let deviceStandIn = try StandIn(AgentFollower.agent, on: machine) { request in
      agents[.machine]?.current.answer(request)
    }
    let desktop = try StandIn(NotificationServer.name, on: session) { request in
      switch request.member {
      case "GetCapabilities": return [.strings(["actions", "body"])]
      case "Notify":
        let count = notified.withLock { notified in
          notified.append(active.current)
          return UInt32(notified.count)
        }
        let replaced = UInt32(request.arguments[1].number ?? 0)
        return [.uint32(replaced > 0 ? replaced : count)]
      case "CloseNotification": return []
      default: return nil
      }
    }
    let files = try StandIn("org.freedesktop.FileManager1", on: session) { request in
      request.member == "ShowFolders" ? [] : nil
    }
    let login = try StandIn(SeatFollower.service, on: machine) { request in
      switch request.member {
      case "GetSession":
        request.arguments == [.string("auto")] && inSession.current ? [.path(Self.loginSession)] : nil
      case "Get": [.variant(.boolean(active.current))]
      default: nil
      }
    }
    let (launches, launch) = AsyncStream<[[String]]>.makeStream()
    let launched = Locked(0)
    var environment = session.environment
    environment["DBUS_SYSTEM_BUS_ADDRESS"] = machine.address
    let clock = ManualMonotonicClock()
    let program = try DesktopSession(
      environment: environment, clock: clock,
      launcher: ProgramLauncher { commands in
        launched.withLock { $0 += 1 }
        launch.yield(commands)
        return true
      }, isSandboxed: false, machineSocket: socket, log: Log(level: .error))
    let standIns = [ownStandIn, deviceStandIn, desktop, files, login]
    try await withThrowingDiscardingTaskGroup { group in
      for standIn in standIns { group.addTask { await standIn.run() } }
      for standIn in standIns { await standIn.ready() }
      group.addTask { try await program.run() }
      _ = try await Self.next("GetCapabilities", of: desktop)
      _ = try await Self.next("GetSession", of: login)
      try await body(
        House(
          program: program, session: session, own: ownStandIn, device: deviceStandIn, desktop: desktop,
          files: files,
          login: login, agents: agents, isActive: active, inSession: inSession, notified: notified,
          launches: launches, launched: launched, clock: clock,
          socket: socket))
      await program.stop()
      for standIn in standIns { standIn.bus.close() }
    }
    await session.stop()
    await machine.stop()
  }

  @Test("what the device's agent holds is read by its socket, and where that may not be used by its path")
  func devicesProduct() async throws {
    for hasSocket in [true, false] {
      try await withHouse(
        device: Agent(products: [Self.product], content: "/device/heroes", library: "/device"),
        hasSocket: hasSocket
      ) { house in
        try await house.ready(.machine)
        try await house.search("ActivateResult", [.string(Self.product), .strings([]), .uint32(0)])
        _ = try await Self.next("Open", of: house.device)
        var launches = house.launches.makeAsyncIterator()
        let bySocket = ["pullbox", "open", Self.product, "1", "--agent-socket", house.socket]
        let byPath = ["xdg-open", "/device/heroes"]
        #expect(await launches.next() == (hasSocket ? [bySocket, byPath] : [byPath]))
      }
    }
  }

  @Test("the socket of the device's agent is that of the programs") func socket() throws {
    let text = try RepositoryFile("Sources/PullboxAPI/Agent/AgentSocket.swift").text
    #expect(text.contains("systemPath = \"\(DesktopSession.machineSocket)\""))
  }

  @Test(
    "what the own agent has withdrawn is read at the device's, and what is nowhere is said not to be here")
  func withdrawnContent() async throws {
    try await withHouse(
      own: Agent(products: [Self.product], content: ""),
      device: Agent(products: [Self.product], content: "/device/heroes", library: "/device")
    ) { house in
      try await house.ready(.session)
      try await house.ready(.machine)
      try house.issue(.session)
      let ready = try await Self.next("Notify", of: house.desktop).arguments
      #expect(ready[3].text == "Heroes")
      try house.choose("0", of: 1)
      _ = try await Self.next("Open", of: house.own)
      _ = try await Self.next("Open", of: house.device)
      var launches = house.launches.makeAsyncIterator()
      #expect(await launches.next()?.last == ["xdg-open", "/device/heroes"])
      house.agents[.machine]?.withLock { $0.content = "" }
      try await house.search("ActivateResult", [.string(Self.product), .strings([]), .uint32(0)])
      let gone = try await Self.next("Notify", of: house.desktop).arguments
      #expect(gone[4].text == "It is not on this device.")
      #expect(house.launched.current == 1, "nothing opens an empty path")
    }
  }

  @Test("an agent that refuses to open is told of, and the issue keeps its notice") func refusedRead()
    async throws
  {
    try await withHouse(own: Agent(products: [Self.product], content: nil)) { house in
      try await house.ready(.session)
      try house.issue(.session)
      _ = try await Self.next("Notify", of: house.desktop)
      try house.choose("0", of: 1)
      var shown: Set<String> = []
      for _ in 0..<2 {
        shown.insert(try await Self.next("Notify", of: house.desktop).arguments[3].text ?? "")
      }
      #expect(shown == ["Heroes", "The agent has refused that."])
      #expect(house.launched.current == 0)
    }
  }

  @Test("a product that is withdrawn, or is here no more, takes its notice with it") func withdrawn()
    async throws
  {
    try await withHouse(own: Agent(products: [Self.product])) { house in
      try await house.ready(.session)
      try house.issue(.session)
      _ = try await Self.next("Notify", of: house.desktop)
      try house.own.bus.send(
        .propertiesChanged(of: Self.itemInterface, at: Self.item(), ["Withdrawn": .boolean(true)]))
      #expect(try await Self.next("CloseNotification", of: house.desktop).arguments == [.uint32(1)])
    }
  }

  @Test("room is made in the library of the agent that wants it; the shell's search shows the user's own")
  func makesRoom() async throws {
    try await withHouse { house in
      try await house.ready(.session)
      try await house.ready(.machine)
      try house.change("d1", "waiting", "insufficient-space", at: .machine)
      let notice = try await Self.next("Notify", of: house.desktop).arguments
      #expect(notice[5] == .strings(["default", "Make room", "0", "Make room", "1", "Later"]))
      try house.choose("0", of: 1)
      let shown = try await Self.next("ShowFolders", of: house.files).arguments
      #expect(shown == [.strings(["file:///device"]), .string("")])
      try await house.search("LaunchSearch", [.strings(["heroes"]), .uint32(0)])
      let own = try await Self.next("ShowFolders", of: house.files).arguments
      #expect(own == [.strings(["file:///own"]), .string("")])
    }
  }

  @Test("more than three that wait as the program starts are one notice, whose answer has all of them go on")
  func group() async throws {
    let waits = Dictionary(uniqueKeysWithValues: (1...4).map { ("d\($0)", "metered") })
    try await withHouse(own: Agent(waits: waits)) { house in
      let notice = try await Self.next("Notify", of: house.desktop).arguments
      #expect(notice[3].text == "4 downloads wait for a network, a time or a budget that lets them")
      try house.choose("0", of: 1)
      var hastened: [BusPath] = []
      for _ in 1...4 {
        let request = try await Self.next("SetUrgency", of: house.own)
        #expect(request.arguments == [.string("now")])
        hastened.append(request.path)
      }
      #expect(hastened == (1...4).map { Self.download("d\($0)") })
    }
  }

  @Test("of those that an answer is for, one that the agent does not know any more is passed over")
  func goneDownload() async throws {
    let waits = Dictionary(uniqueKeysWithValues: (1...4).map { ("d\($0)", "metered") })
    try await withHouse(own: Agent(waits: waits)) { house in
      house.own.refusals.withLock {
        $0[Self.download("d2")] = "com.pullbox.Agent1.Error.DownloadUnknown"
      }
      _ = try await Self.next("Notify", of: house.desktop)
      try house.choose("0", of: 1)
      for _ in 1...4 { _ = try await Self.next("SetUrgency", of: house.own) }
      while await !house.program.actionsUnderWay.isEmpty { try await Self.pause() }
      #expect(await house.program.plan.notices[.link] == nil, "nothing was refused")
    }
  }

  @Test("a read that was chosen of a link's notice does not bring back the product's, which a person closes")
  func readOfLink() async throws {
    let held: [String: BusValue] = ["title": .string("Heroes"), "held": .boolean(true)]
    try await withHouse(own: Agent(products: [Self.product], content: nil, offer: held)) { house in
      try await house.ready(.session)
      try house.issue(.session)
      _ = try await Self.next("Notify", of: house.desktop)
      try await DesktopSession.open(
        links: ["pullbox:buy/\(Self.product)"], environment: house.session.environment)
      let question = try await Self.next("Notify", of: house.desktop).arguments
      #expect(question[5] == .strings(["default", "Read", "0", "Read", "1", "Later"]))
      func tell(_ member: String, _ number: UInt32, _ last: BusValue) throws {
        try house.desktop.bus.send(
          BusSignal(
            member, of: "org.freedesktop.Notifications", at: "/org/freedesktop/Notifications",
            arguments: [.uint32(number), last]))
      }
      try tell("ActionInvoked", 2, .string("0"))
      let refused = try await Self.next("Notify", of: house.desktop).arguments
      #expect(refused[3].text == "The agent has refused that." && refused[1].number == 2)
      for number in [1, 2] as [UInt32] { try tell("NotificationClosed", number, .uint32(2)) }
      while await house.program.plan.notices[.link] != nil { try await Self.pause() }
      #expect(await house.program.plan.notices[.product(Self.product)] == nil)
    }
  }

  @Test("a new price is told, asked for again after a day, and its notice goes where it was agreed to")
  func prices() async throws {
    let subscription: [String: BusValue] = [
      "product": .string("com.example.monthly"), "newPrice": .string("3.99 EUR"),
      "needsConsent": .boolean(true), "accepted": .boolean(false),
    ]
    try await withHouse(own: Agent(subscriptions: [subscription])) { house in
      try await house.ready(.session)
      let notice = try await Self.next("Notify", of: house.desktop).arguments
      #expect(
        notice[4].text == "It is to cost \u{2068}3.99 EUR\u{2069}, and ends unless you agree.")
      house.agents[.session]?.withLock { $0.subscriptions[0]["accepted"] = .boolean(true) }
      // Both agents were asked, and are left alone for a minute.
      try await house.ready(.machine)
      await house.clock.waitForSleepers(2)
      house.clock.advance(by: AgentFollower.pricePause)
      await house.clock.waitForSleepers(2)
      house.clock.advance(by: AgentFollower.priceInterval)
      try await house.ready(.session)
      #expect(try await Self.next("CloseNotification", of: house.desktop).arguments == [.uint32(1)])
    }
  }

  @Test("while another session is at the seat no notice is shown; the bar on the icon goes on")
  func seat() async throws {
    try await withHouse(own: Agent(products: [Self.product]), isActive: false) { house in
      try await house.ready(.session)
      while await !house.program.plan.isHeldBack { await Task.yield() }
      let dock = try BusConnection.open(.address(house.session.address))
      let updates = dock.subscribe(
        BusMatch(
          sender: DesktopSession.busName,
          .signals(interface: "com.canonical.Unity.LauncherEntry", member: "Update")))
      var news = updates.makeAsyncIterator()
      while let piece = await news.next() { if case .appeared = piece { break } }
      try house.issue(.session)
      try house.change("d1", "active", "transferring")
      guard case .signal(let update)? = await news.next() else { throw CancellationError() }
      #expect(update.arguments.first == .string("application://com.pullbox.Desktop.desktop"))
      let members = try #require(update.arguments.last?.members)
      #expect(members["progress"] == .double(0.25) && members["progress-visible"] == .boolean(true))
      #expect(members["count"] == .int64(1) && members["count-visible"] == .boolean(false))
      house.isActive.withLock { $0 = true }
      try house.login.bus.send(
        .propertiesChanged(
          of: SeatFollower.session, at: Self.loginSession, ["Active": .boolean(true)]))
      #expect(try await Self.next("Notify", of: house.desktop).arguments[3].text == "Heroes")
      #expect(house.notified.current == [true], "whether the session was active")
      dock.close()
    }
  }

  @Test("where logind knows no session of the program nothing is held back; one that begins is looked at")
  func noSession() async throws {
    try await withHouse(own: Agent(products: [Self.product]), isActive: false, hasSession: false) { house in
      try await house.ready(.session)
      try house.issue(.session)
      _ = try await Self.next("Notify", of: house.desktop)
      house.inSession.withLock { $0 = true }
      try house.login.bus.send(
        BusSignal(
          "SessionNew", of: SeatFollower.manager, at: SeatFollower.path,
          arguments: [.string("1"), .path(Self.loginSession)]))
      while await !house.program.plan.isHeldBack { await Task.yield() }
      // Another one's session says nothing of this one.
      try house.login.bus.send(
        .propertiesChanged(
          of: SeatFollower.session, at: "/org/freedesktop/login1/session/_32", ["Active": .boolean(true)]))
      try house.change("d1", "waiting", "metered")
      try house.change("d2", "waiting", "battery-low")
      while await house.program.plan.waiting.count < 2 { await Task.yield() }
      house.isActive.withLock { $0 = true }
      try house.login.bus.send(
        .propertiesChanged(of: SeatFollower.session, at: Self.loginSession, ["Active": .boolean(true)]))
      for _ in 0..<2 { _ = try await Self.next("Notify", of: house.desktop) }
      #expect(house.notified.current == [false, true, true])
    }
  }

  @Test("readers live on when the program is started again, and are not throttled with it") func unit() throws
  {
    let lines = try RepositoryFile("deploy/user/pullbox-desktop.service").text.split(separator: "\n")
    #expect(lines.contains("KillMode=process"))
    #expect(!lines.contains { $0.hasPrefix("Memory") || $0.hasPrefix("CPU") || $0.hasPrefix("Tasks") })
  }
}
