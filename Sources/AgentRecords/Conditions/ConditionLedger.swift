package import CoreTypes

/// Keeps what each source tells, and makes one ``MachineConditions`` of it that holds can be made of: a source that falls silent counts
/// for ``Pace/patience``, and one that flaps does not make work stop and go with it. Pure: it is told the time.
///
/// What stops work counts at once. What lets it go on counts when it has been told for ``Pace/quiet``, and not before ``Pace/shortestHold`` has
/// passed since the last change. So a hold that flaps ten times a second begins once and stays. A source that does not know any more
/// what it said counts as silent in that, unless it tells of another device: a service that starts anew knows little at first.
///
/// ```swift
/// var ledger = ConditionLedger()
/// ledger.note(MachineObservation { $0.isMetered = true }, from: .networkManager, at: now, wall: wall)
/// ledger.settle(at: now, wall: wall)   // true: ledger.conditions has it
/// ledger.nextChange                    // when to settle again though no source speaks
/// ```
package struct ConditionLedger: Sendable {
  /// The times by which what is told counts.
  package struct Pace: Hashable, Sendable {
    /// How long a silent source is believed.
    package var patience: Duration = .seconds(30)
    /// Two changes of a member lie so far apart, but for one that stops work.
    package var shortestHold: Duration = .seconds(2)
    /// How long nothing may have stopped work before it goes on.
    package var quiet: Duration = .milliseconds(500)

    package init() {}
  }

  /// A source as this process knows it.
  package struct Source: Hashable, Sendable {
    package var observation = MachineObservation()
    /// Since when it speaks, or since when it does no more.
    package var since: Timestamp
    /// Nil while it speaks.
    package var silentSince: MonotonicInstant?
    /// Why it does not speak.
    package var error: String?
    /// The word that it told last counts no more.
    package var isForgotten = false
  }

  package private(set) var sources: [ConditionSourceName: Source] = [:]
  package private(set) var conditions = MachineConditions()

  private var way = SettledFact<NetworkWay>(isStrict: { $0 != .open })
  private var isMetered = SettledFact<Bool>()
  private var fingerprint = SettledFact<Int>(isStricter: { _, _ in false })
  private var isOnBattery = SettledFact<Bool>()
  private var level = SettledFact<Int>(isStricter: { $0 < $1 })
  private var isWarned = SettledFact<Bool>()
  private var isSaving = SettledFact<Bool>()
  private var isLeaving = SettledFact<Bool>(isImmediate: true)
  private var isBusy = SettledFact<Bool>()

  private let pace: Pace

  package init(pace: Pace = Pace()) {
    self.pace = pace
  }

  /// All that a source tells, from now on, in place of what it told before.
  package mutating func note(
    _ observation: MachineObservation, from name: ConditionSourceName, at now: MonotonicInstant,
    wall: Timestamp
  ) {
    var source = sources[name] ?? Source(since: wall)
    if source.silentSince != nil { source.since = wall }
    source.observation = observation
    source.silentSince = nil
    source.error = nil
    source.isForgotten = false
    sources[name] = source
    look(at: now, wall: wall)
  }

  /// A source tells nothing any more: it ended, failed, or this machine has none of it.
  package mutating func silence(
    _ name: ConditionSourceName, because error: String?, at now: MonotonicInstant, wall: Timestamp
  ) {
    guard var source = sources[name] else {
      sources[name] = Source(since: wall, silentSince: now, error: error, isForgotten: true)
      return
    }
    source.error = error
    if source.silentSince == nil {
      source.silentSince = now
      source.since = wall
    }
    sources[name] = source
    look(at: now, wall: wall)
  }

  /// Takes in what is due; whether ``conditions`` are others than before.
  package mutating func settle(at now: MonotonicInstant, wall: Timestamp) -> Bool {
    for (name, source) in sources {
      guard let silent = source.silentSince, !source.isForgotten, silent + pace.patience <= now else {
        continue
      }
      sources[name]?.isForgotten = true
      sources[name]?.observation = MachineObservation()
    }
    look(at: now, wall: wall)
    let before = conditions
    conditions.network.way = way.settle(at: now, pace)
    conditions.network.isMetered = isMetered.settle(at: now, pace)
    conditions.network.fingerprint = fingerprint.settle(at: now, pace)
    conditions.power.isOnBattery = isOnBattery.settle(at: now, pace)
    conditions.power.level = level.settle(at: now, pace)
    conditions.power.isWarned = isWarned.settle(at: now, pace)
    conditions.power.isSaving = isSaving.settle(at: now, pace)
    conditions.session.isLeaving = isLeaving.settle(at: now, pace)
    conditions.pressure.isBusy = isBusy.settle(at: now, pace)
    return conditions != before
  }

  /// When something changes though no source speaks; nil for never.
  package var nextChange: MonotonicInstant? {
    let silences = sources.values.filter { !$0.isForgotten }
      .compactMap { source in source.silentSince.map { $0 + pace.patience } }
    let facts = [
      way.due(pace), isMetered.due(pace), fingerprint.due(pace), isOnBattery.due(pace), level.due(pace),
      isWarned.due(pace),
      isSaving.due(pace), isLeaving.due(pace), isBusy.due(pace),
    ]
    return (silences + facts.compactMap { $0 }).min()
  }

  private mutating func look(at now: MonotonicInstant, wall: Timestamp) {
    way.note(firstWay(wall), at: now, isBelieved: isBelieved(conditions.network.way))
    isMetered.note(
      first(\.isMetered, wall, device: true), at: now, isBelieved: isBelieved(conditions.network.isMetered))
    fingerprint.note(first(\.fingerprint, wall), at: now)
    isOnBattery.note(
      first(\.isOnBattery, wall), at: now, isBelieved: isBelieved(conditions.power.isOnBattery))
    level.note(first(\.batteryLevel, wall), at: now, isBelieved: isBelieved(conditions.power.level))
    isWarned.note(first(\.isBatteryWarned, wall), at: now, isBelieved: isBelieved(conditions.power.isWarned))
    isSaving.note(first(\.isPowerSaving, wall), at: now, isBelieved: isBelieved(conditions.power.isSaving))
    isLeaving.note(first(\.isLeaving, wall), at: now)
    isBusy.note(first(\.isBusy, wall), at: now)
  }

  /// Whether what a source has told counts for a while where it does not tell it any more. It does not once the source is given up, or
  /// tells of another device.
  private func isBelieved<Value>(_ settled: Told<Value>?) -> Bool {
    guard let settled, let source = sources[settled.source], !source.isForgotten else { return false }
    guard let device = source.observation.device, let known = settled.device else { return true }
    return device == known
  }

  /// A service that does not look after every link may see no way where the kernel has one to everywhere.
  private func firstWay(_ wall: Timestamp) -> Told<NetworkWay>? {
    let told: Told<NetworkWay>? = first(\.way, wall, device: true)
    guard told?.value == NetworkWay.none,
      let kernel = sources[.netlink]?.observation, kernel.isRouted == true, kernel.way == .open
    else { return told }
    return Told(.open, by: .netlink, device: kernel.device, since: wall)
  }

  /// The word of the first source that tells anything of it.
  private func first<Value: Hashable & Sendable>(
    _ member: KeyPath<MachineObservation, Value?>, _ wall: Timestamp, device: Bool = false
  ) -> Told<Value>? {
    for name in ConditionSourceName.allCases {
      guard let source = sources[name], let value = source.observation[keyPath: member] else { continue }
      return Told(value, by: name, device: device ? source.observation.device : nil, since: wall)
    }
    return nil
  }
}

