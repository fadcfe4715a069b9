import AgentRecords
import MessageBus

@testable import MachineConditionSources

/// The answers of networkd, NetworkManager and UPower, and the kernel's own words of pressure. Each line of an input is a member: its name, a
/// letter for its type, its value. What is told keeps to its bounds, a variant around a value changes nothing, and of what no service says
/// nothing is told.
enum ObservationProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    let text = String(decoding: bytes.prefix(1024), as: UTF8.self)
    var members: [String: BusValue] = [:]
    for line in text.split(separator: "\n").prefix(16) {
      let words = line.split(separator: " ", maxSplits: 2)
      guard words.count == 3, let value = value(String(words[2]), words[1]) else { continue }
      members[String(words[0])] = value
    }
    let told = observations(members)
    guard told == observations(members.mapValues { .variant(.variant($0)) }) else {
      return "\(told) is told of the same without variants"
    }
    for observation in told {
      if let level = observation.batteryLevel, !(0...100).contains(level) { return "a battery at \(level)" }
    }
    guard observations(members.filter { !words.contains($0.key) }) == observations([:]) else {
      return "something is told of members that are no matter here"
    }
    return checkPressure(text)
  }

  /// Those that are read.
  private static let words: Set<String> = [
    "OperationalState", "OnlineState", "Metered", "State", "Connectivity", "OnBattery", "IsPresent",
    "Percentage", "WarningLevel",
  ]

  private static func observations(_ members: [String: BusValue]) -> [MachineObservation] {
    [
      NetworkdSource.observation(members), NetworkManagerSource.observation(members),
      UPowerSource.observation(members, members),
    ]
  }

  private static func value(_ text: String, _ type: Substring) -> BusValue? {
    switch type {
    case "s": .string(text)
    case "b": .boolean(text == "true")
    case "u": UInt32(text).map { .uint32($0) }
    case "t": UInt64(text).map { .uint64($0) }
    case "x": Int64(text).map { .int64($0) }
    case "d": Double(text).map { .double($0) }
    default: nil
    }
  }

  /// The kernel's line is read again as it is written; another one says nothing.
  private static func checkPressure(_ text: String) -> String? {
    guard let total = PressureTotal.parse(text) else { return nil }
    guard
      PressureTotal.parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=\(total)\nfull total=1\n") == total
    else { return "a pressure of \(total) is read otherwise than it is written" }
    return text.contains("total=") && text.contains("some ") ? nil : "a pressure of no line"
  }
}
