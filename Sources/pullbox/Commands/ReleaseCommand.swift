import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum ReleaseCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "release", summary: "Give an approved version to readers, or go back to an older one",
    discussion: """
      The version takes the place of the one that readers get now. With --percentage
      only a part of the devices gets it, always the same ones first; the others
      stay with the version before. Give the command again with a higher percentage
      for more devices, and without one for all.

      To roll back, release the version before: 'pullbox release ID VERSION'. A
      release to a part of the devices ends with it.

      With --at the release waits for its date. Given again, it gets another date;
      --cancel takes the date away.

      What the release costs devices that hold another version is shown first, and
      on a terminal you are asked whether to go on.
      """,
    operands: [.init("ID"), .init("VERSION")],
    options: [
      .value(
        "percentage", "N", environment: .some(nil), help: "How many devices of a hundred get it: 1 to 100"),
      .value(
        "at", "DATE", environment: .some(nil),
        help: "When, such as 2026-12-24T08:00:00Z or 2026-12-24T09:00:00+01:00; at once when it has passed"),
      .flag("cancel", environment: .some(nil), help: "Cancel a release that waits for its date"),
      .confirmed,
    ])

  static func run(_ context: CommandContext) async throws {
    let (product, version) = (try context.product(0), try context.version(1))
    let request = try request(context)
    let client = try context.patientClient()
    if context.arguments.isSet("cancel") {
      return try VersionsCommand.report(try await client.cancelRelease(product, version), context.console)
    }
    if !context.console.printsJSON, let record = try await client.version(product, version),
      isReleasable(record.state)
    {
      let costs = try await client.costs(of: product, version, percentage: request.percentage)
      for line in UpdateSizeCommand.lines(costs) { context.console.note(line) }
      if Confirmation.isAsked(context) {
        try await Confirmation.ask(question(product, record.version, request))
      }
    }
    let record = try await client.release(product, version, request)
    try VersionsCommand.report(record, context.console)
  }

  private static func request(_ context: CommandContext) throws -> ReleaseRequest {
    let percentage = try context.arguments.integer("percentage", in: 1...100)
    let date = try context.arguments.value("at").map { text throws(UsageError) in
      guard let date = Timestamp(rfc3339: text) else {
        throw UsageError("--at takes a date such as 2026-12-24T08:00:00Z, not '\(text)'")
      }
      return date
    }
    if context.arguments.isSet("cancel"), percentage != nil || date != nil {
      throw UsageError("--cancel goes without --percentage and --at")
    }
    return ReleaseRequest(percentage: percentage, at: date)
  }

  /// The server says of the others why not; there is nothing to ask then.
  private static func isReleasable(_ state: VersionState) -> Bool {
    switch state {
    case .approved, .released, .superseded: true
    case .draft, .submitted, .rejected, .withdrawn: false
    }
  }

  private static func question(
    _ product: ProductIdentifier, _ version: ContentVersion, _ request: ReleaseRequest
  ) -> String {
    let share = request.percentage.map { $0 < 100 ? "\($0) % of devices" : "all devices" } ?? "all devices"
    let date = request.at.map { $0 > SystemWallClock().now() ? "at \($0)" : "now" } ?? "now"
    return "Release \(product) \(version) to \(share) \(date)?"
  }
}