/// One member of the conditions, which changes no faster than work can follow.
struct SettledFact<Value: Hashable & Sendable>: Sendable {
  private var told: Told<Value>?
  private var settled: Told<Value>?
  /// When ``settled`` got another value; nil before the first.
  private var changed: MonotonicInstant?
  /// When what stops work was told last.
  private var strictUntil: MonotonicInstant?
  /// Since when nothing is told, by a source that is believed still.
  private var unknownSince: MonotonicInstant?
  /// Whether going from the second value to the first stops work.
  private let isStricter: @Sendable (Value, Value?) -> Bool
  /// Whether every change counts at once.
  private let isImmediate: Bool

  init(isStricter: @escaping @Sendable (Value, Value) -> Bool) {
    self.isStricter = { new, old in old.map { isStricter(new, $0) } ?? true }
    isImmediate = false
  }

  init(isStrict: @escaping @Sendable (Value) -> Bool, isImmediate: Bool = false) {
    isStricter = { new, _ in isStrict(new) }
    self.isImmediate = isImmediate
  }

  /// Takes in what is told now; nil for nothing. `isBelieved` says whether what has settled counts for a while then.
  mutating func note(_ new: Told<Value>?, at now: MonotonicInstant, isBelieved: Bool = false) {
    // While the strict word stands it counts as told.
    if let told, isStricter(told.value, settled?.value), told.value != new?.value { strictUntil = now }
    guard let new else {
      told = nil
      let stops = settled.map { isStricter($0.value, nil) } ?? false
      unknownSince = isBelieved && stops ? unknownSince ?? now : nil
      return
    }
    unknownSince = nil
    if let known = told, known.value == new.value, known.source == new.source, known.device == new.device {
      return
    }
    var next = new
    // The same word by another source is no news.
    if let known = told ?? settled, known.value == new.value { next.since = known.since }
    told = next
  }

  /// When ``settle(at:_:)`` changes something; nil where it would not.
  func due(_ pace: ConditionLedger.Pace) -> MonotonicInstant? {
    guard told != settled else { return nil }
    guard told?.value != settled?.value, let settled else { return .init(nanoseconds: 0) }
    if isImmediate { return .init(nanoseconds: 0) }
    if let told, isStricter(told.value, settled.value) { return .init(nanoseconds: 0) }
    let waits = [
      changed.map { $0 + pace.shortestHold }, strictUntil.map { $0 + pace.quiet },
      unknownSince.map { $0 + pace.patience },
    ]
    return waits.compactMap { $0 }.max() ?? .init(nanoseconds: 0)
  }

  mutating func settle(at now: MonotonicInstant, _ pace: ConditionLedger.Pace) -> Told<Value>? {
    if let due = due(pace), due <= now {
      if told?.value != settled?.value { changed = now }
      settled = told
    }
    return settled
  }
}

extension SettledFact where Value == Bool {
  /// One that stops work while it is true.
  init(isImmediate: Bool = false) {
    self.init(isStrict: { $0 }, isImmediate: isImmediate)
  }
}
