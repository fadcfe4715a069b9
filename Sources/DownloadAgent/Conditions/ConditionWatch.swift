import AgentRecords
import ContentLibrary
import CoreTypes
import HTTPClient
import MachineConditionSources
import PullboxAPI
import ServiceRuntime

/// Hears the sources of the machine's conditions, and tells the downloads what holds them. A source that ends is begun again after a
/// while; without any source all is as if there were no conditions.
///
/// ```swift
/// async let watching: Void = conditions.run()   // until the task is cancelled
/// let shown = await conditions.status()
/// ```
actor ConditionWatch {
  /// The pauses before a source that ended is begun again.
  static let backoff = Backoff(initial: .seconds(1), factor: 2, cap: .seconds(60), jitter: 0.2)
  /// How long the sources have at the start before the log says which there are.
  static let introduction: Duration = .seconds(5)

  /// All that can be asked on this machine.
  private let sources: [any ConditionSource]
  /// The downloads, which hold and release their work.
  private let downloads: DownloadManager
  /// The gates that calls of the services pass; none of a service on this machine itself.
  private let gates: [NetworkGate]
  /// The client whose connections end when the machine sleeps.
  private let client: HTTPClient
  private let clock: any MonotonicClock
  private let wallClock: any WallClock
  private let log: Log

  private var ledger: ConditionLedger
  private var policy: MachinePolicy
  /// The conditions that were told to the downloads last.
  private var applied = MachineConditions()
  /// How often they were told: a source may tell while another one's word is on its way.
  private var appliedCount: UInt64 = 0
  /// The word about the way that a service has disproved by its answer; nil for none, and once the machine says anything else.
  private var disproved: NetworkWay?
  private var wayChanges = WayChanges()
  /// Signalled when the ledger is to be looked at.
  private let wakeUp = AsyncSignal()
  /// Those that have told, or ended, once.
  private var introduced: Set<ConditionSourceName> = []
  private var isIntroduced = false

  init(
    sources: [any ConditionSource], policy: MachinePolicy, pace: ConditionLedger.Pace,
    downloads: DownloadManager, gates: [NetworkGate], client: HTTPClient, clock: any MonotonicClock,
    wallClock: any WallClock, log: Log
  ) {
    self.sources = sources
    self.policy = policy
    ledger = ConditionLedger(pace: pace)
    self.downloads = downloads
    self.gates = gates
    self.client = client
    self.clock = clock
    self.wallClock = wallClock
    self.log = log
    for gate in gates { gate.signalOpenings(to: wakeUp) }
  }

  /// Until the task is cancelled.
  func run() async {
    await downloads.setPolicy(policy)
    guard !sources.isEmpty else { return }
    await withTaskGroup(of: Void.self) { group in
      for source in sources { group.addTask { await self.follow(source) } }
      group.addTask { await self.settleWhenDue() }
      group.addTask { await self.introduce() }
    }
  }

  /// Other rules, which count at once.
  func setPolicy(_ policy: MachinePolicy) async {
    self.policy = policy
    setAbsence(in: applied)
    await downloads.setPolicy(policy)
  }

  /// Takes in what a source tells. What the word stops has come to rest when this returns.
  func note(_ observation: MachineObservation, from name: ConditionSourceName) async {
    ledger.note(observation, from: name, at: clock.now(), wall: wallClock.now())
    noteIntroduced(name)
    await settle()
    wakeUp.signal()
  }

  /// Runs one source again and again.
  private func follow(_ source: any ConditionSource) async {
    var failures = 0
    while !Task.isCancelled {
      let began = clock.now()
      var error: (any Error)?
      do {
        try await source.run { await self.note($0, from: source.name) }
      } catch let failure {
        error = failure
      }
      if Task.isCancelled { return }
      let now = clock.now()
      ledger.silence(
        source.name, because: error.map { "\($0)" } ?? "it ended", at: now, wall: wallClock.now())
      noteIntroduced(source.name)
      wakeUp.signal()
      if let error = error as? ConditionSourceError, error.code == .absent { return }
      log.debug(
        "a source of conditions tells no more",
        ["source": LogValue(source.name.rawValue), "error": LogValue(error.map { "\($0)" } ?? "it ended")])
      // One that has spoken for a while begins anew.
      failures = now - began > .seconds(60) ? 1 : failures + 1
      do {
        try await clock.sleep(for: Self.backoff.delay(afterFailures: failures))
      } catch {
        return
      }
    }
  }

  private func settleWhenDue() async {
    while !Task.isCancelled {
      await settle()
      // A way is not tried before the machine goes; what is due then is taken when it has woken up.
      let due = applied.session.isLeaving?.value == true ? nil : wayChanges.due
      let next = [ledger.nextChange, due].compactMap(\.self).min()
      let rest = next.map { max(.milliseconds(1), $0 - clock.now()) }
      await wakeUp.wait(atMost: rest, clock: clock)
    }
  }

  /// Tells what has changed. The gates close before the downloads are stopped, and open before these go on.
  private func settle() async {
    _ = ledger.settle(at: clock.now(), wall: wallClock.now())
    let isDisproved = noteDisproof()
    var now = ledger.conditions
    if let disproved, now.network.way?.value == disproved { now.network.way = nil }
    let before = applied
    if now != before {
      applied = now
      logChanges(from: before, to: now)
      setAbsence(in: now)
      appliedCount += 1
      await downloads.setMachine(now, number: appliedCount)
      if now.session.isLeaving?.value == true, before.session.isLeaving?.value != true {
        await downloads.rest()
        // It may have woken up meanwhile.
        if applied.session.isLeaving?.value == true { await client.disconnect() }
      }
    }
    let hasWoken = before.session.isLeaving?.value == true && now.session.isLeaving?.value != true
    if Self.isOtherWay(now.network, than: before.network) { wayChanges.note(at: clock.now()) }
    guard applied.session.isLeaving?.value != true else { return }
    if wayChanges.take(at: clock.now()) || hasWoken || isDisproved {
      for gate in gates { gate.tryAgain() }
      await downloads.wayAppeared()
    }
  }

  /// Takes in that a gate has met an answer where the machine says that there is no network, or one that wants a log-in; whether one has
  /// now. It counts until the machine says anything else.
  private func noteDisproof() -> Bool {
    // Each is asked, for each tells once.
    let isDisproved = gates.reduce(false) { $1.takeDisproof() || $0 }
    guard let way = ledger.conditions.network.way, way.value != .open else {
      disproved = nil
      return false
    }
    guard isDisproved, disproved != way.value else { return false }
    disproved = way.value
    log.warning(
      "a service answered though the machine says that no way is open to it; that is not believed any more",
      ["way": LogValue("\(way.value)"), "source": LogValue(way.source.rawValue)])
    return true
  }

  /// Closes and opens the gates. That there is no network is doubted; that the machine is about to sleep is not.
  private func setAbsence(in conditions: MachineConditions) {
    let (absence, isLeaving) = (absence(in: conditions), conditions.session.isLeaving?.value == true)
    let isPortal = conditions.network.way?.value == .portal
    for gate in gates {
      gate.setAbsence(absence, doubtful: !isLeaving)
      gate.setPortal(isPortal)
    }
  }

  /// Why no request is worth anything now; nil where one may be.
  private func absence(in conditions: MachineConditions) -> String? {
    if conditions.session.isLeaving?.value == true { return "this machine is about to sleep" }
    guard policy.rule(of: .offline) == .wait, let way = conditions.network.way, way.value == .none else {
      return nil
    }
    return "this machine has no network, as \(way.source.rawValue) says"
  }

  /// Whether bytes may pass now that could not before, or go another way.
  private static func isOtherWay(
    _ network: MachineConditions.Network, than before: MachineConditions.Network
  ) -> Bool {
    guard let way = network.way, way.value == .open else { return false }
    if let old = before.way, old.value != .open || (old.source == way.source && old.device != way.device) {
      return true
    }
    guard let fingerprint = network.fingerprint, let old = before.fingerprint else { return false }
    return fingerprint.value != old.value
  }

  private func logChanges(from before: MachineConditions, to now: MachineConditions) {
    for name in MachineConditionName.allCases {
      let (old, new) = (policy.told(name, in: before), policy.told(name, in: now))
      guard (old?.value ?? false) != (new?.value ?? false) else { continue }
      let told = new ?? old
      log.info(
        new?.value == true ? "a condition of the machine began" : "a condition of the machine ended",
        [
          "condition": LogValue(name.rawValue), "source": LogValue(told?.source.rawValue ?? "-"),
          "device": LogValue(told?.device ?? "-"),
        ])
    }
  }
}

