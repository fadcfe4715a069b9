import PullboxAPI
import PullboxKit
import ServiceRuntime

enum WithdrawCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "withdraw", summary: "Take a version back for good: nobody new gets it",
    discussion: """
      Who asks for the version from now on is told that it was withdrawn. Downloads
      that were granted before go on, unless --stop-downloads. Copies on devices
      stay. A withdrawn version does not come back; its content can be published
      again as another version. To go back to the version before, release that one:
      'pullbox release ID VERSION'.
      """,
    operands: [.init("ID"), .init("VERSION")],
    options: [
      .value("reason", "TEXT", environment: .some(nil), help: "Kept with the version and in the audit log"),
      .flag(
        "stop-downloads", environment: .some(nil),
        help: "Also break off downloads that run, and refuse those that were granted before"),
      .confirmed,
    ])

  static func run(_ context: CommandContext) async throws {
    let (product, version) = (try context.product(0), try context.version(1))
    let client = try context.patientClient()
    let stops = context.arguments.isSet("stop-downloads")
    if Confirmation.isAsked(context), let record = try await client.version(product, version),
      record.state == .released || record.state == .superseded
    {
      let rest = stops ? " and stop its downloads" : ""
      try await Confirmation.ask("Withdraw \(product) \(record.version) for good\(rest)?")
    }
    let record = try await client.withdraw(
      product, version,
      WithdrawalRequest(reason: context.arguments.value("reason"), stopDownloads: stops ? true : nil))
    try VersionsCommand.report(record, context.console)
  }
}
