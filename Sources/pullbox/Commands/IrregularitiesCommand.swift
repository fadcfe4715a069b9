import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `irregularities`: the server's cases, newest first. A kind that only a later server knows cannot be asked
/// for.
enum IrregularitiesCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "irregularities", summary: "Show cases in which purchases seem to go from hand to hand, newest first",
    discussion: """
      many-devices: more devices than its store allows showed a customer's proof.
      many-payers: three store accounts began to buy for one application account
      within a day. named-by-many: requests named one application account for the
      purchases of three store accounts within a day. other-account: an application account claimed a purchase of
      another's. 'pullbox grants --transaction' shows what was granted.
      """,
    options: [
      .value("kind", "KIND", environment: .none, help: "Show only cases of this kind"),
      .limit,
    ])

  static func run(_ context: CommandContext) async throws {
    /// A kind that is not known here is wrong usage; the list is filtered by the server.
    let kind = try context.arguments.value("kind").map { text throws(UsageError) in
      let kind = Irregularity.Kind(rawValue: text)
      guard Irregularity.Kind.known.contains(kind) else {
        let words = Irregularity.Kind.known.map(\.rawValue).joined(separator: ", ")
        throw UsageError("--kind takes \(words), not '\(text)'")
      }
      return kind
    }
    let client = try context.operatorClient()
    try await context.printList {
      try await client.irregularities(of: kind, after: $0)
    } asTable: {
      try print($0, on: context.console)
    }
  }

  /// A case without a device has an empty cell there.
  private static func print(_ cases: [Irregularity], on console: Console) throws {
    try console.print(
      cases,
      columns: [
        .text("KIND"), .name("STORE"), .text("ENVIRONMENT"), .name("TRANSACTION"), .name("DEVICE"),
        .text("FIRST SEEN"), .text("LAST SEEN"), .text("REFUSED"),
      ], whenEmpty: "nothing irregular"
    ) { found in
      [
        found.kind.rawValue, found.store, found.environment, found.transaction.description,
        found.device?.description ?? "", LocalTime.text(found.firstSeen), LocalTime.text(found.lastSeen),
        found.wasRefused ? "yes" : "no",
      ]
    }
  }
}
