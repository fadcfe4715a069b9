import AgentRecords
import CoreTypes
import MessageBus
import PullboxTesting
import ServiceRuntime
import Testing

@testable import MachineConditionSources

/// The way as a sandbox hears of it, with a portal that stands in.
@Suite(
  "The portal's word of the network", .timeLimit(.minutes(3)),
  .enabled(if: PrivateBus.isAvailable, "this machine has no dbus-daemon"))
struct NetworkMonitorSourceTests {
  private static let interface: BusInterface = "org.freedesktop.portal.NetworkMonitor"
  private static let path: BusPath = "/org/freedesktop/portal/desktop"

  private static func status(metered: Bool, _ connectivity: UInt32) -> BusValue {
    .properties([
      "available": .boolean(true), "metered": .boolean(metered), "connectivity": .uint32(connectivity),
    ])
  }

  @Test(
    "the status is read again at each signal of the portal, at none of another sender, and it ends with the portal"
  )
  func changes() async throws {
    let daemon = try PrivateBus()
    try daemon.start()
    let portal = try BusConnection.open(
      .address(daemon.address),
      configuration: BusConfiguration(service: "org.freedesktop.portal.Desktop"))
    let other = try BusConnection.open(.address(daemon.address))
    let bus = try BusConnection.open(.address(daemon.address))
    let status = Locked(Self.status(metered: false, 4))
    let asked = Locked(0)
    let (words, told) = AsyncStream<MachineObservation>.makeStream()
    let source = NetworkMonitorSource(bus: bus, clock: SystemMonotonicClock(), interval: .seconds(3600))
    let changed = BusSignal("changed", of: Self.interface, at: Self.path, arguments: [])
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask {
        while let request = await portal.nextRequest() {
          asked.withLock { $0 += 1 }
          request.answer.reply([status.current])
        }
      }
      for await state in portal.states() where state.ownsService { break }
      for await state in other.states() where state.isConnected { break }
      group.addTask {
        let error = await #expect(throws: ConditionSourceError.self) {
          try await source.run { told.yield($0) }
        }
        #expect(error?.code == .away)
        told.finish()
      }
      var words = words.makeAsyncIterator()
      let first = try #require(await words.next())
      #expect(first.way == .open && first.isMetered == false)
      try other.send(changed)
      status.withLock { $0 = Self.status(metered: true, 4) }
      try portal.send(changed)
      let second = try #require(await words.next())
      #expect(second.way == .open && second.isMetered == true)
      status.withLock { $0 = Self.status(metered: true, 3) }
      try portal.send(changed)
      let third = try #require(await words.next())
      #expect(third.way == .portal)
      #expect(asked.current == 3, "another sender's word is none")
      portal.close()
      #expect(await words.next() == nil)
      for bus in [other, bus] { bus.close() }
    }
    await daemon.stop()
  }

  @Test("a network that becomes metered without a signal is seen at the next look")
  func looks() async throws {
    let daemon = try PrivateBus()
    try daemon.start()
    let portal = try BusConnection.open(
      .address(daemon.address),
      configuration: BusConfiguration(service: "org.freedesktop.portal.Desktop"))
    let bus = try BusConnection.open(.address(daemon.address))
    let status = Locked(Self.status(metered: false, 4))
    let (words, told) = AsyncStream<MachineObservation>.makeStream()
    let source = NetworkMonitorSource(bus: bus, clock: SystemMonotonicClock(), interval: .milliseconds(10))
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask {
        while let request = await portal.nextRequest() { request.answer.reply([status.current]) }
      }
      for await state in portal.states() where state.ownsService { break }
      group.addTask {
        _ = await #expect(throws: ConditionSourceError.self) {
          try await source.run { told.yield($0) }
        }
        told.finish()
      }
      var words = words.makeAsyncIterator()
      let first = try #require(await words.next())
      #expect(first.isMetered == false)
      status.withLock { $0 = Self.status(metered: true, 4) }
      while try #require(await words.next()).isMetered != true {}
      portal.close()
      while await words.next() != nil {}
      bus.close()
    }
    await daemon.stop()
  }
}
