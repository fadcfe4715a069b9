import CoreTypes
import MessageBus
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

/// The conditions of the machine with the built programs, and a bus of the test's own in the machine's place.
@Suite("The conditions of the machine", .serialized, .timeLimit(.minutes(10)))
struct ConditionTests {
  private static let path: BusPath = "/org/freedesktop/NetworkManager"
  private static let interface: BusInterface = "org.freedesktop.NetworkManager"

  /// Calls the mock of NetworkManager.
  private func mock(_ bus: BusConnection, _ member: String, _ arguments: [BusValue]) async throws {
    _ = try await bus.call(
      BusMethodCall(
        member, of: "org.freedesktop.DBus.Mock", at: Self.path, destination: "org.freedesktop.NetworkManager",
        arguments: arguments))
  }

  private func setMetered(_ bus: BusConnection, _ number: UInt32) async throws {
    try await mock(
      bus, "UpdateProperties",
      [.string(Self.interface.description), .properties(["Metered": .uint32(number)])])
  }

  /// Starts a mock of NetworkManager, which tells a metered way; returns once it is on the bus.
  private func startNetworkManager(on daemon: PrivateBus, _ bus: BusConnection) async throws -> ChildProcess {
    let (process, _) = try #require(
      try daemon.launch("python3", ["-m", "dbusmock", "--system", "--template", "networkmanager"]))
    for await news in bus.subscribe(BusMatch(sender: "org.freedesktop.NetworkManager", .none)) {
      if case .appeared = news { break }
    }
    try await mock(
      bus, "AddProperty", [.string(Self.interface.description), .string("Metered"), .variant(.uint32(0))])
    try await setMetered(bus, 1)
    return process
  }

  @Test(
    "tethered to a telephone nothing large moves until a person says so, also when the bus came later",
    .enabled(
      if: PrivateBus.isAvailable && PrivateBus.hasMockServices,
      "this machine has no dbus-daemon, or no python3-dbusmock"))
  func metered() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let product = "com.example.metered"
      let file = try await Material.file("issue.cbz", length: 16 << 20, in: stack.directory)
      try await stack.publish(file, as: product)
      let daemon = try PrivateBus(type: "system")
      let environment = [
        "DBUS_SYSTEM_BUS_ADDRESS": daemon.address, "PULLBOX_CONDITION_SOURCES": "NetworkManager",
      ]
      // The agent starts without a bus.
      try await stack.start(.agent, environment: environment)
      try daemon.start()
      let bus = try BusConnection.open(.address(daemon.address))
      let manager = try await startNetworkManager(on: daemon, bus)
      func conditions() async throws -> ConditionsResponse {
        try await stack.agent.web.get("/v1/conditions").decoded(ConditionsResponse.self)
      }
      try await eventually { try await conditions().conditions.first { $0.name == .metered }?.state == .yes }
      #expect(try await stack.agent.buy(product).status == 201)
      let waiting = try await stack.agent.download(of: product) { $0.reason == "metered" }
      #expect(waiting.bytesReceived == .zero && waiting.condition?.source == "NetworkManager")
      let shown = try await stack.pullbox("downloads")
      let name = waiting.id.description.prefix(4)
      #expect(shown.output.contains("waits for a way that is not metered (by NetworkManager)"))
      #expect(shown.output.contains("`pullbox resume --now \(name)` takes 16.0 MiB of it"))
      let listed = try await stack.pullbox("conditions")
      #expect(listed.output.contains("metered") && listed.output.contains("by NetworkManager"))
      #expect(listed.output.contains("1 download"))
      #expect(try await stack.pullbox("status").output.contains("metered (by NetworkManager, since "))
      let wrong = try await stack.pullbox("resume", "--ignore", "sleep", waiting.id.description)
      #expect(wrong.ending == .exited(2))
      let passed = try await stack.pullbox("resume", "--ignore", "metered", waiting.id.description)
      #expect(passed.succeeded)
      let ended = try await stack.agent.finishedDownload(of: product)
      #expect(ended.state == .finished && ended.ignored?.map(\.name) == [.metered])
      #expect(
        try await stack.logged(by: .agent).contains("a person has a download pass conditions"))
      // The bus goes: what was told is believed for a while, and nothing fails.
      await manager.killAndWait()
      await daemon.stop()
      try await eventually { try await conditions().sources.first?.state == .silent }
      #expect(try await conditions().conditions.first { $0.name == .metered }?.state == .yes)
      bus.close()
    }
  }

  @Test("a machine without a bus runs as ever, and the log has one line of it and no warning") func nothing()
    async throws
  {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let product = "com.example.nothing"
      let file = try await Material.file("issue.cbz", length: 1 << 20, in: stack.directory)
      try await stack.publish(file, as: product)
      try await stack.start(
        .agent,
        environment: [
          "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(stack.directory.path("no-bus"))",
          "PULLBOX_CONDITION_SOURCES": "NetworkManager,UPower,power-profiles-daemon,logind",
        ])
      #expect(try await stack.agent.buy(product).status == 201)
      #expect(try await stack.agent.finishedDownload(of: product).state == .finished)
      try await eventually {
        try await stack.logged(by: .agent).contains("the machine tells its conditions")
      }
      let lines = try await stack.logged(by: .agent).split(separator: "\n").filter {
        $0.contains("condition") || $0.contains("bus")
      }
      #expect(lines.count == 1 && lines[0].contains("\"by\":\"none\""))
      let told = try await stack.agent.web.get("/v1/conditions").decoded(ConditionsResponse.self)
      #expect(told.conditions.allSatisfy { $0.state == .unknown && $0.holds == 0 })
    }
  }

  @Test(
    "the lid closes in the middle: sleep waits until content is put down, and all goes on at its byte",
    .enabled(
      if: PrivateBus.isAvailable && PrivateBus.hasMockServices,
      "this machine has no dbus-daemon, or no python3-dbusmock"))
  func sleep() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let product = "com.example.sleep"
      let file = try await Material.file("issue.cbz", length: 16 << 20, in: stack.directory)
      try await stack.publish(file, as: product)
      let daemon = try PrivateBus(type: "system")
      try daemon.start()
      let bus = try BusConnection.open(.address(daemon.address))
      let login: BusName = "org.freedesktop.login1"
      let (path, interface): (BusPath, BusInterface) = (
        "/org/freedesktop/login1", "org.freedesktop.login1.Manager"
      )
      let (mock, _) = try #require(
        try daemon.launch("python3", ["-m", "dbusmock", "--system", "--template", "logind"]))
      for await news in bus.subscribe(BusMatch(sender: login, .none)) {
        if case .appeared = news { break }
      }
      func delays() async throws -> Int {
        let answer = try await bus.call(
          BusMethodCall("ListInhibitors", of: interface, at: path, destination: login))
        return answer.first?.elements?.count { $0.elements?.contains(.string("delay")) == true } ?? 0
      }
      func emit(_ begins: Bool) async throws {
        _ = try await bus.call(
          BusMethodCall(
            "EmitSignal", of: "org.freedesktop.DBus.Mock", at: path, destination: login,
            arguments: [
              .string(interface.description), .string("PrepareForSleep"), .string("b"),
              .array(of: "v", [.variant(.boolean(begins))]),
            ]))
      }
      try await stack.start(
        .agent,
        environment: [
          "DBUS_SYSTEM_BUS_ADDRESS": daemon.address, "PULLBOX_CONDITION_SOURCES": "logind",
          "PULLBOX_MAXIMUM_RATE": "4MiB",
        ])
      // One of sleep and one of shutdown.
      try await eventually { try await delays() == 2 }
      #expect(try await stack.agent.buy(product).status == 201)
      _ = try await stack.agent.download(of: product) { $0.bytesVerified >= .mebibytes(3) }
      try await emit(true)
      try await eventually { try await delays() == 0 }
      let asleep = try await stack.agent.download(of: product) { $0.reason == "machine-sleeps" }
      #expect(asleep.state == .waiting && asleep.condition?.name == .sleep)
      try await emit(false)
      let ended = try await stack.agent.finishedDownload(of: product)
      #expect(ended.state == .finished && ended.bytesReceived == ended.bytesTotal, "no byte came twice")
      try await eventually { try await delays() == 2 }
      await mock.killAndWait()
      bus.close()
      await daemon.stop()
    }
  }
}
