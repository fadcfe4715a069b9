import CoreTypes
import Files
import Glibc
import MessageBus
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import DesktopService

/// Content for readers in a sandbox, on a bus of the test's own, with an agent and a document portal that stand in.
@Suite(
  "Readers in a sandbox", .serialized, .timeLimit(.minutes(3)),
  .enabled(if: PrivateBus.isAvailable, "this machine has no dbus-daemon"))
struct ReaderTests {
  private static let product = "com.example.heroes"
  private static let item: BusPath = "/com/pullbox/Agent1/library/com_2eexample_2eheroes"
  private static let application = "com.pullbox.Shelf"

  /// The document portal's answers. A test changes them.
  private struct Portal: Sendable {
    var version: BusValue = .uint32(4)
    var identifiers: BusValue = .strings(["5a8f"])
    var mountPoint: BusValue = .bytes(Array("/run/user/1000/doc\0".utf8))
    /// Whether it answers `AddFull` at all.
    var adds = true
  }

  /// Everything that a test has at hand.
  private struct House: Sendable {
    let daemon: PrivateBus
    let directory: TemporaryDirectory
    let agent: StandIn
    let portal: StandIn
    let rules: Locked<Portal>
    let reader: BusConnection

    func ask(_ member: String, _ arguments: [BusValue], by bus: BusConnection? = nil) async throws(BusError)
      -> [BusValue]
    {
      try await (bus ?? reader).call(
        BusMethodCall(
          member, of: DesktopSession.readersInterface, at: DesktopSession.path,
          destination: DesktopSession.busName, arguments: arguments))
    }

    func open() async throws(BusError) -> String? { try await ask("Open", [.string(product)]).first?.text }

    /// The name of the error that opening ends with, behind the interface's.
    func failure() async -> String? {
      let error = await #expect(throws: BusError.self) { try await open() }
      return error?.name?.split(separator: ".").last.map(String.init)
    }
  }

