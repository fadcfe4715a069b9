import AgentRecords
import CoreTypes
import MessageBus
import PullboxTesting
import ServiceRuntime
import Testing

@testable import MachineConditionSources

/// The sources on a bus of the test's own, with python3-dbusmock in the services' place.
@Suite(
  "Conditions that are told on the bus", .serialized, .timeLimit(.minutes(3)),
  .enabled(
    if: PrivateBus.isAvailable && PrivateBus.hasMockServices,
    "this machine has no dbus-daemon, or no python3-dbusmock"))
struct BusSourceTests {
  /// A service of a template on a bus, and a connection to that bus.
  private final class Mock: Sendable {
    let daemon: PrivateBus
    let bus: BusConnection
    private let process = Locked<ChildProcess?>(nil)
    private let template: String
    private let name: BusName

    init(_ template: String, _ name: BusName, policy: String = "") throws {
      daemon = try PrivateBus(type: "system", policy: policy)
      try daemon.start()
      bus = try BusConnection.open(.address(daemon.address))
      (self.template, self.name) = (template, name)
    }

    /// Returns once the service is on the bus. dbusmock has no template of networkd's: it is put together.
    func start() async throws {
      let what =
        template.isEmpty
        ? [name.description, NetworkdSource.path.description, NetworkdSource.interface.description]
        : ["--template", template]
      let launched = try #require(try daemon.launch("python3", ["-m", "dbusmock", "--system"] + what))
      process.withLock { $0 = launched.process }
      for await news in bus.subscribe(BusMatch(sender: name, .none)) {
        if case .appeared = news { return }
      }
    }

    func stop() async {
      await process.withLock { $0.take() }?.killAndWait()
    }

    func end() async {
      bus.close()
      await stop()
      await daemon.stop()
    }

    @discardableResult
    func mock(_ member: String, _ arguments: [BusValue], at path: BusPath) async throws -> [BusValue] {
      try await bus.call(
        BusMethodCall(
          member, of: "org.freedesktop.DBus.Mock", at: path, destination: name, arguments: arguments))
    }

    func set(_ interface: BusInterface, _ members: [String: BusValue], at path: BusPath) async throws {
      try await mock(
        "UpdateProperties", [.string(interface.description), .properties(members)], at: path)
    }
  }

  /// The words of a source, in their order.
  private final class Words: Sendable {
    private let told = Locked<[MachineObservation]>([])
    private let changed = AsyncSignal()

    func add(_ observation: MachineObservation) {
      told.withLock { $0.append(observation) }
      changed.signal()
    }

    /// Waits for a word that fits, from now on or as the latest.
    func first(where fits: (MachineObservation) -> Bool) async throws {
      while true {
        if let last = told.current.last, fits(last) { return }
        try Task.checkCancellation()
        await changed.wait(atMost: nil, clock: SystemMonotonicClock())
      }
    }
  }

  private func with(
    _ mock: Mock, _ source: any ConditionSource, _ body: (Words) async throws -> Void
  ) async throws {
    let words = Words()
    let running = Task { try await source.run { words.add($0) } }
    do {
      try await body(words)
    } catch {
      running.cancel()
      await mock.end()
      throw error
    }
    running.cancel()
    await mock.end()
    _ = await running.result
  }

  @Test("NetworkManager tells a metered way, also a guessed one, a log-in and none") func networkManager()
    async throws
  {
    let mock = try Mock("networkmanager", "org.freedesktop.NetworkManager")
    let path: BusPath = "/org/freedesktop/NetworkManager"
    let interface: BusInterface = "org.freedesktop.NetworkManager"
    let source = NetworkManagerSource(bus: mock.bus, clock: SystemMonotonicClock())
    try await with(mock, source) { words in
      try await mock.start()
      try await words.first { $0.way == .open && $0.isMetered == nil }
      try await mock.mock(
        "AddProperty", [.string(interface.description), .string("Metered"), .variant(.uint32(0))], at: path)
      for (number, isMetered) in [(1, true), (2, false), (3, true), (4, false)] as [(UInt32, Bool)] {
        try await mock.set(interface, ["Metered": .uint32(number)], at: path)
        try await words.first { $0.isMetered == isMetered }
      }
      try await mock.set(interface, ["Connectivity": .uint32(2)], at: path)
      try await words.first { $0.way == .portal }
      try await mock.set(interface, ["Connectivity": .uint32(1)], at: path)
      try await words.first { $0.way == NetworkWay.none }
      try await mock.set(interface, ["Connectivity": .uint32(3)], at: path)
      try await words.first { $0.way == .open }
      try await mock.set(interface, ["State": .uint32(20)], at: path)
      try await words.first { $0.way == NetworkWay.none }
      try await mock.set(interface, ["Metered": .string("many")], at: path)
      try await words.first { $0.isMetered == nil }
    }
  }

