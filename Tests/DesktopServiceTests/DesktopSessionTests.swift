import CoreTypes
import Files
import MessageBus
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import DesktopService

/// The whole program on a bus of the test's own, with an agent and a desktop that stand in.
@Suite(
  .serialized, .timeLimit(.minutes(5)),
  .enabled(if: PrivateBus.isAvailable, "this machine has no dbus-daemon"))
struct DesktopSessionTests {
  private static let product = "com.example.heroes"
  private static let item: BusPath = "/com/pullbox/Agent1/library/com_2eexample_2eheroes"

  private static func agent(_ request: BusRequest) -> [BusValue]? {
    switch request.member {
    case "GetManagedObjects":
      let properties: BusValue = .properties([
        "Title": .string("<b>Heroes</b> & Co"), "ProductTitle": .string(""), "Cover": .string("/c.png"),
        "LastOpened": .int64(0), "Path": .string("/l/heroes"),
      ])
      let interfaces: BusValue = .dictionary(
        key: "s", value: "a{sv}",
        [BusEntry(key: .string("com.pullbox.Agent1.LibraryItem"), value: properties)])
      return [
        .dictionary(key: "o", value: "a{sa{sv}}", [BusEntry(key: .path(item), value: interfaces)])
      ]
    case "Get": return [.variant(request.arguments[1].text == "Inhibited" ? .boolean(false) : .string("/l"))]
    case "Subscriptions": return [.array(of: "a{sv}", [])]
    case "Open": return [.string("/l/heroes")]
    case "Offer":
      return [
        .properties([
          "title": .string("Heroes"), "price": .string("2.99 EUR"), "shown": .string("2.99 EUR"),
          "held": .boolean(false),
        ])
      ]
    case "Buy": return [.path("/com/pullbox/Agent1/transactions/t")]
    default: return nil
    }
  }

  private static func desktop(_ request: BusRequest) -> [BusValue]? {
    switch request.member {
    case "GetCapabilities": [.strings(["actions", "body", "body-markup"])]
    case "Notify": [.uint32(request.arguments[1].number == 0 ? 7 : UInt32(request.arguments[1].number ?? 0))]
    case "CloseNotification", "AddNotification", "RemoveNotification": []
    default: nil
    }
  }

