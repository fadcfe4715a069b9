import AgentRecords
import AgentTesting
import ContentPackage
import CoreTypes
import MachineConditionSources
import MessageBus
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import DownloadAgent

/// From a signal on a bus to a download that it holds, with python3-dbusmock in NetworkManager's place.
@Suite(
  .serialized, .timeLimit(.minutes(3)),
  .enabled(
    if: PrivateBus.isAvailable && PrivateBus.hasMockServices,
    "this machine has no dbus-daemon, or no python3-dbusmock"))
struct BusConditionTests {
  private static let name: BusName = "org.freedesktop.NetworkManager"
  private static let path: BusPath = "/org/freedesktop/NetworkManager"
  private static let interface: BusInterface = "org.freedesktop.NetworkManager"

  private func mock(_ bus: BusConnection, _ member: String, _ arguments: [BusValue]) async throws {
    _ = try await bus.call(
      BusMethodCall(
        member, of: "org.freedesktop.DBus.Mock", at: Self.path, destination: Self.name, arguments: arguments))
  }

  private func setMetered(_ bus: BusConnection, _ number: UInt32) async throws {
    try await mock(
      bus, "UpdateProperties",
      [.string(Self.interface.description), .properties(["Metered": .uint32(number)])])
  }

  @Test("a signal that the way is metered holds a download that runs, and its end has it go on") func signal()
    async throws
  {
    let package = try FixturePackage.file(length: 3 << 20)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 1_500_000)] }
    let harness = try AgentHarness()
    let daemon = try PrivateBus(type: "system")
    try daemon.start()
    let bus = try BusConnection.open(.address(daemon.address))
    let (process, _) = try #require(
      try daemon.launch("python3", ["-m", "dbusmock", "--system", "--template", "networkmanager"]))
    for await news in bus.subscribe(BusMatch(sender: Self.name, .none)) {
      if case .appeared = news { break }
    }
    try await mock(
      bus, "AddProperty", [.string(Self.interface.description), .string("Metered"), .variant(.uint32(2))])
    let source = NetworkManagerSource(bus: bus, clock: SystemMonotonicClock())
    try await server.open { url in
      try await harness.run(
        server: url, sources: [.networkManager], configure: { $0.meteredLimit = .init(.zero) }
      ) { agent in
        let listening = Task {
          try await source.run { await agent.conditions.note($0, from: .networkManager) }
        }
        defer { listening.cancel() }
        try server.queuePurchase()
        _ = try await agent.firstDownload { $0.bytesReceived >= ByteCount(1_500_000) }
        try await setMetered(bus, 1)
        let waiting = try await agent.download(.waiting, "metered")
        #expect(waiting.condition?.source == "NetworkManager")
        try await setMetered(bus, 2)
        let ended = try await agent.ended()
        #expect(ended.state == .finished && ended.bytesReceived == package.manifest.length)
      }
    }
    bus.close()
    await process.killAndWait()
    await daemon.stop()
  }
}
