import AgentRecords
import CoreTypes
import Files
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import MachineConditionSources

@Suite struct PowerSupplyTests {
  /// A tree of `/sys/class/power_supply`.
  private func tree(_ supplies: [String: [String: String]]) throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory()
    for (name, members) in supplies {
      try FileSystem.createDirectories(directory.path(name))
      for (member, value) in members {
        try DurableFile.write(Array("\(value)\n".utf8).span, to: directory.path("\(name)/\(member)"))
      }
    }
    return directory
  }

  private func observation(_ supplies: [String: [String: String]]) throws -> MachineObservation {
    let directory = try tree(supplies)
    return try PowerSupplyReading.read(directory.path).observation
  }

  private let mains = ["type": "Mains", "online": "0"]
  private let battery = [
    "type": "Battery", "status": "Discharging", "capacity": "19", "energy_full": "50000000",
  ]

  @Test("a battery that is discharged, with nothing that feeds it, is what the machine runs on")
  func runs()
    throws
  {
    let told = try observation(["AC": mains, "BAT0": battery])
    #expect(told.isOnBattery == true && told.batteryLevel == 19)
  }

  @Test("mains, and a USB supply, feed the machine") func fed() throws {
    #expect(try observation(["AC": ["type": "Mains", "online": "1"], "BAT0": battery]).isOnBattery == false)
    #expect(try observation(["ucsi": ["type": "USB", "online": "1"], "BAT0": battery]).isOnBattery == false)
    var charging = battery
    charging["status"] = "Charging"
    #expect(try observation(["BAT0": charging]).isOnBattery == false)
  }

  @Test("the battery of a mouse is no matter of the machine") func mouse() throws {
    var mouse = battery
    mouse["scope"] = "Device"
    mouse["capacity"] = "2"
    let told = try observation(["hidpp_battery_0": mouse])
    #expect(told.isOnBattery == false && told.batteryLevel == nil)
  }

  @Test("of two batteries each counts by its size") func two() throws {
    var small = battery
    small["capacity"] = "90"
    small["energy_full"] = "10000000"
    #expect(try observation(["BAT0": battery, "BAT1": small]).batteryLevel == 31)
    small["energy_full"] = nil
    #expect(try observation(["BAT0": battery, "BAT1": small]).batteryLevel == 55)
  }

  @Test("what is no number is not told") func nonsense() throws {
    var odd = battery
    odd["capacity"] = "many"
    #expect(try observation(["BAT0": odd]).batteryLevel == nil)
    odd["capacity"] = "4000"
    #expect(try observation(["BAT0": odd]).batteryLevel == nil)
  }

  @Test("a machine without such a tree has none of it") func absent() async throws {
    let directory = try TemporaryDirectory()
    let source = PowerSupplySource(
      directory: directory.path("missing"), thread: try ReadinessThread(name: "test"),
      clock: SystemMonotonicClock())
    await #expect { try await source.run { _ in } } throws: { error in
      (error as? ConditionSourceError)?.code == .absent
    }
  }

  @Test("an event of the kernel says of what it is") func event() {
    let text = "change@/devices/AC\u{0}ACTION=change\u{0}SUBSYSTEM=power_supply\u{0}SEQNUM=7\u{0}"
    #expect(DeviceEvent(Array(text.utf8)).subsystem == "power_supply")
    #expect(DeviceEvent(Array("libudev\u{0}garbage".utf8)).subsystem == nil)
    #expect(DeviceEvent([]).subsystem == nil)
  }
}

@Suite struct PressureTests {
  private static let hasPressure: Bool = {
    do {
      _ = try FileDescriptor.open("/proc/pressure/io", .readWrite, options: .doNotWait)
      return true
    } catch {
      return false
    }
  }()

  @Test("the total is the time that some task has waited") func total() {
    let text = """
      some avg10=0.27 avg60=3.52 avg300=10.12 total=359205976
      full avg10=0.27 avg60=3.10 avg300=7.58 total=109423159
      """
    #expect(PressureTotal.parse(text) == 359_205_976)
    #expect(PressureTotal.parse("full avg10=0.27 total=1") == nil)
    #expect(PressureTotal.parse("some total=many") == nil)
    #expect(PressureTotal.parse("") == nil)
  }

  @Test("waits of this agent itself make no machine busy") func own() {
    let counts = PressureCounts(threshold: 500_000)
    #expect(!counts.isOfOthers(all: 2_000_000, own: 0), "nothing has fired")
    counts.begin(all: 1_000_000, own: 500_000)
    #expect(!counts.isOfOthers(all: 2_000_000, own: 1_500_000))
    #expect(!counts.isOfOthers(all: 1_249_999, own: 500_000))
    #expect(counts.isOfOthers(all: 1_250_000, own: 500_000))
    #expect(!counts.isOfOthers(all: 4_000_000, own: nil), "whose they are is not known")
    #expect(!counts.isOfOthers(all: 4_000_000, own: 1), "another control group")
  }

  @Test("what others waited in a quiet hour is not held against them when this agent writes") func quiet() {
    let counts = PressureCounts(threshold: 500_000)
    counts.begin(all: 1_000_000, own: 0)
    // An hour later the agent writes for two seconds, and the trigger fires.
    counts.begin(all: 61_000_000, own: 0)
    #expect(!counts.isOfOthers(all: 63_000_000, own: 1_900_000))
  }

  @Test("a machine without pressure information has none of it") func absent() async throws {
    let directory = try TemporaryDirectory()
    let source = PressureSource(
      directory: directory.path, own: nil, thread: try ReadinessThread(name: "test"),
      clock: SystemMonotonicClock())
    await #expect { try await source.run { _ in } } throws: { error in
      (error as? ConditionSourceError)?.code == .absent
    }
  }

  @Test(
    "the kernel's triggers tell a machine that is not busy",
    .enabled(if: hasPressure, "/proc/pressure is not there, or not for this user"))
  func kernel() async throws {
    let source = PressureSource(
      own: nil, thread: try ReadinessThread(name: "test"), clock: SystemMonotonicClock())
    let first = Event()
    let told = Locked<[Bool?]>([])
    let running = Task {
      try await source.run { observation in
        told.withLock { $0.append(observation.isBusy) }
        first.happen()
      }
    }
    await first.wait()
    running.cancel()
    _ = await running.result
    #expect(told.current.first == false)
  }
}
