import AgentTesting
import ContentPackage
import CoreTypes
import Files
import Glibc
import HTTPClient
import HTTPServer
import MessageBus
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import DownloadAgent

/// `pullbox-desktop` in the place of the program: tells where processes run, and shows content, as a test wants.
private final class DesktopStandIn: Sendable {
  let bus: BusConnection
  let sandbox: Locked<[BusValue]?>
  let shown: Locked<[BusValue]?>
  let asked = Locked<[BusRequest]>([])
  let refusal = Locked<BusInterface>("com.pullbox.Desktop1.Error.DocumentPortalTooOld")

  init(on daemon: PrivateBus, telling sandbox: [BusValue]?, showing shown: [BusValue]? = nil) throws {
    (self.sandbox, self.shown) = (Locked(sandbox), Locked(shown))
    bus = try BusConnection.open(
      .address(daemon.address), configuration: BusConfiguration(service: SandboxedReaders.desktop))
  }

  func run() async {
    while let request = await bus.nextRequest() {
      asked.withLock { $0.append(request) }
      let answer = request.member == "Show" ? shown.current : sandbox.current
      if let answer {
        request.answer.reply(answer)
      } else {
        request.answer.refuse(refusal.current, "version 3")
      }
    }
  }
}

/// Programs in a sandbox, as the agent of a user meets them.
@Suite(
  "Programs in a sandbox", .serialized, .timeLimit(.minutes(3)),
  .enabled(if: PrivateBus.isAvailable, "this machine has no dbus-daemon"))
struct SandboxTests {
  /// The sight that the kernel gives of the test's own process.
  enum Sight: Sendable, CaseIterable {
    /// That it is in the sandbox of an application.
    case application
    /// That it is in none.
    case none
    /// Nothing, as to a unit with `PrivateUsers=`.
    case hidden
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func processes(_ sight: Sight) throws -> String {
    let path = directory.path("processes")
    try FileSystem.createDirectories(path)
    guard sight != .hidden else { return path }
    try FileSystem.createDirectories("\(path)/\(getpid())/root")
    func write(_ text: String, to name: String) throws {
      let file = try FileDescriptor.open(
        "\(path)/\(getpid())/\(name)", .writeOnly, options: [.create, .truncate])
      try file.write(Array(text.utf8).span)
    }
    // Field 22 is when it began.
    try write("1 (x) S\(String(repeating: " 0", count: 18)) 77 0 0", to: "stat")
    if sight == .application {
      try write("[Application]\nname=com.pullbox.Shelf\n", to: "root/.flatpak-info")
    }
    return path
  }

  /// Runs the agent of a user with one product in its library, on a bus with polkit, and with `pullbox-desktop` where it `tells`.
  private func withAgent(
    _ sight: Sight, allowing allowed: Set<String> = [],
    desktop: (telling: [BusValue]?, showing: [BusValue]?)? = nil,
    _ body:
      @escaping @Sendable (BusConnection, JudgeStandIn, DesktopStandIn?, AgentHarness) async throws -> Void
  ) async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    let processes = try processes(sight)
    let daemon = try PrivateBus()
    try daemon.start()
    let judge = try JudgeStandIn(on: daemon, allowing: allowed)
    let desktop = try desktop.map { try DesktopStandIn(on: daemon, telling: $0.telling, showing: $0.showing) }
    try await server.open { url in
      try await harness.run(
        server: url, bus: daemon, processes: processes, configure: { $0.bus = .session }
      ) { agent in
        try await withThrowingDiscardingTaskGroup { group in
          group.addTask { await judge.run() }
          for await state in judge.bus.states() where state.ownsService { break }
          if let desktop {
            group.addTask { await desktop.run() }
            for await state in desktop.bus.states() where state.ownsService { break }
          }
          try server.queuePurchase()
          _ = try await agent.download(.finished)
          let client = try BusConnection.open(.address(daemon.address))
          for await news in client.subscribe(BusMatch(sender: BusContract.name, .none)) {
            if case .appeared = news { break }
          }
          try await body(client, judge, desktop, harness)
          for bus in [client, judge.bus, desktop?.bus].compactMap({ $0 }) { bus.close() }
        }
      }
    }
    await daemon.stop()
  }

  private static func call(
    _ client: BusConnection, _ member: String, _ interface: BusInterface, _ path: BusPath,
    _ arguments: [BusValue] = []
  ) async throws(BusError) -> [BusValue] {
    try await client.call(
      BusMethodCall(member, of: interface, at: path, destination: BusContract.name, arguments: arguments))
  }