  @Test("systemd-networkd tells by its signals whether there is a way, and not what it does not know")
  func networkd() async throws {
    let mock = try Mock("", NetworkdSource.service)
    let (path, interface) = (NetworkdSource.path, NetworkdSource.interface)
    let source = NetworkdSource(bus: mock.bus, clock: SystemMonotonicClock())
    try await with(mock, source) { words in
      try await mock.start()
      try await words.first { $0.way == nil }
      for (name, value) in [("OperationalState", "routable"), ("OnlineState", "online")] {
        try await mock.mock(
          "AddProperty", [.string(interface.description), .string(name), .variant(.string(value))], at: path)
      }
      try await mock.set(interface, ["OperationalState": .string("routable")], at: path)
      try await words.first { $0.way == .open && $0.isMetered == nil }
      for (operational, online, way) in [
        ("no-carrier", "offline", NetworkWay.none), ("degraded", "offline", .open),
        ("carrier", "partial", NetworkWay.none), ("carrier", "online", .open), ("off", "", NetworkWay.none),
        ("routable", "offline", .open), ("somehow", "offline", nil),
      ] {
        try await mock.set(
          interface, ["OperationalState": .string(operational), "OnlineState": .string(online)], at: path)
        try await words.first { $0.way == way }
      }
    }
  }

  @Test("UPower tells the battery, by its display device") func upower() async throws {
    let mock = try Mock("upower", "org.freedesktop.UPower")
    let (path, display): (BusPath, BusPath) = (
      "/org/freedesktop/UPower", "/org/freedesktop/UPower/devices/DisplayDevice"
    )
    let device: BusInterface = "org.freedesktop.UPower.Device"
    let source = UPowerSource(bus: mock.bus, clock: SystemMonotonicClock())
    try await with(mock, source) { words in
      try await mock.start()
      try await words.first { $0.isOnBattery == false && $0.batteryLevel == nil }
      try await mock.set("org.freedesktop.UPower", ["OnBattery": .boolean(true)], at: path)
      try await words.first { $0.isOnBattery == true }
      try await mock.set(
        device, ["IsPresent": .boolean(true), "Percentage": .double(19.6), "WarningLevel": .uint32(1)],
        at: display)
      try await words.first { $0.batteryLevel == 19 && $0.isBatteryWarned == false }
      try await mock.set(device, ["WarningLevel": .uint32(3)], at: display)
      try await words.first { $0.isBatteryWarned == true }
      try await mock.set(device, ["Percentage": .double(4000)], at: display)
      try await words.first { $0.batteryLevel == nil }
    }
  }

  @Test("power-profiles-daemon tells that power is saved") func powerProfiles() async throws {
    let mock = try Mock("power_profiles_daemon", "net.hadess.PowerProfiles")
    let source = PowerProfilesSource(bus: mock.bus, clock: SystemMonotonicClock())
    try await with(mock, source) { words in
      try await mock.start()
      try await words.first { $0.isPowerSaving == false }
      try await mock.set(
        "net.hadess.PowerProfiles", ["ActiveProfile": .string("power-saver")], at: "/net/hadess/PowerProfiles"
      )
      try await words.first { $0.isPowerSaving == true }
    }
  }

  @Test("a service that goes ends its source, and one that comes later is heard") func later() async throws {
    let mock = try Mock("power_profiles_daemon", "net.hadess.PowerProfiles")
    let source = PowerProfilesSource(bus: mock.bus, clock: SystemMonotonicClock())
    let words = Words()
    let running = Task { try await source.run { words.add($0) } }
    try await mock.start()
    try await words.first { $0.isPowerSaving == false }
    await mock.stop()
    let result = await running.result
    #expect(throws: ConditionSourceError.self) { try result.get() }
    await mock.end()
  }

