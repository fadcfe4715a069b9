public import Commerce
public import CoreTypes

/// The conditions of a machine that downloads may wait for.
public enum MachineConditionName: String, ListedWords, Sendable {
  /// The way to the network costs by the byte, as far as anyone can tell.
  case metered
  /// The network wants a log-in first.
  case portal
  /// There is no way to any network.
  case offline
  /// The battery is nearly empty.
  case batteryLow = "battery-low"
  /// The machine runs on its battery.
  case onBattery = "on-battery"
  /// A person, or the machine itself, saves power.
  case powerSaver = "power-saver"
  /// The machine is about to sleep or to go off.
  case sleep
  /// Other work waits for the disk or for memory.
  case busy

  /// The conditions that a person can have a download pass: the others keep it from running at all.
  public static let ignorable: Set<MachineConditionName> = [
    .metered, .portal, .batteryLow, .onBattery, .powerSaver, .busy,
  ]
}

/// Whether downloads wait for a condition to end.
public enum ConditionRule: String, ListedWords, Sendable {
  case wait
  case ignore

  /// The rule of every condition unless it is changed.
  public static var fallback: ConditionRule? { .wait }
}

/// `GET /v1/conditions` of the agent.
public struct ConditionsResponse: Codable, Hashable, Sendable {
  /// Every condition, those that no source tells included.
  public var conditions: [MachineConditionStatus]
  /// Everyone who could tell one on this machine.
  public var sources: [ConditionSourceStatus]

  /// Creates the document from its members.
  public init(conditions: [MachineConditionStatus], sources: [ConditionSourceStatus]) {
    self.conditions = conditions
    self.sources = sources
  }
}

/// A condition of the machine as the agent knows it.
public struct MachineConditionStatus: Codable, Hashable, Sendable {
  /// Whether the condition is there.
  public enum State: String, ListedWords, Sendable {
    case yes
    case no
    /// No source tells; it holds nothing.
    case unknown

    /// It holds nothing, as far as is known.
    public static var fallback: State? { .unknown }
  }

  /// The condition.
  public var name: MachineConditionName
  /// Whether it is there.
  public var state: State
  /// The source: `NetworkManager`, `UPower`, …; absent while it is unknown.
  public var source: String?
  /// The device that it is told of, such as `wwan0`; absent where it is of none.
  public var device: String?
  /// Since when it is so, as far as this process knows; absent while it is unknown.
  public var since: Timestamp?
  /// The charge of the battery, in percent; absent for other conditions, and where no source tells.
  public var level: Int?
  /// The rule of the agent's configuration.
  public var rule: ConditionRule
  /// The number of downloads that it holds now.
  public var holds: Int

  /// Creates the document from its members.
  public init(
    name: MachineConditionName, state: State, source: String? = nil, device: String? = nil,
    since: Timestamp? = nil, level: Int? = nil, rule: ConditionRule, holds: Int
  ) {
    self.name = name
    self.state = state
    self.source = source
    self.device = device
    self.since = since
    self.level = level
    self.rule = rule
    self.holds = holds
  }
}

/// Someone who tells conditions of the machine.
public struct ConditionSourceStatus: Codable, Hashable, Sendable {
  /// How a source stands.
  public enum State: String, ListedWords, Sendable {
    /// It tells.
    case speaks
    /// It has told, and does no more: what it told counts for half a minute.
    case silent
    /// This machine does not have it, or it has not told yet.
    case absent

    /// Nothing says that it tells.
    public static var fallback: State? { .absent }
  }

  /// The name: `NetworkManager`, `rtnetlink`, …
  public var name: String
  /// How it stands.
  public var state: State
  /// Since when; absent where that is not known.
  public var since: Timestamp?
  /// Why it does not speak, in a line for people; absent where it does.
  public var error: String?

  /// Creates the document from its members.
  public init(name: String, state: State, since: Timestamp? = nil, error: String? = nil) {
    self.name = name
    self.state = state
    self.since = since
    self.error = error
  }
}

/// The condition that a download waits for, and who tells it.
public struct DownloadCondition: Codable, Hashable, Sendable {
  /// The condition.
  public var name: MachineConditionName
  /// The source that tells it.
  public var source: String
  /// The device that it is told of, such as `wwan0`; absent where it is of none.
  public var device: String?
  /// Since when it is so.
  public var since: Timestamp

  /// Creates the document from its members.
  public init(name: MachineConditionName, source: String, device: String? = nil, since: Timestamp) {
    self.name = name
    self.source = source
    self.device = device
    self.since = since
  }
}

/// A condition that a download passes, and the user who said so.
public struct IgnoredCondition: Codable, Hashable, Sendable {
  /// The condition.
  public var name: MachineConditionName
  /// The user of this device, by number; absent where that is not known.
  public var by: UInt32?

  /// Creates the document from its members.
  public init(name: MachineConditionName, by: UInt32? = nil) {
    self.name = name
    self.by = by
  }
}
