import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Glibc
import HTTPClient
import HTTPServer
import MessageBus
import PackageTesting
import PullboxAPI
import PullboxAPIServer
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import DownloadAgent

/// polkit's place on the bus: answers each question as a test wants, and keeps what it was asked.
final class JudgeStandIn: Sendable {
  let bus: BusConnection
  let allowed: Locked<Set<String>>
  let asked = Locked<[BusRequest]>([])
  /// Whether it refuses to answer, as polkit does where the asker owns no action.
  let isClosed = Locked(false)

  init(on daemon: PrivateBus, allowing allowed: Set<String>) throws {
    self.allowed = Locked(allowed)
    bus = try BusConnection.open(
      .address(daemon.address), configuration: BusConfiguration(service: BusAuthority.name))
  }

  func run() async {
    while let request = await bus.nextRequest() {
      asked.withLock { $0.append(request) }
      guard !isClosed.current else {
        request.answer.refuse("org.freedesktop.PolicyKit1.Error.Failed", "Only trusted callers can use it")
        continue
      }
      let isAllowed = allowed.current.contains(request.arguments[1].text ?? "")
      request.answer.reply([
        .structure([.boolean(isAllowed), .boolean(!isAllowed), .dictionary(key: "s", value: "s", [])])
      ])
    }
  }
}

/// The whole agent on a bus of the test's own.
@Suite(
  .serialized, .timeLimit(.minutes(10)),
  .enabled(if: PrivateBus.isAvailable, "this machine has no dbus-daemon"))
struct AgentBusTests {
  private static let download: BusPath = BusObject.downloads

  private func call(
    _ client: BusConnection, _ member: String, _ interface: BusInterface, _ path: BusPath,
    _ arguments: [BusValue] = []
  ) async throws(BusError) -> [BusValue] {
    try await client.call(
      BusMethodCall(member, of: interface, at: path, destination: BusContract.name, arguments: arguments))
  }

  private func client(on daemon: PrivateBus) async throws -> BusConnection {
    let client = try BusConnection.open(.address(daemon.address))
    for await news in client.subscribe(BusMatch(sender: BusContract.name, .none)) {
      if case .appeared = news { break }
    }
    return client
  }

