import CoreTypes
import PullboxAPI
import PullboxTesting
import Testing

@testable import AgentRecords

@Suite struct ConditionLedgerTests {
  private static let wall = Timestamp(millisecondsSinceEpoch: 1_796_000_000_000)

  /// A ledger that is told of a metered way.
  private final class Subject {
    var ledger = ConditionLedger()

    func note(_ observation: MachineObservation, from source: ConditionSourceName, _ milliseconds: Int) {
      ledger.note(
        observation, from: source, at: ConditionLedgerTests.instant(milliseconds),
        wall: ConditionLedgerTests.moment(milliseconds))
    }

    @discardableResult
    func settle(_ milliseconds: Int = 0) -> Bool {
      ledger.settle(
        at: ConditionLedgerTests.instant(milliseconds), wall: ConditionLedgerTests.moment(milliseconds))
    }

    /// Tells, settles and answers whether downloads are held for the metered way.
    func isHeld(_ milliseconds: Int, isMetered: Bool? = nil) -> Bool {
      if let isMetered {
        note(MachineObservation { $0.isMetered = isMetered }, from: .networkManager, milliseconds)
      }
      settle(milliseconds)
      return MachinePolicy().holds(in: ledger.conditions)[.metered] != nil
    }
  }

  private static func instant(_ milliseconds: Int) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
  }

  private static func moment(_ milliseconds: Int) -> Timestamp { wall + .milliseconds(milliseconds) }

  private func instant(_ milliseconds: Int) -> MonotonicInstant { Self.instant(milliseconds) }

  @Test("what no source tells is unknown, and holds nothing") func unknown() {
    let subject = Subject()
    #expect(!subject.settle())
    #expect(subject.ledger.conditions == MachineConditions() && subject.ledger.nextChange == nil)
    let policy = MachinePolicy()
    #expect(policy.holds(in: subject.ledger.conditions).isEmpty)
    #expect(
      MachineConditionName.allCases.allSatisfy { policy.told($0, in: subject.ledger.conditions) == nil })
  }

  @Test("a hold begins at once, and ends within two seconds") func times() {
    let subject = Subject()
    #expect(subject.isHeld(0, isMetered: true))
    #expect(subject.isHeld(10_000))
    #expect(subject.isHeld(10_000, isMetered: false))
    #expect(subject.ledger.nextChange == instant(10_500))
    #expect(!subject.isHeld(10_500))
    #expect(subject.isHeld(10_600, isMetered: true), "what costs is stopped at once")
    #expect(subject.isHeld(10_700, isMetered: false))
    #expect(subject.ledger.nextChange == instant(12_600))
    #expect(!subject.isHeld(12_600))
  }

  @Test("a source that flaps ten times a second holds once") func flapping() {
    let subject = Subject()
    var changes = 0
    var was = false
    for tenth in 0..<600 {
      let held = subject.isHeld(tenth * 100, isMetered: tenth.isMultiple(of: 2))
      if held != was { changes += 1 }
      was = held
    }
    #expect(changes == 1 && was)
    #expect(!subject.isHeld(60_500))
  }

  @Test("holds change at most once in two seconds each way, however a source flaps", arguments: 1...20)
  func pace(seed: UInt64) {
    let subject = Subject()
    var generator = SplitMix(seed: seed)
    var releases: [Int] = []
    var (now, was) = (0, false)
    while now < 120_000 {
      now += Int.random(in: 1...900, using: &generator)
      let held = subject.isHeld(now, isMetered: Bool.random(using: &generator))
      if was, !held { releases.append(now) }
      was = held
    }
    #expect(zip(releases, releases.dropFirst()).allSatisfy { $1 - $0 >= 2_000 }, "seed \(seed)")
  }

  @Test("a source that falls silent counts for thirty seconds, and holds nothing then") func silence() {
    let subject = Subject()
    #expect(subject.isHeld(0, isMetered: true))
    subject.ledger.silence(.networkManager, because: "the bus is gone", at: instant(5_000), wall: Self.wall)
    #expect(subject.isHeld(5_000) && subject.ledger.nextChange == instant(35_000))
    #expect(subject.isHeld(34_999))
    _ = subject.isHeld(35_000)
    #expect(!subject.isHeld(35_500))
    #expect(subject.ledger.conditions.network.isMetered == nil)
    #expect(subject.ledger.sources[.networkManager]?.error == "the bus is gone")
    #expect(subject.isHeld(60_000, isMetered: true), "it counts again once it speaks")
    #expect(subject.ledger.sources[.networkManager]?.error == nil)
  }

  @Test("a manager that starts anew and does not know yet counts as a silent one") func restart() {
    let subject = Subject()
    subject.note(
      MachineObservation {
        $0.isMetered = true
        $0.device = "wwan0"
      }, from: .networkManager, 0)
    #expect(subject.isHeld(0))
    subject.ledger.silence(.networkManager, because: "it left the bus", at: instant(4_000), wall: Self.wall)
    subject.note(MachineObservation(), from: .networkManager, 5_000)
    #expect(subject.isHeld(5_500), "no byte goes over the metered way while it looks for its device")
    #expect(subject.ledger.nextChange == instant(35_000))
    #expect(subject.isHeld(34_999) && !subject.isHeld(35_000))
  }

  @Test("what was told of one device is not believed of another") func otherDevice() {
    let subject = Subject()
    subject.note(
      MachineObservation {
        $0.isMetered = true
        $0.device = "wwan0"
      }, from: .networkManager, 0)
    #expect(subject.isHeld(0))
    subject.note(MachineObservation { $0.device = "eth0" }, from: .networkManager, 5_000)
    #expect(subject.isHeld(5_000) && !subject.isHeld(5_500))
  }

  @Test("of two sources the better one counts, and the other one while that is silent") func rank() {
    let subject = Subject()
    subject.ledger.note(
      MachineObservation {
        $0.way = .open
        $0.device = "eth0"
      }, from: .netlink, at: instant(0), wall: Self.wall)
    _ = subject.ledger.settle(at: instant(0), wall: Self.wall)
    #expect(subject.ledger.conditions.network.way?.source == .netlink)
    subject.ledger.note(
      MachineObservation {
        $0.way = .portal
        $0.device = "wlan0"
      }, from: .networkManager, at: instant(3_000), wall: Self.wall + .seconds(3))
    _ = subject.ledger.settle(at: instant(3_000), wall: Self.wall)
    let told = subject.ledger.conditions.network.way
    #expect(told?.source == .networkManager && told?.value == .portal && told?.device == "wlan0")
    #expect(told?.since == Self.wall + .seconds(3))
    subject.ledger.silence(.networkManager, because: nil, at: instant(4_000), wall: Self.wall)
    _ = subject.ledger.settle(at: instant(34_000), wall: Self.wall)
    _ = subject.ledger.settle(at: instant(36_000), wall: Self.wall)
    #expect(subject.ledger.conditions.network.way?.source == .netlink)
  }

  @Test("what looks after some links alone sees no way where the kernel has one to everywhere") func routed()
  {
    let subject = Subject()
    func way(isRouted: Bool) -> NetworkWay? {
      subject.ledger.note(
        MachineObservation {
          $0.way = .open
          $0.isRouted = isRouted
          $0.device = "eth0"
        }, from: .netlink, at: instant(0), wall: Self.wall)
      subject.ledger.note(
        MachineObservation { $0.way = NetworkWay.none }, from: .networkManager, at: instant(0),
        wall: Self.wall)
      _ = subject.ledger.settle(at: instant(0), wall: Self.wall)
      return subject.ledger.conditions.network.way?.value
    }
    #expect(way(isRouted: true) == .open)
    subject.ledger = ConditionLedger()
    #expect(way(isRouted: false) == NetworkWay.none, "a bridge of containers is no way")
  }

  @Test("since when something is so does not change while it is so") func since() {
    let subject = Subject()
    #expect(subject.isHeld(0, isMetered: true))
    #expect(subject.isHeld(9_000, isMetered: true))
    #expect(subject.ledger.conditions.network.isMetered?.since == Self.wall)
  }
}

