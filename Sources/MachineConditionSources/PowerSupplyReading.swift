import AgentRecords
import CoreTypes
import Files
import SystemCalls

/// The supplies of `/sys/class/power_supply`, read once (the kernel's Documentation/ABI/testing/sysfs-class-power).
struct PowerSupplyReading: Hashable, Sendable {
  /// The members of one supply, as the kernel writes them.
  struct Supply: Hashable, Sendable {
    var type = ""
    /// `Device` for the battery of a mouse, which is no matter of this machine.
    var scope = ""
    var status = ""
    var isOnline: Bool?
    /// 0 to 100.
    var capacity: Int?
    /// In the unit of the supply, which is the same for both; nil where it does not tell.
    var now: Int64?
    var full: Int64?
  }

  var supplies: [Supply]

  /// Supplies that are looked at, at most.
  static let maximumSupplies = 64

  /// Reads all that lie below `directory`. A member that cannot be read is one that the supply does not tell. Blocks.
  static func read(_ directory: String) throws(SystemError) -> PowerSupplyReading {
    let names = try FileSystem.list(directory).map(\.name).sorted().prefix(maximumSupplies)
    return PowerSupplyReading(supplies: names.map { supply("\(directory)/\($0)") })
  }

  private static func supply(_ path: String) -> Supply {
    func text(_ member: String) -> String? {
      guard let bytes = try? FileSystem.read("\(path)/\(member)", upTo: .kibibytes(4)) else { return nil }
      return String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
    }
    func number(_ member: String) -> Int64? { text(member).flatMap { Int64($0) } }
    return Supply(
      type: text("type") ?? "", scope: text("scope") ?? "", status: text("status") ?? "",
      isOnline: number("online").map { $0 != 0 },
      capacity: number("capacity").flatMap { (0...100).contains($0) ? Int($0) : nil },
      now: number("energy_now") ?? number("charge_now"),
      full: number("energy_full") ?? number("charge_full"))
  }

  private var batteries: [Supply] { supplies.filter { $0.type == "Battery" && $0.scope != "Device" } }

  /// Whether there is a battery whose charge changes.
  var hasBattery: Bool { !batteries.isEmpty }

  /// A machine runs on its battery while one is discharged and nothing feeds it. Of several batteries the level is that of all together.
  var observation: MachineObservation {
    let feeds = supplies.filter { $0.type != "Battery" && $0.scope != "Device" }
    let isFed = feeds.contains { $0.isOnline == true }
    let isDischarged = batteries.contains { $0.status == "Discharging" }
    return MachineObservation {
      $0.isOnBattery = isDischarged && !isFed
      $0.batteryLevel = level
    }
  }

  private var level: Int? {
    let known = batteries.filter { $0.capacity != nil }
    guard !known.isEmpty else { return nil }
    let weights = known.map { Double(max(0, $0.full ?? 0)) }
    let areWeighted = weights.allSatisfy { $0 > 0 }
    let total = areWeighted ? weights.reduce(0, +) : Double(known.count)
    let sum = zip(known, weights).map { Double($0.capacity ?? 0) * (areWeighted ? $1 : 1) }.reduce(0, +)
    return Int(clamping: (sum / total).rounded())
  }
}
