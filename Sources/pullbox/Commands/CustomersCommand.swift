import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `customers [end NAME]`: lists the devices and the readers' keys of a customer, or ends one of the keys. Exactly one of `--customer`,
/// `--transaction`, `--device` and `--account` names the customer of a list.
enum CustomersCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "customers", summary: "Show the devices and readers' keys of a customer, or end a key",
    discussion: """
      The customer is named by the server's own name, by a transaction, by a device, or by \
      an application's name for its user; the device of a reader's key is reader-NAME. 'customers end NAME' ends a key in place of \
      its customer: the next request with it is refused.
      """,
    operands: [.init("end", isRequired: false), .init("NAME", isRequired: false)],
    options: CustomerSelection.options + [
      .value(
        "reason", "TEXT", environment: .none, help: "Reason for the end of a key, kept in the audit log")
    ])

  /// Decides by the number of operands; any other combination is wrong usage.
  static func run(_ context: CommandContext) async throws {
    let operands = context.arguments.operands
    switch (operands.first, operands.count) {
    case (nil, 0): try await list(context)
    case ("end", 2): try await end(operands[1], context)
    default: throw UsageError("give nothing, or 'end NAME'")
    }
  }

  /// Prints the devices and the keys in one table. A count of names other than one is wrong usage.
  private static func list(_ context: CommandContext) async throws {
    let selection = try CustomerSelection(context.arguments)
    let found = try await context.operatorClient().customers(
      customer: selection.customer, transaction: selection.transaction, device: selection.device,
      account: selection.account, store: selection.store, environment: selection.environment)
    guard !context.console.printsJSON else {
      try context.console.print(json: found)
      return
    }
    try context.console.print(
      rows(found),
      columns: [
        .name("CUSTOMER"), .text("KIND"), .name("NAME"), .text("TITLE"), .text("SINCE"), .text("LAST SEEN"),
      ], whenEmpty: "no devices"
    ) { $0 }
  }

  /// One row for each device and each key, in the order of the answer.
  static func rows(_ found: OperatorCustomers) -> [[String]] {
    found.customers.flatMap { customer in
      customer.devices.map { device in
        [
          customer.customer, "device", device.device.description, "", LocalTime.text(device.firstSeen),
          LocalTime.text(device.lastSeen),
        ]
      }
        + customer.readers.map { key in
          [
            customer.customer, "reader", key.name, key.title, LocalTime.text(key.created),
            key.used.map { LocalTime.text($0) } ?? "never",
          ]
        }
    }
  }

  /// Ends the key at once. A text that cannot be a name is wrong usage, and an unknown name the server's refusal.
  private static func end(_ text: String, _ context: CommandContext) async throws {
    guard let name = ReaderName(text) else { throw UsageError("NAME is one that 'customers' lists") }
    let key = try await context.patientClient().removeReaderKey(
      name, reason: context.arguments.value("reason"))
    guard !context.console.printsJSON else {
      try context.console.print(json: key)
      return
    }
    context.console.note("\(name) (\(key.title)) opens nothing any more.")
  }
}