  /// Nil where the agent took it.
  private static func failure(
    _ client: BusConnection, _ member: String, _ interface: BusInterface, _ path: BusPath,
    _ arguments: [BusValue]
  ) async -> String? {
    do throws(BusError) {
      _ = try await call(client, member, interface, path, arguments)
      return nil
    } catch {
      return error.name
    }
  }

  private static let item = BusObject.library.appending(identifier: FixturePackage.product)
  private static let denied = "org.freedesktop.DBus.Error.AccessDenied"

  private static func buy(_ client: BusConnection) async -> String? {
    await failure(
      client, "Buy", BusContract.agent.name, BusObject.root,
      [.string(FixturePackage.product), .properties([:])])
  }

  @Test(
    "a program in a sandbox pauses and opens as its user; polkit is asked before it buys or keeps, by the bus and by the socket",
    arguments: [Sight.application, .hidden])
  func sandboxed(sight: Sight) async throws {
    let tells: [BusValue] = [.string("com.pullbox.Shelf"), .uint64(77)]
    let showing: [BusValue] = [.string("/run/user/1/doc/a/1.0")]
    try await withAgent(sight, desktop: (tells, showing)) { client, judge, desktop, harness in
      let item = try #require(Self.item)
      #expect(await Self.buy(client) == Self.denied)
      #expect(
        await Self.failure(client, "Pin", BusContract.libraryItem.name, item, [.boolean(true)])
          == Self.denied)
      let subjects = judge.asked.current.map(\.arguments)
      #expect(subjects.map { $0[1].text } == ["com.pullbox.Agent1.buy", "com.pullbox.Agent1.keep"])
      let subject = try #require(subjects.first?[0].elements)
      #expect(subject[0] == .string("unix-process"))
      #expect(subject[1]["pid"]?.number == Int(getpid()) && subject[1]["start-time"]?.number == 77)
      let body = #"{"product": "\#(FixturePackage.product)"}"#
      #expect(try await harness.ask("POST", "/v1/purchases", body).status == 403)
      #expect(judge.asked.current.count == 3)
      let opened = try await harness.ask("POST", "/v1/library/\(FixturePackage.product)/opened")
      #expect(opened.status == 200)
      let path = try await Self.call(client, "Open", BusContract.libraryItem.name, item)
      #expect(path == [.string("/run/user/1/doc/a/1.0")])
      #expect(judge.asked.current.count == 3, "opening is its user's own")
      let show = try #require(desktop?.asked.current.last { $0.member == "Show" }).arguments
      #expect(show[0].text == client.state.uniqueName?.description)
      #expect(show[1] == .string(FixturePackage.product))
      #expect(show[2].text?.hasPrefix(harness.library) == true)
      judge.allowed.withLock { $0 = ["com.pullbox.Agent1.keep"] }
      _ = try await Self.call(client, "Pin", BusContract.libraryItem.name, item, [.boolean(true)])
    }
  }

  @Test(
    "a program in no sandbox is its user, and finds content in the library: no one is asked about it but where the kernel hides it",
    arguments: [Sight.none, .hidden])
  func unconfined(sight: Sight) async throws {
    // Of one that the kernel hides, the library's path comes from pullbox-desktop.
    let showing: [BusValue]? = sight == .hidden ? [.string("/as/told")] : nil
    try await withAgent(sight, desktop: ([.string(""), .uint64(77)], showing)) {
      client, judge, desktop, harness in
      let item = try #require(Self.item)
      #expect(await Self.buy(client) != Self.denied)
      _ = try await Self.call(client, "Pin", BusContract.libraryItem.name, item, [.boolean(true)])
      let path = try await Self.call(client, "Open", BusContract.libraryItem.name, item).first?.text
      #expect(sight == .hidden ? path == "/as/told" : path?.hasPrefix(harness.library) == true)
      #expect(try await harness.ask("POST", "/v1/library/\(FixturePackage.product)/pin").status == 200)
      #expect(judge.asked.current.isEmpty)
      #expect(desktop?.asked.current.isEmpty == (sight == .none))
    }
  }

  @Test(
    "of a process that is not told of, nothing but pausing and opening is taken, and a word that is none is none",
    arguments: 0..<5)
  func untold(_ number: Int) async throws {
    let words: [[BusValue]?] = [
      nil, [], [.string("no application"), .uint64(1)], [.uint32(1), .uint64(1)],
      [.string(""), .string("")],
    ]
    try await withAgent(.hidden, desktop: (words[number], nil)) { client, judge, _, harness in
      let item = try #require(Self.item)
      #expect(await Self.buy(client) == Self.denied)
      #expect(judge.asked.current.isEmpty, "polkit is not asked about a process whose start is not known")
      #expect(try await harness.ask("POST", "/v1/library/\(FixturePackage.product)/pin").status == 403)
      let error = await Self.failure(client, "Open", BusContract.libraryItem.name, item, [])
      #expect(error == "com.pullbox.Agent1.Error.DocumentPortalTooOld")
    }
  }

  @Test(
    "without pullbox-desktop a program in a sandbox is told that it shows content, and one that is not known finds the library"
  )
  func noDesktop() async throws {
    try await withAgent(.application) { client, _, _, _ in
      let item = try #require(Self.item)
      let error = await Self.failure(client, "Open", BusContract.libraryItem.name, item, [])
      #expect(error == "com.pullbox.Agent1.Error.NoDocumentPortal")
    }
    try FileSystem.removeRecursively(directory.path("processes"))
    try await withAgent(.hidden) { client, _, _, harness in
      let item = try #require(Self.item)
      let path = try await Self.call(client, "Open", BusContract.libraryItem.name, item)
      #expect(path.first?.text?.hasPrefix(harness.library) == true)
      // No one tells of it: it is as its user, by the bus and by the socket.
      _ = try await Self.call(client, "Pin", BusContract.libraryItem.name, item, [.boolean(true)])
      #expect(try await harness.ask("POST", "/v1/library/\(FixturePackage.product)/unpin").status == 200)
    }
  }

  @Test(
    "where pullbox-desktop takes the agent for none, as one in a sandbox does, a program that is not known finds the library"
  )
  func refusedAgent() async throws {
    try await withAgent(.hidden, desktop: (nil, nil)) { client, judge, desktop, harness in
      desktop?.refusal.withLock { $0 = "org.freedesktop.DBus.Error.AccessDenied" }
      let item = try #require(Self.item)
      let path = try await Self.call(client, "Open", BusContract.libraryItem.name, item)
      #expect(path.first?.text?.hasPrefix(harness.library) == true)
      _ = try await Self.call(client, "Pin", BusContract.libraryItem.name, item, [.boolean(true)])
      #expect(judge.asked.current.isEmpty)
    }
    try FileSystem.removeRecursively(directory.path("processes"))
    try await withAgent(.application, desktop: (nil, nil)) { client, _, desktop, _ in
      desktop?.refusal.withLock { $0 = "org.freedesktop.DBus.Error.AccessDenied" }
      let item = try #require(Self.item)
      let error = await Self.failure(client, "Open", BusContract.libraryItem.name, item, [])
      #expect(error == "com.pullbox.Agent1.Error.NoDocumentPortal")
    }
  }

  @Test(
    "a program in a sandbox reads what comes, which is wanted now where polkit lets it say so",
    arguments: [true, false])
  func reading(mayHasten: Bool) async throws {
    let package = try FixturePackage.file(length: 3 << 20)
    let server = FakeServer([package])
    server.change {
      $0.contentFaults = [.stall(after: 1_100_000)] + Array(repeating: .stall(after: 0), count: 50)
    }
    let harness = try AgentHarness()
    let processes = try processes(.application)
    let daemon = try PrivateBus()
    try daemon.start()
    let judge = try JudgeStandIn(on: daemon, allowing: mayHasten ? ["com.pullbox.Agent1.hasten"] : [])
    try await server.open { url in
      try await harness.run(
        server: url, bus: daemon, processes: processes, configure: { $0.bus = .session }
      ) { agent in
        try await withThrowingDiscardingTaskGroup { group in
          group.addTask { await judge.run() }
          for await state in judge.bus.states() where state.ownsService { break }
          try server.queuePurchase()
          let download = try await agent.firstDownload { $0.bytesVerified >= .mebibytes(1) }
          let files = "/v1/downloads/\(download.id)/files"
          #expect(try await harness.ask("GET", files).status == 200)
          #expect(judge.asked.current.isEmpty, "a list wants nothing")
          let page = try await harness.ask(
            "GET", "\(files)/\(package.manifest.files[0].path.text)", headers: [("Range", "bytes=0-99")])
          #expect(page.status == 206 && page.body == Array(package.bytes.prefix(100)))
          #expect(judge.asked.current.map { $0.arguments[1].text } == ["com.pullbox.Agent1.hasten"])
          let status = try await agent.downloads.status(download.id)
          #expect(status.urgency == (mayHasten ? .now : .normal))
          let asked = try await harness.ask("PATCH", "/v1/downloads/\(download.id)", #"{"urgency":"now"}"#)
          #expect(asked.status == (mayHasten ? 200 : 403), "the same rule")
          server.change { $0.contentFaults = [] }
          judge.bus.close()
        }
      }
    }
    await daemon.stop()
  }

  @Test("a process that has ended, or began after its connection, is not the user's; a hidden one may be")
  func otherProcess() async throws {
    let processes = try processes(.none)
    let readers = SandboxedReaders(bus: nil, processes: processes, ownApplication: nil)
    func look(_ process: Int32, since time: UInt64) async -> SandboxFinding {
      await readers.look(at: process, since: time, isOnUserBus: false)
    }
    #expect(await look(getpid(), since: 77).sandbox == .none)
    #expect(await look(getpid(), since: 76) == .unknown)
    #expect(await look(.max, since: 77) == .untold, "no other process is shown")
    try FileSystem.createDirectories("\(processes)/1")
    #expect(await look(.max, since: 77) == .unknown)
    #expect(await look(0, since: 77) == .untold)
  }

  @Test("a bus that is on its way at the first question is waited for; where none comes, no one tells")
  func lateBus() async throws {
    let processes = try processes(.hidden)
    let path = directory.path("late")
    let bus = try BusConnection.open(.address("unix:path=\(path)"))
    let daemon = try PrivateBus()
    try daemon.start()
    let desktop = try DesktopStandIn(on: daemon, telling: [.string("com.pullbox.Shelf"), .uint64(77)])
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { await desktop.run() }
      for await state in desktop.bus.states() where state.ownsService { break }
      #expect(!bus.state.isConnected)
      async let found = SandboxedReaders(
        bus: bus, processes: processes, ownApplication: nil, promptness: .seconds(100)
      ).look(at: getpid(), since: 77, isOnUserBus: false)
      try SystemCall.run("symlink") { unsafe symlink(daemon.directory.path("bus"), path) }
      let sandbox = await found.sandbox
      #expect(sandbox == .application("com.pullbox.Shelf"))
      let absent = try BusConnection.open(.address("unix:path=\(directory.path("none"))"))
      let readers = SandboxedReaders(
        bus: absent, processes: processes, ownApplication: nil, promptness: .milliseconds(1))
      for _ in 0..<2 {
        #expect(await readers.look(at: getpid(), since: 77, isOnUserBus: false) == .untold)
      }
      // An agent that stops leaves the bus before it ends its last questions.
      let closed = try BusConnection.open(.address("unix:path=\(directory.path("none"))"))
      closed.close()
      let last = SandboxedReaders(bus: closed, processes: processes, ownApplication: nil)
      #expect(await last.look(at: getpid(), since: 77, isOnUserBus: false) == .untold)
      for bus in [bus, absent, desktop.bus] { bus.close() }
    }
    await daemon.stop()
  }

  @Test("an agent in a sandbox has its own application as its user at the socket, and no other")
  func ownApplication() async throws {
    let processes = try processes(.application)
    func look(_ own: String, isOnUserBus: Bool) async -> SandboxFinding {
      await SandboxedReaders(bus: nil, processes: processes, ownApplication: own).look(
        at: getpid(), since: .max, isOnUserBus: isOnUserBus)
    }
    #expect(await look("com.pullbox.Shelf", isOnUserBus: false).sandbox == .none)
    #expect(await look("com.pullbox.Other", isOnUserBus: false).sandbox == .application("com.pullbox.Shelf"))
    #expect(await look("com.pullbox.Shelf", isOnUserBus: true) == .unknown)
  }

  @Test("the line of what comes names one download and counts several, in 96 characters at most")
  func line() throws {
    var line = BackgroundLine()
    #expect(line.text == "No download is under way")
    var download = try BusContractTests.download(verified: 35)
    download.bytesTotal = ByteCount(100)
    download.title = "He\u{202E}ro\u{7}es"
    line.note(download)
    #expect(line.text == "Heroes: 35 %")
    download.title = String(repeating: "é", count: 500)
    line.note(download)
    #expect(line.text.unicodeScalars.count == 96 && line.text.hasSuffix("…: 35 %"))
    var other = try BusContractTests.download(verified: 300)
    other.bytesTotal = ByteCount(300)
    other.id = try #require(DownloadIdentifier("00fe"))
    line.note(other)
    #expect(line.text == "2 downloads: 83 %")
    other.state = .paused
    line.note(other)
    download.state = .finished
    line.note(download)
    #expect(line.text == "No download is under way")
  }
}