  /// The objects, whose changes are told to the client from now on.
  private func objects(_ client: BusConnection) async throws -> [BusPath: [String: BusValue]] {
    let answer = try await call(client, "GetManagedObjects", .objectManager, BusObject.root)
    guard case .dictionary(_, _, let entries)? = answer.first else { throw CancellationError() }
    var objects: [BusPath: [String: BusValue]] = [:]
    for entry in entries {
      let interfaces = try #require(entry.value.members)
      objects[try #require(entry.key.objectPath)] = interfaces.values.first?.members
    }
    return objects
  }

  private func withBus(_ body: (PrivateBus) async throws -> Void) async throws {
    let daemon = try PrivateBus(type: "system")
    try daemon.start()
    try await body(daemon)
    await daemon.stop()
  }

  @Test("a purchase on the bus is told, step by step, to the client that asked, up to the library")
  func purchase() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await withBus { daemon in
      try await server.open { url in
        try await harness.run(server: url, bus: daemon) { agent in
          let client = try await client(on: daemon)
          let following = client.subscribe(BusMatch(sender: BusContract.name, .signals()))
          #expect(try await objects(client).isEmpty)
          let bought = try await call(
            client, "Buy", BusContract.agent.name, BusObject.root,
            [.string(FixturePackage.product), .properties(["quantity": .uint32(1)])])
          let path = try #require(bought.first?.objectPath)
          #expect(path.isWithin(BusObject.transactions))
          var added: Set<BusPath> = []
          var isFinished = false
          for await news in following {
            guard case .signal(let signal) = news else { continue }
            if signal.member == "InterfacesAdded", let path = signal.arguments[0].objectPath {
              added.insert(path)
            }
            let changed = signal.arguments.count > 1 ? signal.arguments[1].members : nil
            if signal.path == path, changed?["Step"]?.text == "finished" { isFinished = true }
            if isFinished, added.contains(where: { $0.isWithin(BusObject.library) }) { break }
          }
          #expect(added.contains(path) && added.contains { $0.isWithin(BusObject.downloads) })
          let known = try await objects(client)
          let item = try #require(known.first { $0.key.isWithin(BusObject.library) })
          #expect(item.value["State"]?.text == "present")
          let opened = try await call(client, "Open", BusContract.libraryItem.name, item.key)
          #expect(opened.first?.text == item.value["Path"]?.text)
          _ = try await call(client, "Pin", BusContract.libraryItem.name, item.key, [.boolean(true)])
          let properties = try await client.properties(
            of: BusContract.libraryItem.name, at: item.key, destination: BusContract.name)
          #expect(properties["Pinned"]?.flag == true && properties["LastOpened"]?.number != 0)
          #expect(
            try await harness.get("/v1/library", as: LibraryResponse.self).items.first?.pinned == true)
        }
      }
    }
    #expect(server.state.current.purchases.count == 1)
  }

  @Test(
    "a download is paused, hastened, and goes on over the bus; what does not fit is refused as on the socket")
  func controls() async throws {
    let package = try FixturePackage.file(length: 3 << 20)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 1_500_000)] }
    let harness = try AgentHarness()
    try await withBus { daemon in
      try await server.open { url in
        try await harness.run(server: url, bus: daemon) { agent in
          let client = try await client(on: daemon)
          try server.queuePurchase()
          let active = try await agent.firstDownload { $0.bytesReceived >= ByteCount(1_500_000) }
          let path = try #require(BusObject.downloads.appending(identifier: active.id.description))
          let interface = BusContract.download.name
          _ = try await call(client, "Pause", interface, path)
          #expect(try await agent.download(.paused).id == active.id)
          _ = try await call(client, "SetUrgency", interface, path, [.string("now")])
          let state = try await client.property(
            "Urgency", of: interface, at: path, destination: BusContract.name)
          #expect(state == .string("now"))
          for (member, arguments, name) in [
            ("SetUrgency", [BusValue.string("soon")], "org.freedesktop.DBus.Error.InvalidArgs"),
            ("SetUrgency", [.byte(1)], "org.freedesktop.DBus.Error.InvalidArgs"),
            ("Explode", [], "org.freedesktop.DBus.Error.UnknownMethod"),
          ] as [(String, [BusValue], String)] {
            let error = await #expect(throws: BusError.self) {
              try await call(client, member, interface, path, arguments)
            }
            #expect(error?.name == name)
          }
          let missing = await #expect(throws: BusError.self) {
            try await call(client, "Pause", interface, "/com/pullbox/Agent1/downloads/x")
          }
          #expect(missing?.name == "com.pullbox.Agent1.Error.DownloadUnknown")
          let option = await #expect(throws: BusError.self) {
            try await call(
              client, "Buy", BusContract.agent.name, BusObject.root,
              [.string(FixturePackage.product), .properties(["quantities": .uint32(2)])])
          }
          #expect(option?.name == "org.freedesktop.DBus.Error.InvalidArgs")
          _ = try await call(client, "Resume", interface, path)
          _ = try await agent.ended()
          let over = await #expect(throws: BusError.self) { try await call(client, "Pause", interface, path) }
          #expect(over?.name == "com.pullbox.Agent1.Error.StateConflict")
        }
      }
    }
    #expect(try harness.placed(package))
    #expect(server.state.current.purchases.isEmpty)
  }

  @Test(
    "what runs describes itself as the contract says, and busctl walks through it",
    .enabled(if: PrivateBus.program("busctl") != nil, "this machine has no busctl"))
  func introspection() async throws {
    let harness = try AgentHarness()
    let server = FakeServer()
    try await withBus { daemon in
      try await server.open { url in
        try await harness.run(server: url, bus: daemon) { _ in
          let client = try await client(on: daemon)
          let answer = try await call(client, "Introspect", .introspectable, BusObject.root)
          let text = try #require(answer.first?.text)
          #expect(text.contains(BusContract.agent.xml) && text.contains("<node name=\"downloads\"/>"))
          let agent = try await client.properties(
            of: BusContract.agent.name, at: BusObject.root, destination: BusContract.name)
          let types = Dictionary(
            uniqueKeysWithValues: BusContract.agent.properties.map { ($0.name, $0.type) })
          #expect(agent.mapValues(\.type) == types)
          let walk = ["--system", "tree", "com.pullbox.Agent1"]
          let tree = try #require(try await daemon.run("busctl", walk))
          #expect(tree.ending == .exited(0), "\(tree.output)")
        }
      }
    }
  }

  @Test("the bus goes in the middle of a download and comes back: nothing stops, and the name is there again")
  func busGoes() async throws {
    let package = try FixturePackage.file(length: 3 << 20)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 1_500_000)] }
    let harness = try AgentHarness()
    try await withBus { daemon in
      try await server.open { url in
        try await harness.run(server: url, bus: daemon) { agent in
          let before = try await client(on: daemon)
          try server.queuePurchase()
          let active = try await agent.firstDownload { $0.bytesReceived >= ByteCount(1_500_000) }
          #expect(try await objects(before).count == 2)
          await daemon.stop()
          let path = "/v1/downloads/\(active.id)"
          #expect(try await harness.ask("POST", "\(path)/pause").status == 200)
          #expect(try await harness.ask("POST", "\(path)/resume").status == 200)
          #expect(try await agent.ended().state == .finished)
          try daemon.start()
          let after = try await client(on: daemon)
          #expect(try await objects(after).isEmpty == false)
        }
      }
    }
    #expect(try harness.placed(package))
  }

  @Test(
    "nobody who has not asked costs an event: the agent follows none, and again none once the last one has gone"
  )
  func unasked() async throws {
    let harness = try AgentHarness()
    let server = FakeServer()
    try await withBus { daemon in
      try await server.open { url in
        try await harness.run(server: url, bus: daemon) { agent in
          let idle = try await client(on: daemon)
          let following = idle.subscribe(BusMatch(sender: BusContract.name, .signals()))
          #expect(agent.hub.observerCount == 0)
          let watcher = try await client(on: daemon)
          _ = try await objects(watcher)
          #expect(agent.hub.observerCount == 1)
          watcher.close()
          while agent.hub.observerCount > 0 { await Task.yield() }
          following.cancel()
        }
      }
    }
  }

  @Test("a connection that asks again and again is waited for once, and not at all where it has nothing here")
  func repeatedQuestions() async throws {
    let harness = try AgentHarness()
    let server = FakeServer()
    try await withBus { daemon in
      try await server.open { url in
        try await harness.run(server: url, bus: daemon) { agent in
          let bus = try #require(agent.bus)
          let client = try await client(on: daemon)
          let arguments: [BusValue] = [.string("kiosk"), .string("a show")]
          for _ in 0..<40 {
            let cookie = try await call(client, "Inhibit", BusContract.agent.name, BusObject.root, arguments)
            while await bus.followed.count != 1 { await Task.yield() }
            _ = try await call(client, "Uninhibit", BusContract.agent.name, BusObject.root, cookie)
            while await bus.followed.count != 0 { await Task.yield() }
          }
          for _ in 0..<40 { _ = try await objects(client) }
          let cookie = try await call(client, "Inhibit", BusContract.agent.name, BusObject.root, arguments)
          _ = try await call(client, "Uninhibit", BusContract.agent.name, BusObject.root, cookie)
          #expect(await bus.followed.count == 1)
          client.close()
          while await bus.followed.count > 0 { await Task.yield() }
          while agent.hub.observerCount > 0 { await Task.yield() }
        }
      }
    }
  }

  /// The policy that comes with the packages, with the user of the test in the place of the agent's.
  private static func shippedPolicy() throws -> String {
    let text = try RepositoryFile("deploy/dbus/system.d/com.pullbox.Agent1.conf").text
    let start = try #require(text.firstRange(of: "<busconfig>")).upperBound
    let end = try #require(text.firstRange(of: "</busconfig>")).lowerBound
    return String(text[start..<end]).replacing("user=\"pullbox-agent\"", with: "user=\"\(getuid())\"")
  }

  @Test(
    "by the stock policy of the system's bus and ours, a watcher that reads is told of more than 256 KiB")
  func stockPolicy() async throws {
    let harness = try AgentHarness()
    let server = FakeServer()
    let daemon = try PrivateBus(type: "system", policy: Self.shippedPolicy(), isStock: true)
    try daemon.start()
    try await server.open { url in
      try await harness.run(server: url, bus: daemon) { agent in
        let client = try await client(on: daemon)
        var news = client.subscribe(BusMatch(sender: BusContract.name, .signals())).makeAsyncIterator()
        guard case .appeared? = await news.next() else { return #expect(Bool(false)) }
        _ = try await objects(client)
        var download = try BusContractTests.download()
        var length = 0
        while length < 600 << 10 {
          download.cause = String(repeating: "x", count: 4000) + "\(length)"
          agent.hub.publish(.download(download))
          guard case .signal(let signal)? = await news.next() else { return #expect(Bool(false)) }
          length += signal.length
        }
      }
    }
    await daemon.stop()
  }

  @Test(
    "a watcher that reads nothing costs the one beside it no signal, and is forgotten with its end",
    .enabled(if: PrivateBus.hasMockServices, "this machine has no python3-dbus"))
  func sloth() async throws {
    let harness = try AgentHarness()
    let server = FakeServer()
    try await withBus { daemon in
      try await server.open { url in
        try await harness.run(server: url, bus: daemon) { agent in
          let bus = try #require(agent.bus)
          let client = try await client(on: daemon)
          // Without a loop of its own it reads for its call alone.
          let program = """
            import dbus, signal
            bus = dbus.SystemBus()
            bus.call_blocking("com.pullbox.Agent1", "/com/pullbox/Agent1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", "", ())
            signal.pause()
            """
          let sloth = try #require(try daemon.launch("python3", ["-c", program]))
          while await bus.followed.count != 1 { await Task.yield() }
          var news = client.subscribe(BusMatch(sender: BusContract.name, .signals())).makeAsyncIterator()
          guard case .appeared? = await news.next() else { return #expect(Bool(false)) }
          _ = try await objects(client)
          var download = try BusContractTests.download()
          var length = 0
          while length < 2 << 20 {
            let cause = String(repeating: "x", count: 4000) + "\(length)"
            download.cause = cause
            agent.hub.publish(.download(download))
            guard case .signal(let signal)? = await news.next() else { return #expect(Bool(false)) }
            if signal.member == "PropertiesChanged" {
              #expect(signal.arguments[1].members?["Cause"]?.text == cause)
            }
            length += signal.length
          }
          while await bus.followed.count != 2 { await Task.yield() }
          await sloth.process.killAndWait()
          while await bus.followed.count != 1 { await Task.yield() }
          client.close()
        }
      }
    }
  }

  @Test("where the policy of the bus does not let the agent ask a watcher, the log says so")
  func strictPolicy() async throws {
    let harness = try AgentHarness()
    let server = FakeServer()
    let lines = LogLines()
    let policy = try Self.shippedPolicy().split(separator: "\n").filter { !$0.contains("\"Ping\"") }
    let daemon = try PrivateBus(type: "system", policy: policy.joined(separator: "\n"), isStock: true)
    try daemon.start()
    try await server.open { url in
      try await harness.run(server: url, bus: daemon, log: lines.log()) { agent in
        let client = try await client(on: daemon)
        _ = try await objects(client)
        var download = try BusContractTests.download()
        download.cause = String(repeating: "x", count: 40_000)
        agent.hub.publish(.download(download))
        _ = await lines.first(with: "does not let the agent ask", "AccessDenied")
      }
    }
    await daemon.stop()
  }

  @Test("a presentation is told to all, and ends with the connection that asked for it")
  func presentations() async throws {
    let harness = try AgentHarness()
    let server = FakeServer()
    try await withBus { daemon in
      try await server.open { url in
        try await harness.run(server: url, bus: daemon) { _ in
          let client = try await client(on: daemon)
          var news = client.subscribe(.properties(of: BusContract.name, at: BusObject.root))
            .makeAsyncIterator()
          guard case .appeared? = await news.next() else { return #expect(Bool(false)) }
          func change(to isInhibited: Bool) -> BusNews {
            .signal(
              .propertiesChanged(
                of: BusContract.agent.name, at: BusObject.root, ["Inhibited": .boolean(isInhibited)]))
          }
          let kiosk = try await self.client(on: daemon)
          let arguments: [BusValue] = [.string("kiosk"), .string("a show")]
          let first = try await call(kiosk, "Inhibit", BusContract.agent.name, BusObject.root, arguments)
          #expect(await news.next() == change(to: true))
          let foreign = await #expect(throws: BusError.self) {
            try await call(client, "Uninhibit", BusContract.agent.name, BusObject.root, first)
          }
          #expect(foreign?.name == "org.freedesktop.DBus.Error.InvalidArgs")
          _ = try await call(kiosk, "Uninhibit", BusContract.agent.name, BusObject.root, first)
          #expect(await news.next() == change(to: false))
          _ = try await call(kiosk, "Inhibit", BusContract.agent.name, BusObject.root, arguments)
          #expect(await news.next() == change(to: true))
          kiosk.close()
          #expect(await news.next() == change(to: false))
        }
      }
    }
  }

  @Test(
    "the socket's rule and polkit's never disagree: of each kind of change, for a member of the group, a user whom polkit allows, and one whom it does not",
    arguments: ChangeAction.allCases)
  func oneRule(action: ChangeAction) async throws {
    try await withBus { daemon in
      let judge = try JudgeStandIn(on: daemon, allowing: [])
      let bus = try BusConnection.open(.address(daemon.address))
      await withDiscardingTaskGroup { group in
        group.addTask { await judge.run() }
        for await state in judge.bus.states() where state.ownsService { break }
        for await state in bus.states() where state.isConnected { break }
        var access = ControlAccess(agentUser: 7)
        access.group = 900
        let authority = ChangeAuthority(
          access: access, judge: BusAuthority(bus: bus, log: Log(level: .error)))
        let process = getpid()
        for (groups, isAllowed, expected) in [
          ([UInt32(900)], false, true), ([], true, true), ([], false, false),
        ] {
          judge.allowed.withLock { $0 = isAllowed ? [action.identifier] : [] }
          let credentials = PeerCredentials(
            process: process, user: 1234, group: 1234, supplementaryGroups: groups)
          let socket = await authority.allows(action, ChangeSubject(credentials: credentials))
          let onBus = await authority.allows(
            action, ChangeSubject(credentials: credentials, busName: bus.state.uniqueName?.description))
          #expect(socket == expected && onBus == expected)
        }
        let subjects = judge.asked.current.map { $0.arguments[0].elements?.first?.text }
        #expect(subjects == ["unix-process", "system-bus-name", "unix-process", "system-bus-name"])
        #expect(judge.asked.current.first?.arguments[0].elements?.last?["uid"]?.number == 1234)
        judge.bus.close()
      }
    }
  }

  @Test(
    "of one whom polkit allows nothing, the socket and the bus both answer what is for sale and subscribed, without a question to polkit, and both ask it before a purchase or a change of a subscription"
  )
  func watchingIsFree() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await withBus { daemon in
      let judge = try JudgeStandIn(on: daemon, allowing: [])
      try await server.open { url in
        try await harness.run(server: url, bus: daemon) { agent in
          try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await judge.run() }
            for await state in judge.bus.states() where state.ownsService { break }
            let client = try await client(on: daemon)
            // Of this test's own user both rules would allow all: the agent's authority is asked as of another.
            let credentials = PeerCredentials(process: getpid(), user: 1234, group: 1234)
            let authority = ChangeAuthority(
              access: ControlAccess(agentUser: 7), judge: BusAuthority(bus: client, log: Log(level: .error)))
            for (method, arguments, route) in [
              ("Offer", [.string(FixturePackage.product), .string("")], "/v1/products"),
              ("Subscriptions", [], "/v1/subscriptions"),
            ] as [(String, [BusValue], String)] {
              #expect(BusContract.action(of: method) == nil)
              #expect(try await harness.ask("GET", route).status != 403)
              do throws(BusError) {
                _ = try await call(client, method, BusContract.agent.name, BusObject.root, arguments)
              } catch {
                // Whether there is such a product is the services' to say.
                #expect(error.name != "org.freedesktop.DBus.Error.AccessDenied")
              }
            }
            #expect(judge.asked.current.isEmpty)
            for action in [
              BusContract.action(of: "Buy"), ChangeAction(.post, "/v1/purchases"),
              ChangeAction(.patch, "/v1/subscriptions/{originalId}"),
              BusContract.action(of: "AMethodOfTomorrow"),
            ] {
              let action = try #require(action)
              for name in [nil, client.state.uniqueName?.description] {
                let subject = ChangeSubject(credentials: credentials, busName: name)
                #expect(await !authority.allows(action, subject))
              }
            }
            let asked = judge.asked.current.map { $0.arguments[1].text }
            #expect(asked == Array(repeating: "com.pullbox.Agent1.buy", count: 8))
            judge.bus.close()
          }
        }
      }
    }
  }

  @Test(
    "a process whose user or start the kernel does not tell, or that began after its connection, is not asked about, and is refused"
  )
  func unknownProcesses() async throws {
    try await withBus { daemon in
      let judge = try JudgeStandIn(on: daemon, allowing: Set(ChangeAction.allCases.map(\.identifier)))
      let bus = try BusConnection.open(.address(daemon.address))
      await withDiscardingTaskGroup { group in
        group.addTask { await judge.run() }
        for await state in judge.bus.states() where state.ownsService { break }
        let authority = ChangeAuthority(
          access: ControlAccess(agentUser: 7), judge: BusAuthority(bus: bus, log: Log(level: .error)))
        let own = getpid()
        var earlier = PeerCredentials(process: own, user: 1234, group: 1234)
        earlier.accepted = 0
        for credentials in [
          earlier,
          PeerCredentials(process: own, user: 65_534, group: 65_534),
          PeerCredentials(process: 0, user: 1234, group: 1234), nil,
        ] {
          #expect(await !authority.allows(.pause, ChangeSubject(credentials: credentials)))
        }
        #expect(judge.asked.current.isEmpty)
        judge.bus.close()
      }
    }
  }

  @Test("a judge that does not answer refuses, and the log says so once until it answers again")
  func closedJudge() async throws {
    try await withBus { daemon in
      let judge = try JudgeStandIn(on: daemon, allowing: [ChangeAction.pause.identifier])
      let bus = try BusConnection.open(.address(daemon.address))
      let lines = Locked<[String]>([])
      let log = Log(level: .info, format: .json) { line in
        lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
      }
      await withDiscardingTaskGroup { group in
        group.addTask { await judge.run() }
        for await state in judge.bus.states() where state.ownsService { break }
        for await state in bus.states() where state.isConnected { break }
        let authority = BusAuthority(bus: bus, log: log)
        let subject = ChangeSubject(busName: bus.state.uniqueName?.description)
        for (isClosed, count) in [(true, 1), (true, 1), (false, 1), (true, 2)] {
          judge.isClosed.withLock { $0 = isClosed }
          #expect(await authority.allows(.pause, subject, mayAsk: false) == !isClosed)
          #expect(lines.current.count == count)
        }
        #expect(lines.current.first?.contains("Only trusted callers") == true)
        judge.bus.close()
      }
    }
  }

  @Test("each route of the socket is of a kind of change, and of the kind of the method that does the same")
  func kinds() {
    #expect(ChangeAction(.post, "/v1/downloads/{id}/pause") == BusContract.action(of: "Pause"))
    #expect(ChangeAction(.post, "/v1/downloads/{id}/resume") == BusContract.action(of: "Resume"))
    #expect(ChangeAction(.post, "/v1/downloads/{id}/cancel") == BusContract.action(of: "Cancel"))
    #expect(ChangeAction(.patch, "/v1/downloads/{id}") == BusContract.action(of: "SetUrgency"))
    #expect(ChangeAction(.post, "/v1/library/{product}/pin") == BusContract.action(of: "Pin"))
    #expect(ChangeAction(.post, "/v1/library/{product}/opened") == BusContract.action(of: "Open"))
    #expect(ChangeAction(.post, "/v1/restore") == BusContract.action(of: "Restore"))
    #expect(ChangeAction(.post, "/v1/purchases") == BusContract.action(of: "Buy"))
    #expect(ChangeAction(.delete, "/v1/library/{product}") == .remove)
    #expect(ChangeAction(.put, "/v1/library/{product}/progress") == .keep)
    #expect(ChangeAction(.post, "/v1/readers") == .readers)
    #expect(ChangeAction(.delete, "/v1/readers/{name}") == .readers)
    #expect(ChangeAction(.post, "/v1/anything/new") == .buy)
  }

  @Test("of the socket's changing routes, those that pay for something alone have the strictest kind")
  func strictest() async throws {
    let harness = try AgentHarness()
    let server = FakeServer()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        var routes = agent.control.routes()
        var changing = 0
        var strictest: Set<String> = []
        routes.wrap { method, pattern in
          guard method != .get, method != .head else { return nil }
          changing += 1
          if ChangeAction(method, pattern) == .buy { strictest.insert(pattern) }
          return nil
        }
        let paying = ["/v1/purchases", "/v1/codes/{code}"]
        let others = strictest.subtracting(paying).filter {
          !$0.hasPrefix("/v1/subscriptions/") && $0 != "/v1/transactions/{id}/refund-request"
        }
        #expect(changing > 20 && strictest.isSuperset(of: paying) && others.isEmpty, "\(others.sorted())")
      }
    }
  }
}
