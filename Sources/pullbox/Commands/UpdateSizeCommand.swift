import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum UpdateSizeCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "costs", summary: "Show what a version would cost devices that hold another one",
    discussion: """
      For each version that devices hold: how many they are, the bytes each of them
      would fetch and can keep, and how many files differ. A device holds the
      version that it last reported as placed. Nothing is changed.
      """,
    operands: [.init("ID"), .init("VERSION")],
    options: [
      .value(
        "percentage", "N", environment: .some(nil),
        help: "Count as reached only the devices that a release to N percent would reach")
    ])

  static func run(_ context: CommandContext) async throws {
    let percentage = try context.arguments.integer("percentage", in: 1...100)
    let costs = try await context.operatorClient().costs(
      of: try context.product(0), try context.version(1), percentage: percentage)
    if context.console.printsJSON {
      try context.console.print(json: costs)
      return
    }
    for line in lines(costs) { context.console.print(line) }
  }

  static func lines(_ costs: UpdateSizes) -> [String] {
    var lines = ["\(costs.product) \(costs.version): \(costs.length) for a device that holds nothing of it"]
    guard !costs.holders.isEmpty else { return lines + ["no device holds another version"] }
    let table = TextTable(
      columns: [
        .text("HELD"), .number("DEVICES"), .number("REACHED"), .number("TO FETCH"), .number("KEPT"),
        .number("SAME"), .number("CHANGED"), .number("ADDED"), .number("REMOVED"),
      ],
      rows: costs.holders.map { holder in
        [
          holder.version.text, String(holder.devices), String(holder.devicesReached),
          holder.bytesToFetch.description, holder.bytesKept.description, String(holder.filesUnchanged),
          String(holder.filesChanged), String(holder.filesAdded), String(holder.filesRemoved),
        ]
      })
    lines += table.lines(width: nil)
    let reached = costs.holders.filter { $0.bytesToFetch > .zero }.reduce(0) { $0 + $1.devicesReached }
    switch reached {
    case 0: lines.append("no device would have anything to fetch")
    case 1: lines.append("1 device would fetch \(costs.bytesToFetch)")
    default: lines.append("all together, \(reached) devices would fetch \(costs.bytesToFetch)")
    }
    return lines
  }
}