  /// Runs the program. Every process is in the sandbox of `application`, or in none, as the test's own directory of processes tells.
  private func withReader(
    in application: String? = application, agentIn agentsApplication: String? = nil, hasPortal: Bool = true,
    processes: String? = nil,
    holding held: Set<String> = [], _ body: (House) async throws -> Void
  ) async throws {
    let (daemon, directory) = (try PrivateBus(), try TemporaryDirectory())
    try daemon.start()
    try FileSystem.createDirectories(directory.path("library/heroes/1.0"))
    let process = "processes/\(getpid())"
    try FileSystem.createDirectories(directory.path("\(process)/root"))
    try write("1 (x) S\(String(repeating: " 0", count: 30))", to: directory.path("\(process)/stat"))
    if let application {
      try write("[Application]\nname=\(application)\n", to: directory.path("\(process)/root/.flatpak-info"))
    }
    // The stand-in of the agent is of the same process: what is told of it lies elsewhere.
    let agents = directory.path("agents/\(getpid())")
    try FileSystem.createDirectories("\(agents)/root")
    try write("1 (x) S\(String(repeating: " 0", count: 30))", to: "\(agents)/stat")
    if let agentsApplication {
      try write("[Application]\nname=\(agentsApplication)\n", to: "\(agents)/root/.flatpak-info")
    }
    let content = directory.path("library/heroes/1.0")
    let agent = try StandIn(AgentFollower.agent, on: daemon, holding: held) { request in
      switch request.member {
      case "GetManagedObjects":
        let properties: BusValue = .properties([
          "Title": .string("Heroes"), "LastOpened": .int64(0), "Path": .string(content),
        ])
        let interfaces: BusValue = .dictionary(
          key: "s", value: "a{sv}",
          [BusEntry(key: .string("com.pullbox.Agent1.LibraryItem"), value: properties)])
        return [
          .dictionary(key: "o", value: "a{sa{sv}}", [BusEntry(key: .path(Self.item), value: interfaces)])
        ]
      case "Get": return [.variant(.boolean(false))]
      case "Subscriptions": return [.array(of: "a{sv}", [])]
      case "Open": return [.string(content)]
      default: return nil
      }
    }
    let rules = Locked(Portal())
    let portal = try StandIn(
      hasPortal ? DocumentPortal.name : "com.example.Other", on: daemon
    ) { request in
      let now = rules.current
      switch request.member {
      case "Get": return [.variant(now.version)]
      case "AddFull":
        return now.adds ? [now.identifiers, .properties([:])] : nil
      case "GetMountPoint": return [now.mountPoint]
      case "Delete": return []
      default: return nil
      }
    }
    var environment = daemon.environment
    environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=\(directory.path("none"))"
    let session = try DesktopSession(
      environment: environment, launcher: ProgramLauncher { _ in true }, isSandboxed: false,
      processes: processes ?? directory.path("processes"), agents: directory.path("agents"),
      log: Log(level: .error))
    let reader = try BusConnection.open(.address(daemon.address))
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { await agent.run() }
      group.addTask { await portal.run() }
      await agent.ready()
      await portal.ready()
      for await state in reader.states() where state.isConnected { break }
      group.addTask { try await session.run() }
      for await call in agent.calls where call.member == "Subscriptions" { break }
      try await body(
        House(
          daemon: daemon, directory: directory, agent: agent, portal: portal, rules: rules, reader: reader))
      await session.stop()
      for bus in [agent.bus, portal.bus, reader] { bus.close() }
    }
    await daemon.stop()
  }

  private func write(_ text: String, to path: String) throws {
    let file = try FileDescriptor.open(path, .writeOnly, options: [.create, .truncate])
    try file.write(Array(text.utf8).span)
  }

  private func next(_ member: String, of standIn: StandIn) async throws -> BusRequest {
    for await request in standIn.calls where request.member == member { return request }
    throw CancellationError()
  }

  @Test("a reader in a sandbox is shown the one product's directory, to read and to it alone, by a document")
  func document() async throws {
    try await withReader { house in
      let shown = try await house.open()
      #expect(shown == "/run/user/1000/doc/5a8f/1.0")
      let added = try await next("AddFull", of: house.portal).arguments
      #expect(added.count == 4)
      // An entry that is there is used again (1), and it is a directory (8); it does not last (2).
      #expect(added[1] == .uint32(9) && added[2] == .string(Self.application))
      #expect(added[3] == .strings(["read"]))
      let files = try #require(added[0].elements)
      #expect(added[0].type == "ah" && files.count == 1)
      let number = try #require(files.first?.openDescriptor).descriptor.number
      let path = try FileSystem.realPath("/proc/self/fd/\(number)")
      #expect(path == house.directory.path("library/heroes/1.0"))
      #expect(fcntl(number, F_GETFL) & 0o10_000_000 != 0, "it only names the directory (O_PATH)")
    }
  }

  @Test("a reader in no sandbox finds the content where it lies, and no portal is asked") func noSandbox()
    async throws
  {
    try await withReader(in: nil) { house in
      let path = try await house.open()
      #expect(path == house.directory.path("library/heroes/1.0"))
      house.portal.bus.close()
      for await call in house.portal.calls { Issue.record("\(call.member)") }
    }
  }

  @Test("content that is one file needs a portal of version 2, a directory one of version 4") func versions()
    async throws
  {
    try await withReader { house in
      house.rules.withLock { $0.version = .uint32(3) }
      #expect(await house.failure() == "DocumentPortalTooOld")
      try FileSystem.removeRecursively(house.directory.path("library/heroes/1.0"))
      try write("x", to: house.directory.path("library/heroes/1.0"))
      let path = try await house.open()
      #expect(path == "/run/user/1000/doc/5a8f/1.0")
      let added = try await next("AddFull", of: house.portal).arguments
      #expect(added[1] == .uint32(1))
      house.rules.withLock { $0.version = .uint32(1) }
      #expect(await house.failure() == "DocumentPortalTooOld")
    }
  }

  @Test("without a document portal it is said so, and without content as well") func missing() async throws {
    try await withReader(hasPortal: false) { house in
      #expect(await house.failure() == "NoDocumentPortal")
    }
    try await withReader { house in
      try FileSystem.removeRecursively(house.directory.path("library"))
      #expect(await house.failure() == "ContentUnreadable")
      let other = await #expect(throws: BusError.self) { try await house.ask("Open", [.string("com.other")]) }
      #expect(other?.name == "com.pullbox.Desktop1.Error.ContentUnreadable")
    }
  }

  @Test("a portal that answers something else shows nothing, whatever it answers") func lies() async throws {
    try await withReader { house in
      let changes: [(inout Portal) -> Void] = [
        { $0.version = .string("4") }, { $0.version = .uint64(4) }, { $0.adds = false },
        { $0.identifiers = .strings([]) }, { $0.identifiers = .strings(["a", "b"]) },
        { $0.identifiers = .strings([""]) }, { $0.identifiers = .strings(["../../etc"]) },
        { $0.identifiers = .string("5a8f") }, { $0.identifiers = .array(of: "o", [.path("/a")]) },
        { $0.mountPoint = .string("/run") }, { $0.mountPoint = .bytes(Array("run\0".utf8)) },
        { $0.mountPoint = .bytes([]) }, { $0.mountPoint = .bytes(Array("/run/../etc".utf8)) },
        { $0.mountPoint = .bytes([0x2F, 0xFF]) }, { $0.mountPoint = .bytes([0x2F, 0, 0x2F, 0x61]) },
        { $0.mountPoint = .bytes([UInt8](repeating: 0x2F, count: 3)) },
        { $0.mountPoint = .bytes([0x2F] + [UInt8](repeating: 0x61, count: 5000)) },
      ]
      for (index, change) in changes.enumerated() {
        house.rules.withLock { portal in
          portal = Portal()
          change(&portal)
        }
        #expect(await house.failure() == "DocumentPortalRefused", "lie \(index)")
      }
      house.rules.withLock { $0 = Portal() }
      let path = try await house.open()
      #expect(path == "/run/user/1000/doc/5a8f/1.0")
    }
  }

  @Test("a portal that does not answer is waited for so long and no longer") func silence() async throws {
    let daemon = try PrivateBus()
    try daemon.start()
    let portal = try StandIn(DocumentPortal.name, on: daemon, holding: ["Get"]) { _ in nil }
    let bus = try BusConnection.open(.address(daemon.address))
    await withDiscardingTaskGroup { group in
      group.addTask { await portal.run() }
      await portal.ready()
      let documents = DocumentPortal(on: bus, log: Log(level: .error), patience: .milliseconds(50))
      let error = await #expect(throws: DocumentError.self) {
        try await documents.show("/", of: "a", to: Self.application)
      }
      #expect(error?.code == .noPortal)
      bus.close()
      portal.bus.close()
    }
    await daemon.stop()
  }

  @Test("a document that is made while its product goes is ended as well") func endedMeanwhile() async throws
  {
    let daemon = try PrivateBus()
    try daemon.start()
    let portal = try StandIn(DocumentPortal.name, on: daemon, holding: ["AddFull"]) { request in
      request.member == "Get" ? [.variant(.uint32(4))] : []
    }
    let bus = try BusConnection.open(.address(daemon.address))
    let documents = DocumentPortal(on: bus, log: Log(level: .error))
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { await portal.run() }
      await portal.ready()
      group.addTask {
        let error = await #expect(throws: DocumentError.self) {
          try await documents.show("/", of: "a", to: Self.application)
        }
        #expect(error?.code == .unreadable)
        bus.close()
        portal.bus.close()
      }
      let added = try await next("AddFull", of: portal)
      await documents.end("a")
      added.answer.reply([.strings(["5a8f"]), .properties([:])])
      #expect(try await next("Delete", of: portal).arguments == [.string("5a8f")])
    }
    await daemon.stop()
  }

  @Test("what is removed or withdrawn is shown no more: its documents end", arguments: [true, false])
  func end(isRemoved: Bool) async throws {
    try await withReader { house in
      _ = try await house.open()
      house.rules.withLock { $0.identifiers = .strings(["77"]) }
      _ = try await house.open()
      let interface: BusInterface = "com.pullbox.Agent1.LibraryItem"
      try house.agent.bus.send(
        isRemoved
          ? BusSignal(
            "InterfacesRemoved", of: .objectManager, at: AgentFollower.root,
            arguments: [.path(Self.item), .strings([interface.description])])
          : .propertiesChanged(of: interface, at: Self.item, ["Withdrawn": .boolean(true)]))
      let ended = [
        try await next("Delete", of: house.portal).arguments,
        try await next("Delete", of: house.portal).arguments,
      ]
      #expect(Set(ended) == [[.string("5a8f")], [.string("77")]])
    }
  }

  @Test("of a process that began after it was asked about nothing is told: the number has another one")
  func laterProcess() async throws {
    try await withReader { house in
      let path = house.directory.path("processes/\(getpid())/stat")
      // Field 22 is when it began.
      try write("1 (x) S\(String(repeating: " 0", count: 18)) \(UInt64.max / 2) 0 0", to: path)
      #expect(await house.failure() == "CallerUnknown")
      try FileSystem.removeRecursively(house.directory.path("processes"))
      #expect(await house.failure() == "CallerUnknown")
    }
  }

  @Test(
    "only the agent of the user has a file shown, or asks who is in a sandbox, and only where it is in none itself"
  )
  func agentAlone() async throws {
    try await withReader(in: nil) { house in
      let name = try #require(house.reader.state.uniqueName).description
      let path = house.directory.path("library")
      let show: [BusValue] = [.string(name), .string(Self.product), .string(path)]
      let sandbox: [BusValue] = [.uint32(UInt32(getpid()))]
      for (member, arguments) in [("Show", show), ("Sandbox", sandbox)] {
        let error = await #expect(throws: BusError.self) { try await house.ask(member, arguments) }
        #expect(error?.name == "org.freedesktop.DBus.Error.AccessDenied")
      }
      #expect(try await house.ask("Show", show, by: house.agent.bus) == [.string(path)])
      #expect(try await house.ask("Sandbox", sandbox, by: house.agent.bus) == [.string(""), .uint64(0)])
      for arguments in [[], [.string("1")], [.uint32(1), .uint32(1)]] as [[BusValue]] {
        let error = await #expect(throws: BusError.self) {
          try await house.ask("Sandbox", arguments, by: house.agent.bus)
        }
        #expect(error?.name == "org.freedesktop.DBus.Error.UnknownMethod")
      }
    }
    try await withReader(agentIn: Self.application) { house in
      let error = await #expect(throws: BusError.self) {
        try await house.ask("Sandbox", [.uint32(UInt32(getpid()))], by: house.agent.bus)
      }
      #expect(error?.name == "org.freedesktop.DBus.Error.AccessDenied")
      // It could name any file.
      #expect(await house.failure() == "AccessDenied")
    }
  }

  /// A command that runs `gdbus` in a sandbox as Flatpak makes it, whose root has the description at `description`.
  private static func sandboxed(_ description: String, _ daemon: PrivateBus, _ command: [String]) -> [String]
  {
    [
      "--unshare-pid", "--tmpfs", "/", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib",
      "--symlink",
      "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", "--proc", "/proc", "--ro-bind", description,
      "/.flatpak-info", "--bind", daemon.directory.path, daemon.directory.path,
    ] + command
  }

  /// Whether this machine has bubblewrap and GLib's `gdbus`, and lets this process make such a sandbox.
  private static func canConfine() async throws -> Bool {
    guard PrivateBus.program("gdbus") != nil else { return false }
    let daemon = try PrivateBus()
    let description = daemon.directory.path("description")
    _ = try FileDescriptor.open(description, .writeOnly, options: .create)
    return try await daemon.run("bwrap", sandboxed(description, daemon, ["true"]))?.ending == .exited(0)
  }

  @Test(
    "a program in bubblewrap, with a description as Flatpak writes it, is told from this one by the kernel, at this program's name and at the agent's",
    .enabled("this machine has no bubblewrap or gdbus, or makes no sandbox") { try await canConfine() },
    arguments: [true, false])
  func bubblewrap(isAtAgent: Bool) async throws {
    try await withReader(processes: "/proc", holding: isAtAgent ? ["Open"] : []) { house in
      let description = house.directory.path("description")
      try write(
        "[Application]\nname=\(Self.application)\nruntime=runtime/org.gnome.Platform/x86_64/47\n",
        to: description)
      let called =
        isAtAgent
        ? [
          "com.pullbox.Agent1", "--object-path", Self.item.description, "--method",
          "com.pullbox.Agent1.LibraryItem.Open",
        ]
        : [
          "com.pullbox.Desktop", "--object-path", "/com/pullbox/Desktop", "--method",
          "com.pullbox.Desktop1.Open",
          Self.product,
        ]
      let (process, output) = try #require(
        try house.daemon.launch(
          "bwrap",
          Self.sandboxed(
            description, house.daemon,
            ["gdbus", "call", "--address", house.daemon.address, "--dest"] + called)))
      if isAtAgent {
        let request = try await next("Open", of: house.agent)
        let path = house.directory.path("library/heroes/1.0")
        let show: [BusValue] = [.string(request.sender.description), .string(Self.product), .string(path)]
        request.answer.reply(try await house.ask("Show", show, by: house.agent.bus))
      }
      let ending = await process.ending()
      let text = String(decoding: try FileSystem.read(output, upTo: .mebibytes(1)), as: UTF8.self)
      #expect(ending == .exited(0) && text == "('/run/user/1000/doc/5a8f/1.0',)\n", "\(text)")
      let added = try await next("AddFull", of: house.portal).arguments
      #expect(added[2] == .string(Self.application))
      guard !isAtAgent else { return }
      // This process is in none.
      let path = try await house.open()
      #expect(path == house.directory.path("library/heroes/1.0"))
    }
  }

  private static let programs = ["xdg-permission-store", "xdg-document-portal"].map { "/usr/libexec/\($0)" }

  private static var hasDocumentPortal: Bool {
    (programs + ["/dev/fuse"]).allSatisfy { ((try? FileSystem.status(of: $0)) ?? nil) != nil }
      && PrivateBus.program("fusermount3") != nil
  }

  @Test(
    "the desktop's own document portal shows the directory to that application, to read and not to write, nothing to another one, and nothing to either once the product is removed",
    .enabled(if: hasDocumentPortal, "this machine has no xdg-document-portal, or no FUSE"))
  func realPortal() async throws {
    try await withReader(hasPortal: false) { house in
      try write("page", to: house.directory.path("library/heroes/1.0/1.txt"))
      let runtime = house.directory.path("run")
      try FileSystem.createDirectories(runtime)
      let environment = house.daemon.environment.merging([
        "XDG_RUNTIME_DIR": runtime, "XDG_DATA_HOME": "\(runtime)/data", "HOME": runtime,
      ]) { $1 }
      let processes = try Self.programs.map {
        try ChildProcess($0, [], environment: environment, output: house.directory.path("portal.log"))
      }
      for process in processes {
        // One that cannot run here ends, and the test with it.
        Task {
          _ = await process.ending()
          house.reader.close()
        }
      }
      for await news in house.reader.subscribe(BusMatch(sender: DocumentPortal.name, .none)) {
        if case .appeared = news { break }
      }
      let shown = try #require(try await house.open())
      #expect(shown.hasPrefix("\(runtime)/doc/") && shown.hasSuffix("/1.0"))
      let document = String(shown.dropFirst("\(runtime)/doc/".count))
      func path(to application: String) -> String { "\(runtime)/doc/by-app/\(application)/\(document)/1.txt" }
      let own = path(to: Self.application)
      #expect(try FileSystem.read(own, upTo: .kibibytes(1)) == Array("page".utf8))
      #expect(throws: SystemError.self) { _ = try FileDescriptor.open(own, .writeOnly) }
      #expect(throws: SystemError.self) {
        _ = try FileDescriptor.open(own + "x", .writeOnly, options: .create)
      }
      #expect(try FileSystem.status(of: path(to: "com.example.Other")) == nil)
      let again = try await house.open()
      #expect(again == shown, "an entry that is there is used again")
      try house.agent.bus.send(
        BusSignal(
          "InterfacesRemoved", of: .objectManager, at: AgentFollower.root,
          arguments: [.path(Self.item), .strings(["com.pullbox.Agent1.LibraryItem"])]))
      while try FileSystem.status(of: own) != nil { await Task.yield() }
      #expect(try FileSystem.status(of: shown) == nil)
      #expect(
        try FileSystem.read(house.directory.path("library/heroes/1.0/1.txt"), upTo: .kibibytes(1)).count == 4)
      for process in processes.reversed() {
        process.send(signal: SIGTERM)
        _ = await process.ending()
      }
    }
  }

  @Test("the manifest of the example has two names and the socket, and no file of the user or the library")
  func manifest() throws {
    let text = try RepositoryFile("Examples/Shelf/com.pullbox.Shelf.yml").text
    let permissions = text.split(separator: "\n").filter { $0.hasPrefix("  - --") }.map { $0.dropFirst(4) }
    let named = permissions.filter { $0.contains("-name=") }
    #expect(
      named == [
        "--talk-name=com.pullbox.Agent1", "--talk-name=com.pullbox.Desktop",
        "--system-talk-name=com.pullbox.Agent1",
      ])
    #expect(permissions.filter { $0.hasPrefix("--filesystem") } == ["--filesystem=xdg-run/pullbox:ro"])
    #expect(!permissions.contains { $0.hasPrefix("--socket=session-bus") || $0.hasPrefix("--device=all") })
    let shelf = try RepositoryFile("Examples/Shelf/shelf.py").text
    #expect(
      text.contains("\nid: com.pullbox.Shelf\n") && shelf.contains("application_id=\"com.pullbox.Shelf\""))
  }
}