  /// Runs the program between both, until `body` returns; in a sandbox the desktop is the portal.
  private func withDesktop(
    isSandboxed: Bool = false, holding held: Set<String> = [],
    _ body: (PrivateBus, StandIn, StandIn, Locked<[[[String]]]>) async throws -> Void
  ) async throws {
    let daemon = try PrivateBus()
    try daemon.start()
    let agent = try StandIn(
      AgentFollower.agent, on: daemon, holding: held, answering: Self.agent)
    let desktop = try StandIn(
      isSandboxed ? PortalNotifications.name : NotificationServer.name, on: daemon, answering: Self.desktop)
    let started = Locked<[[[String]]]>([])
    // The machine's bus is another one, which never comes.
    var environment = daemon.environment
    environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=\(daemon.directory.path("none"))"
    let session = try DesktopSession(
      environment: environment,
      launcher: ProgramLauncher { commands in
        started.withLock { $0.append(commands) }
        return true
      }, isSandboxed: isSandboxed, log: Log(level: .error))
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { await agent.run() }
      group.addTask { await desktop.run() }
      await agent.ready()
      await desktop.ready()
      group.addTask { try await session.run() }
      try await body(daemon, agent, desktop, started)
      await session.stop()
      agent.bus.close()
      desktop.bus.close()
    }
    await daemon.stop()
  }

  private func next(_ member: String, of standIn: StandIn) async throws -> BusRequest {
    for await request in standIn.calls where request.member == member { return request }
    throw CancellationError()
  }

  @Test("an issue comes as a notice with its cover, as text; Read opens page 1, and the notice goes")
  func issue() async throws {
    try await withDesktop { _, agent, desktop, started in
      _ = try await next("GetCapabilities", of: desktop)
      _ = try await next("Subscriptions", of: agent)
      try agent.bus.send(
        BusSignal(
          "IssueReady", of: AgentFollower.agentInterface, at: AgentFollower.root,
          arguments: [.path(Self.item), .string(Self.product)]))
      let notice = try await next("Notify", of: desktop).arguments
      #expect(notice[3] == .string("<b>Heroes</b> & Co"), "the summary is plain text")
      #expect(notice[4] == .string("A new issue is here."))
      #expect(notice[5] == .strings(["default", "Read", "0", "Read", "1", "Later"]))
      #expect(notice[6]["image-path"]?.text == "/c.png" && notice[6]["urgency"]?.number == 1)
      try desktop.bus.send(
        BusSignal(
          "ActionInvoked", of: "org.freedesktop.Notifications", at: "/org/freedesktop/Notifications",
          arguments: [.uint32(7), .string("0")]))
      _ = try await next("Open", of: agent)
      _ = try await next("CloseNotification", of: desktop)
      #expect(started.current == [[["pullbox", "open", Self.product, "1"], ["xdg-open", "/l/heroes"]]])
    }
  }

  @Test(
    "a link to buy asks with the price; it is bought by the button and by nothing else, at the price that was shown"
  )
  func link() async throws {
    try await withDesktop { daemon, agent, desktop, _ in
      _ = try await next("GetCapabilities", of: desktop)
      _ = try await next("Subscriptions", of: agent)
      try await DesktopSession.open(
        links: ["pullbox:buy/\(Self.product)"], environment: daemon.environment)
      let notice = try await next("Notify", of: desktop).arguments
      #expect(notice[3] == .string("Heroes") && notice[4] == .string("Buy it for \u{2068}2.99 EUR\u{2069}?"))
      #expect(notice[5] == .strings(["default", "Later", "0", "Later", "1", "Buy"]))
      for key in ["default", "1"] {
        try desktop.bus.send(
          BusSignal(
            "ActionInvoked", of: "org.freedesktop.Notifications", at: "/org/freedesktop/Notifications",
            arguments: [.uint32(7), .string(key)]))
      }
      let bought = try await next("Buy", of: agent)
      #expect(bought.arguments == [.string(Self.product), .properties(["shown": .string("2.99 EUR")])])
      #expect(bought.mayAsk)
    }
  }

  @Test("an action that takes its time, such as a password, delays no other answer") func slowAction()
    async throws
  {
    try await withDesktop(holding: ["Buy"]) { daemon, agent, desktop, _ in
      _ = try await next("GetCapabilities", of: desktop)
      _ = try await next("Subscriptions", of: agent)
      func choose(_ key: String) throws {
        try desktop.bus.send(
          BusSignal(
            "ActionInvoked", of: "org.freedesktop.Notifications", at: "/org/freedesktop/Notifications",
            arguments: [.uint32(7), .string(key)]))
      }
      try await DesktopSession.open(
        links: ["pullbox:buy/\(Self.product)"], environment: daemon.environment)
      _ = try await next("Notify", of: desktop)
      // Twice, as an impatient hand does: it is bought once.
      for _ in 0..<2 { try choose("1") }
      let buying = try await next("Buy", of: agent)
      try await DesktopSession.open(links: ["pullbox:restore"], environment: daemon.environment)
      _ = try await next("Notify", of: desktop)
      try choose("0")
      var members: [String] = []
      for await call in agent.calls {
        members.append(call.member)
        if call.member == "Restore" { break }
      }
      #expect(members == ["Restore"])
      buying.answer.reply([.path("/com/pullbox/Agent1/transactions/t")])
    }
  }

  @Test("a download that failed and goes on is told of again, though its changes do not name it")
  func goesOn() async throws {
    try await withDesktop { _, agent, desktop, _ in
      _ = try await next("GetCapabilities", of: desktop)
      _ = try await next("Subscriptions", of: agent)
      func change(_ properties: [String: BusValue]) throws {
        try agent.bus.send(
          .propertiesChanged(
            of: "com.pullbox.Agent1.Download", at: "/com/pullbox/Agent1/downloads/d1", properties))
      }
      // Nothing is known of this one.
      try change(["State": .string("waiting"), "Reason": .string("metered")])
      try change([
        "Id": .string("d1"), "Product": .string(Self.product), "Title": .string("Heroes"),
        "State": .string("failed"), "Reason": .string("entitlement-revoked"),
      ])
      try change(["State": .string("waiting"), "Reason": .string("metered")])
      let notice = try await next("Notify", of: desktop).arguments
      #expect(notice[3] == .string("Heroes"))
      #expect(notice[5] == .strings(["default", "Download anyway", "0", "Download anyway", "1", "Later"]))
    }
  }

  @Test("the end of a notice that another is about to replace is not the end of that one")
  func replacement() async throws {
    let daemon = try PrivateBus()
    try daemon.start()
    let ended = Locked<BusConnection?>(nil)
    let desktop = try StandIn(
      NotificationServer.name, on: daemon,
      answering: { request in
        // A person closes number 7 while its replacement is on the way.
        if request.member == "Notify", request.arguments[1].number == 7 {
          try? ended.current?.send(
            BusSignal(
              "NotificationClosed", of: "org.freedesktop.Notifications", at: "/org/freedesktop/Notifications",
              arguments: [.uint32(7), .uint32(2)]))
        }
        return Self.desktop(request)
      })
    ended.withLock { $0 = desktop.bus }
    let bus = try BusConnection.open(.address(daemon.address))
    let server = NotificationServer(on: bus, words: NoticeWords(locale: "C"))
    let answers = Locked<[NoticeAnswer]>([])
    await withDiscardingTaskGroup { group in
      group.addTask { await desktop.run() }
      await desktop.ready()
      group.addTask { await server.follow { answer in answers.withLock { $0.append(answer) } } }
      _ = try? await next("GetCapabilities", of: desktop)
      try? await server.show(Notice(.product("a"), "1", "b"))
      try? await server.show(Notice(.product("a"), "2", "b"))
      await server.close(.product("a"))
      let closed = try? await next("CloseNotification", of: desktop)
      #expect(closed?.arguments == [.uint32(7)], "it stands there")
      #expect(!answers.current.contains(.closed(.product("a"))))
      bus.close()
      desktop.bus.close()
    }
    await daemon.stop()
  }

  @Test(
    "an answer that the desktop gave before it took a replacement is one to the old notice, and one of later to the new, whenever they are read",
    arguments: ["ActionInvoked", "NotificationClosed"])
  func lateAnswers(_ member: String) async throws {
    @Sendable func signal(_ member: String, _ number: UInt32) -> BusSignal {
      BusSignal(
        member, of: "org.freedesktop.Notifications", at: "/org/freedesktop/Notifications",
        arguments: [.uint32(number), member == "ActionInvoked" ? .string("0") : .uint32(2)])
    }
    let daemon = try PrivateBus()
    try daemon.start()
    let sender = Locked<BusConnection?>(nil)
    let desktop = try StandIn(
      NotificationServer.name, on: daemon,
      answering: { request in
        guard request.member == "Notify" else { return Self.desktop(request) }
        if request.arguments[1].number == 7 { try? sender.current?.send(signal(member, 7)) }
        return [.uint32(request.arguments[3].text == "other" ? 8 : 7)]
      })
    sender.withLock { $0 = desktop.bus }
    let bus = try BusConnection.open(.address(daemon.address))
    let server = NotificationServer(on: bus, words: NoticeWords(locale: "C"))
    let (answers, given) = AsyncStream<NoticeAnswer>.makeStream()
    let isFree = AsyncSignal()
    await withDiscardingTaskGroup { group in
      group.addTask { await desktop.run() }
      await desktop.ready()
      group.addTask {
        await server.follow { answer in
          given.yield(answer)
          guard answer == .chosen(.later, of: .product("b")) else { return }
          await isFree.wait(atMost: nil, clock: SystemMonotonicClock())
        }
      }
      _ = try? await next("GetCapabilities", of: desktop)
      try? await server.show(Notice(.product("a"), "one", "b", actions: [.read(product: "old")]))
      try? await server.show(Notice(.product("b"), "other", "b", actions: [.later]))
      var answers = answers.makeAsyncIterator()
      try? desktop.bus.send(signal("ActionInvoked", 8))
      while let answer = await answers.next(), answer != .chosen(.later, of: .product("b")) {}
      // Nothing is read until the other one is numbered.
      try? await server.show(Notice(.product("a"), "two", "b", actions: [.read(product: "new")]))
      try? desktop.bus.send(signal("ActionInvoked", 7))
      isFree.signal()
      if member == "ActionInvoked" {
        #expect(await answers.next() == .chosen(.read(product: "old"), of: .product("a")))
      }
      #expect(await answers.next() == .chosen(.read(product: "new"), of: .product("a")))
      await server.close(.product("a"))
      let closed = try? await next("CloseNotification", of: desktop)
      #expect(closed?.arguments == [.uint32(7)], "it stands there")
      bus.close()
      desktop.bus.close()
    }
    await daemon.stop()
  }

  @Test(
    "in a sandbox the portal shows the issue, by its title as text; what it tells of the button takes it back and opens page 1, and another issue has a notice of its own"
  )
  func portal() async throws {
    try await withDesktop(isSandboxed: true) { _, agent, desktop, started in
      _ = try await next("Subscriptions", of: agent)
      func come(_ product: String) throws {
        try agent.bus.send(
          BusSignal(
            "IssueReady", of: AgentFollower.agentInterface, at: AgentFollower.root,
            arguments: [.path(Self.item), .string(product)]))
      }
      try come(Self.product)
      let notice = try await next("AddNotification", of: desktop).arguments
      #expect(notice[0] == .string("product/\(Self.product)"))
      #expect(notice[1]["title"]?.text == "<b>Heroes</b> & Co")
      #expect(notice[1]["body"]?.text == "A new issue is here.")
      let buttons = try #require(notice[1]["buttons"]?.elements)
      #expect(buttons.map { $0["label"]?.text } == ["Read", "Later"])
      #expect(notice[1]["default-action"]?.text == "default")
      // Of an earlier run of the program.
      for identifier in ["product/other", "product/\(Self.product)"] {
        try desktop.bus.send(
          BusSignal(
            "ActionInvoked", of: PortalNotifications.interface, at: PortalNotifications.path,
            arguments: [.string(identifier), .string("0"), .array(of: "v", [])]))
      }
      let removed = try await next("RemoveNotification", of: desktop).arguments
      #expect(removed == [.string("product/\(Self.product)")])
      _ = try await next("Open", of: agent)
      try come("b")
      let other = try await next("AddNotification", of: desktop).arguments
      #expect(other[0] == .string("product/b"))
      #expect(started.current == [[["pullbox", "open", Self.product, "1"], ["xdg-open", "/l/heroes"]]])
    }
  }

  @Test("what no longer holds is taken back from the portal")
  func portalRemoval() async throws {
    try await withDesktop(isSandboxed: true) { _, agent, desktop, _ in
      _ = try await next("Subscriptions", of: agent)
      try agent.bus.send(
        BusSignal(
          "IssueReady", of: AgentFollower.agentInterface, at: AgentFollower.root,
          arguments: [.path(Self.item), .string(Self.product)]))
      _ = try await next("AddNotification", of: desktop)
      try agent.bus.send(
        BusSignal(
          "InterfacesRemoved", of: .objectManager, at: AgentFollower.root,
          arguments: [.path(Self.item), .strings(["com.pullbox.Agent1.LibraryItem"])]))
      let removed = try await next("RemoveNotification", of: desktop).arguments
      #expect(removed == [.string("product/\(Self.product)")])
    }
  }

  @Test("the shell finds titles of the library")
  func search() async throws {
    try await withDesktop { daemon, agent, _, _ in
      _ = try await next("Subscriptions", of: agent)
      let shell = try BusConnection.open(.address(daemon.address))
      func ask(_ member: String, _ arguments: [BusValue]) async throws -> [BusValue] {
        try await shell.call(
          BusMethodCall(
            member, of: "org.gnome.Shell.SearchProvider2", at: DesktopSession.searchPath,
            destination: DesktopSession.busName, arguments: arguments))
      }
      let found = try await ask("GetInitialResultSet", [.strings(["heroes"])])
      #expect(found == [.strings([Self.product])])
      let metas = try await ask("GetResultMetas", [.strings([Self.product])])
      #expect(metas.first?.elements?.first?["name"]?.text == "<b>Heroes</b> & Co")
    }
  }

  @Test(
    "dbusmock's notification daemon takes a notice",
    .enabled(if: PrivateBus.hasMockServices, "this machine has no python3-dbusmock"))
  func mock() async throws {
    let daemon = try PrivateBus()
    try daemon.start()
    let bus = try BusConnection.open(.address(daemon.address))
    let mock = try #require(
      try daemon.launch("python3", ["-m", "dbusmock", "--session", "--template", "notification_daemon"]))
    for await news in bus.subscribe(BusMatch(sender: NotificationServer.name, .none)) {
      if case .appeared = news { break }
    }
    let server = NotificationServer(on: bus, words: NoticeWords(locale: "de_DE.UTF-8"))
    let long = Notice.text(String(repeating: "שלום <i>", count: 2000))
    try await server.show(Notice(.product("a"), long, "b", actions: [.read(product: "a"), .later]))
    try await server.show(Notice(.product("a"), "c", "b"))
    await server.close(.product("a"))
    bus.close()
    await mock.process.killAndWait()
    let log = String(decoding: try FileSystem.read(mock.output, upTo: .mebibytes(1)), as: UTF8.self)
    #expect(log.contains("Notify \"Pullbox\" 0") && log.contains("Notify \"Pullbox\" 1"), "\(log)")
    #expect(log.contains("CloseNotification 1") && log.contains("Lesen"))
    await daemon.stop()
  }
}
