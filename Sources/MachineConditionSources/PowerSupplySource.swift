package import AgentRecords
package import CoreTypes
package import SystemCalls

/// The batteries as the kernel shows them, for machines without UPower. It looks when a supply comes, goes or changes, and once a minute
/// while there is a battery.
package struct PowerSupplySource: ConditionSource {
  /// Between two looks at a battery.
  static let interval: Duration = .seconds(60)
  /// Events come in groups, which one look takes in.
  static let rest: Duration = .milliseconds(200)

  package let name = ConditionSourceName.powerSupply
  private let directory: String
  private let thread: ReadinessThread
  private let clock: any MonotonicClock

  /// `directory` is `/sys/class/power_supply`, or a tree of the same form.
  package init(
    directory: String = "/sys/class/power_supply", thread: ReadinessThread, clock: any MonotonicClock
  ) {
    self.directory = directory
    self.thread = thread
    self.clock = clock
  }

  package func run(_ report: @escaping @Sendable (MachineObservation) async -> Void) async throws {
    // Without its events a change is seen at the next look.
    let socket = try? NetlinkSocket.deviceEvents()
    var told: MachineObservation?
    while !Task.isCancelled {
      let reading: PowerSupplyReading
      do {
        reading = try await BlockingPool.shared.run { [directory] in try PowerSupplyReading.read(directory) }
      } catch let error as SystemError {
        throw ConditionSourceError(error.isFileMissing ? .absent : .away, "\(error)")
      }
      if reading.observation != told {
        told = reading.observation
        await report(reading.observation)
      }
      if let socket {
        await wait(for: socket, atMost: reading.hasBattery ? Self.interval : nil)
      } else {
        try await clock.sleep(for: Self.interval)
      }
    }
  }

  /// Returns when a supply has changed, or the time is over.
  private func wait(for socket: NetlinkSocket, atMost duration: Duration?) async {
    let number = socket.number
    let end = duration.map { clock.now() + $0 }
    while !Task.isCancelled {
      let rest = end.map { max(.zero, $0 - clock.now()) }
      if rest == .zero { return }
      let isReady = await withTaskGroup(of: Bool.self) { group in
        group.addTask { [thread] in await thread.wait(for: number) }
        if let rest {
          group.addTask { [clock] in
            // Cancelled when an event came first.
            try? await clock.sleep(for: rest)
            return false
          }
        }
        let first = await group.next() ?? false
        group.cancelAll()
        return first
      }
      guard isReady else { return }
      // Cancelled with the source.
      try? await clock.sleep(for: Self.rest)
      if Self.receive(socket) { return }
    }
  }

  /// Takes all events; whether one was of a supply, or some are lost.
  private static func receive(_ socket: NetlinkSocket) -> Bool {
    var isOfSupply = false
    while let reception = try? socket.receive() {
      switch reception {
      case .nothing: return isOfSupply
      case .lost: isOfSupply = true
      case .messages(let bytes): isOfSupply = isOfSupply || DeviceEvent(bytes).subsystem == "power_supply"
      }
    }
    return true
  }
}

/// A message of the kernel about a device: a line, and variables, each ended by a zero byte. Pure.
struct DeviceEvent: Sendable {
  /// The value of `SUBSYSTEM`; nil for what is no such message.
  let subsystem: String?

  init(_ bytes: [UInt8]) {
    let prefix = "SUBSYSTEM="
    subsystem = bytes.split(separator: 0).lazy.map { String(decoding: $0, as: UTF8.self) }
      .first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
  }
}