  /// The inhibitors that logind has now: what, who, why, mode.
  private func inhibitors(_ mock: Mock) async throws -> [[String]] {
    let answer = try await mock.bus.call(
      BusMethodCall(
        "ListInhibitors", of: LoginSource.interface, at: LoginSource.path, destination: LoginSource.service))
    return answer.first?.elements?.map { $0.elements?.compactMap(\.text) ?? [] } ?? []
  }

  private func until(_ mock: Mock, _ fits: ([[String]]) -> Bool) async throws {
    while true {
      if fits(try await inhibitors(mock)) { return }
      try Task.checkCancellation()
    }
  }

  @Test("logind waits for what transfers, and takes another delay after waking") func sleep() async throws {
    let mock = try Mock("logind", "org.freedesktop.login1")
    let source = LoginSource(bus: mock.bus, clock: SystemMonotonicClock(), log: Log(level: .error))
    try await with(mock, source) { words in
      try await mock.start()
      try await words.first { $0.isLeaving == false }
      // One for each: for both at once logind (252) asks polkit about the lid.
      try await until(mock) {
        Set($0.map { [$0[0], $0[1], $0[3]] }) == [
          ["sleep", "Pullbox", "delay"], ["shutdown", "Pullbox", "delay"],
        ]
      }
      func emit(_ begins: Bool) async throws {
        try await mock.mock(
          "EmitSignal",
          [
            .string(LoginSource.interface.description), .string("PrepareForSleep"), .string("b"),
            .array(of: "v", [.variant(.boolean(begins))]),
          ], at: LoginSource.path)
      }
      try await emit(true)
      try await words.first { $0.isLeaving == true }
      try await until(mock) { $0.isEmpty }
      try await emit(false)
      try await words.first { $0.isLeaving == false }
      try await until(mock) { $0.count == 2 }
    }
  }

  @Test("while content is placed a block keeps the machine awake, and no longer") func block() async throws {
    let mock = try Mock("logind", "org.freedesktop.login1")
    try await mock.start()
    let inhibitor = PlacingInhibitor(
      bus: mock.bus, clock: SystemMonotonicClock(), log: Log(level: .error))
    try await inhibitor.whilePlacing("Heroes") {
      try await until(mock) {
        Set($0)
          == Set(
            ["sleep", "shutdown"].map { [$0, "Pullbox", "Heroes is moved to its place", "block"] })
      }
    }
    try await until(mock) { $0.isEmpty }
    await mock.end()
  }

  @Test("a block that is refused stops no placing, and is logged once") func refusedBlock() async throws {
    let mock = try Mock(
      "logind", "org.freedesktop.login1",
      policy:
        #"<policy context="default"><deny send_interface="org.freedesktop.login1.Manager" send_member="Inhibit"/></policy>"#
    )
    try await mock.start()
    let lines = Locked<[String]>([])
    let logged = Event()
    let log = Log(level: .info, format: .json) { line in
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
      logged.happen()
    }
    let inhibitor = PlacingInhibitor(bus: mock.bus, clock: SystemMonotonicClock(), log: log)
    let first = await inhibitor.whilePlacing("Heroes") {
      await logged.wait()
      return 1
    }
    let second = await inhibitor.whilePlacing("Heroes") { 2 }
    #expect(first == 1 && second == 2)
    #expect(lines.current.count == 1 && lines.current[0].contains("AccessDenied"))
    await mock.end()
  }

  @Test("the portal's status tells the way to a sandbox") func portal() {
    func way(_ members: [String: BusValue]) -> NetworkWay? {
      NetworkMonitorSource.observation(members).way
    }
    #expect(way(["available": .boolean(false), "connectivity": .uint32(4)]) == NetworkWay.none)
    #expect(way(["available": .boolean(true), "connectivity": .uint32(3)]) == .portal)
    #expect(way(["available": .boolean(true), "connectivity": .uint32(4)]) == .open)
    #expect(way([:]) == nil)
    #expect(NetworkMonitorSource.observation(["metered": .boolean(true)]).isMetered == true)
  }
}
