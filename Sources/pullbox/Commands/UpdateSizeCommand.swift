import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime

/// `update-size ID VERSION`: the bytes that devices would fetch for an update, as the server counts them.
enum UpdateSizeCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "update-size", aliases: ["costs"], summary: "Show what devices would download to update to a version",
    discussion: """
      The table has a row for each version that devices hold: the number of devices,
      the bytes that each of them would fetch and can keep, and the number of files
      that differ. A device holds the version that it last reported as placed.
      The command changes nothing.
      """,
    operands: [.product(), .init("VERSION")],
    options: [
      .value(
        "percentage", "N", environment: .none,
        help: "Count only the devices that a rollout to N percent of devices would reach")
    ])

  /// Makes one request; nothing changes at the server.
  static func run(_ context: CommandContext) async throws {
    let percentage = try context.arguments.integer("percentage", in: 1...100)
    let sizes = try await context.operatorClient().updateSizes(
      of: try context.product(0), version: try context.version(1), percentage: percentage)
    if context.console.printsJSON {
      try context.console.print(json: sizes)
      return
    }
    for line in lines(sizes) { context.console.print(line) }
  }

  /// A sentence for a new device, a table of the versions that devices hold, and the sum. `release` shows the
  /// same before its question.
  static func lines(_ sizes: UpdateSizes) -> [String] {
    var lines = ["\(sizes.product) \(sizes.version): \(sizes.length) for a device that holds nothing of it"]
    guard !sizes.holders.isEmpty else { return lines + ["no device holds another version"] }
    let table = TextTable(
      columns: [
        .name("HELD"), .number("DEVICES"), .number("REACHED"), .number("TO FETCH"), .number("KEPT"),
        .number("SAME"), .number("CHANGED"), .number("ADDED"), .number("REMOVED"),
      ],
      rows: sizes.holders.map { holder in
        [
          holder.version.description, String(holder.devices), String(holder.devicesReached),
          holder.bytesToFetch.description, holder.bytesKept.description, String(holder.filesUnchanged),
          String(holder.filesChanged), String(holder.filesAdded), String(holder.filesRemoved),
        ]
      })
    lines += table.lines(width: nil)
    let reached = sizes.holders.filter { $0.bytesToFetch > .zero }.reduce(0) { $0 + $1.devicesReached }
    switch reached {
    case 0: lines.append("no device would have anything to fetch")
    case 1: lines.append("1 device would fetch \(sizes.bytesToFetch)")
    default: lines.append("all together, \(reached) devices would fetch \(sizes.bytesToFetch)")
    }
    return lines
  }
}