@Suite struct MachinePolicyTests {
  private func conditions(_ change: (inout MachineObservation) -> Void) -> MachineConditions {
    var ledger = ConditionLedger()
    let now = MonotonicInstant(nanoseconds: 1)
    ledger.note(
      MachineObservation(change), from: .upower, at: now, wall: Timestamp(millisecondsSinceEpoch: 1))
    _ = ledger.settle(at: now, wall: Timestamp(millisecondsSinceEpoch: 1))
    return ledger.conditions
  }

  private func names(
    _ policy: MachinePolicy = MachinePolicy(), _ change: (inout MachineObservation) -> Void
  ) -> Set<MachineConditionName> {
    Set(policy.holds(in: conditions(change)).keys)
  }

  @Test("a battery is low below twenty percent, and on battery alone") func battery() {
    #expect(
      names {
        $0.isOnBattery = true
        $0.batteryLevel = 19
      } == [.batteryLow])
    #expect(
      names {
        $0.isOnBattery = true
        $0.batteryLevel = 20
      } == [])
    #expect(
      names {
        $0.isOnBattery = false
        $0.batteryLevel = 3
      } == [], "it is being charged")
    #expect(names { $0.batteryLevel = 3 } == [], "nobody says that the machine runs on it")
    #expect(
      names {
        $0.isOnBattery = true
        $0.batteryLevel = 60
        $0.isBatteryWarned = true
      } == [.batteryLow], "the system knows better")
    var never = MachinePolicy()
    never.batteryLevel = 0
    #expect(
      names(never) {
        $0.isOnBattery = true
        $0.batteryLevel = 0
      } == [])
  }

  @Test("on battery downloads wait only where that is configured") func onBattery() {
    #expect(names { $0.isOnBattery = true } == [])
    var policy = MachinePolicy()
    policy.onBattery = .wait
    #expect(names(policy) { $0.isOnBattery = true } == [.onBattery])
  }

  @Test("power that is saved holds on a battery, and where that is not known") func saver() {
    #expect(names { $0.isPowerSaving = true } == [.powerSaver])
    #expect(
      names {
        $0.isPowerSaving = true
        $0.isOnBattery = false
      } == [])
  }

  @Test("a service on this machine needs no network") func local() {
    #expect(names { $0.way = NetworkWay.none } == [.offline])
    var policy = MachinePolicy()
    policy.needsNetwork = false
    #expect(names(policy) { $0.way = NetworkWay.none } == [])
  }

  @Test("each rule can be taken back, but for sleep") func rules() {
    var policy = MachinePolicy()
    policy.offline = .ignore
    #expect(names(policy) { $0.way = NetworkWay.none } == [])
    (policy.metered, policy.portal, policy.powerSaver, policy.busy) = (.ignore, .ignore, .ignore, .ignore)
    #expect(
      names(policy) {
        $0.isMetered = true
        $0.way = .portal
        $0.isPowerSaving = true
        $0.isBusy = true
        $0.isLeaving = true
      } == [.sleep])
  }
}