// What people are shown.
extension ConditionWatch {
  /// Every condition, and everyone who could tell one.
  func status() async -> ConditionsResponse {
    let counts = await downloads.machineHoldCounts
    let conditions = MachineConditionName.allCases.map { condition($0, holds: counts[$0] ?? 0) }
    let names = ConditionSourceName.allCases.filter { name in sources.contains { $0.name == name } }
    return ConditionsResponse(conditions: conditions, sources: names.map(source))
  }

  /// Those that are there and waited for; nil for none.
  func heldConditions() async -> [MachineConditionStatus]? {
    let holds = policy.holds(in: applied)
    guard !holds.isEmpty else { return nil }
    let counts = await downloads.machineHoldCounts
    return MachineConditionName.allCases.filter { holds[$0] != nil }
      .map { condition($0, holds: counts[$0] ?? 0) }
  }

  private func condition(_ name: MachineConditionName, holds: Int) -> MachineConditionStatus {
    let told = policy.told(name, in: applied)
    let state: MachineConditionStatus.State = told.map { $0.value ? .yes : .no } ?? .unknown
    return MachineConditionStatus(
      name: name, state: state, source: told?.source.rawValue, device: told?.device, since: told?.since,
      level: name == .batteryLow ? applied.power.level?.value : nil, rule: policy.rule(of: name),
      holds: holds)
  }

  private func source(_ name: ConditionSourceName) -> ConditionSourceStatus {
    guard let source = ledger.sources[name] else {
      return ConditionSourceStatus(name: name.rawValue, state: .absent)
    }
    let state: ConditionSourceStatus.State =
      source.silentSince == nil ? .speaks : source.isForgotten ? .absent : .silent
    return ConditionSourceStatus(name: name.rawValue, state: state, since: source.since, error: source.error)
  }

  private func noteIntroduced(_ name: ConditionSourceName) {
    introduced.insert(name)
    if introduced.count == sources.count { logIntroduction() }
  }

  private func introduce() async {
    // Cancelled when the agent stops.
    try? await clock.sleep(for: Self.introduction)
    if !Task.isCancelled { logIntroduction() }
  }

  /// One line, whatever this machine has.
  private func logIntroduction() {
    guard !isIntroduced else { return }
    isIntroduced = true
    let speaking = ConditionSourceName.allCases.filter { name in
      ledger.sources[name].map { $0.silentSince == nil } ?? false
    }
    log.info(
      "the machine tells its conditions",
      ["by": LogValue(speaking.isEmpty ? "none" : speaking.map(\.rawValue).joined(separator: " "))])
  }
}
