import CoreTypes
import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `approvals [approve|decline NUMBER]`: the steps that wait for another operator's approval, and the decision on one.
enum ApprovalsCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "approvals", summary: "Show the steps that want a second operator, approve one or decline it",
    discussion: """
      A server with secondOperator keeps what cannot be taken back until another operator \
      key than the one that asked approves it: the withdrawal of a version, a product that \
      is taken off sale, the revocation of more than 100 grants. What was changed since it \
      was asked for is not carried out.
      """,
    operands: [.init("approve|decline", isRequired: false), .init("NUMBER", isRequired: false)],
    options: [
      .value(
        "state", "STATE", environment: .none,
        help: "Show only requests in this state: waiting, approved, done, declined, refused or expired"),
      .value("reason", "TEXT", environment: .none, help: "Reason for declining, kept in the audit log"),
      .limit,
    ])

  /// Decides by the number of operands; any other combination is wrong usage.
  static func run(_ context: CommandContext) async throws {
    let operands = context.arguments.operands
    switch (operands.first, operands.count) {
    case (nil, 0): try await list(context)
    case ("approve", 2):
      let number = try Self.number(operands[1])
      try print([try await context.patientClient().approve(number)], on: context.console)
    case ("decline", 2):
      let number = try Self.number(operands[1])
      let reason = context.arguments.value("reason")
      try print([try await context.patientClient().decline(number, reason: reason)], on: context.console)
    default: throw UsageError("give nothing, 'approve NUMBER' or 'decline NUMBER'")
    }
  }

  /// A state that does not exist is wrong usage.
  private static func list(_ context: CommandContext) async throws {
    let state = try context.arguments.value("state").map { text throws(UsageError) in
      guard let state = Approval.State(rawValue: text) else {
        let words = Approval.State.allCases.map(\.rawValue).joined(separator: ", ")
        throw UsageError("--state takes \(words), not '\(text)'")
      }
      return state
    }
    let client = try context.operatorClient()
    try await context.printList {
      try await client.approvals(in: state, after: $0)
    } asTable: {
      try print($0, on: context.console)
    }
  }

  static func number(_ text: String) throws(UsageError) -> Int64 {
    guard let number = Int64(text) else { throw UsageError("NUMBER is one that 'approvals' lists") }
    return number
  }

  /// AFFECTED is as of when it was asked for.
  private static func print(_ approvals: [Approval], on console: Console) throws {
    try console.print(
      approvals,
      columns: [
        .number("NUMBER"), .text("STATE"), .name("STEP"), .name("SUBJECT"), .number("AFFECTED"),
        .name("ASKED BY"), .text("ASKED"), .text("EXPIRES"), .name("DECIDED BY"), .sentence("WHY"),
      ], whenEmpty: "no requests"
    ) { approval in
      [
        approval.id.description, approval.state.rawValue, approval.action, approval.subject,
        approval.affected?.description ?? "", approval.askedBy, LocalTime.text(approval.asked),
        LocalTime.text(approval.expires), approval.decidedBy ?? "",
        approval.outcome ?? approval.reason ?? "",
      ]
    }
  }
}
