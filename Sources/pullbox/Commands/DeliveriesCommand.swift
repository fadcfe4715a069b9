import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum DeliveriesCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "deliveries", summary: "Show what the server granted and delivered",
    options: [
      .value("product", "ID", environment: .some(nil), help: "Only of this product"),
      .value("device", "ID", environment: .some(nil), help: "Only to this device"),
      .value(
        "state", "STATE", environment: .some(nil), help: "Only granted, completed, finished or revoked ones"),
      .value("limit", "N", environment: .some(nil), fallback: "200", help: "At most so many"),
    ])

  static func run(_ context: CommandContext) async throws {
    let product = try context.arguments.value("product").map(CommandContext.product)
    let device = try context.arguments.value("device").map { text throws(UsageError) in
      guard let device = DeviceIdentifier(text) else { throw UsageError("'\(text)' is no device identifier") }
      return device
    }
    let state = try context.arguments.value("state").map { text throws(UsageError) in
      guard let state = GrantState(rawValue: text) else {
        throw UsageError("--state takes granted, completed, finished or revoked, not '\(text)'")
      }
      return state
    }
    let limit = try context.arguments.integer("limit", in: 1...Paging.maximumItems) ?? 200
    let client = try context.operatorClient()
    let grants = try await Paging.all(limit: limit) {
      try await client.deliveries(of: product, to: device, in: state, after: $0)
    }
    try context.console.print(
      grants,
      columns: [
        .text("GRANT"), .text("STATE"), .text("PRODUCT"), .text("VERSION"), .number("SIZE"),
        .number("SENT"), .text("TRANSACTION"), .text("DEVICE"), .text("SINCE"),
      ], whenEmpty: "no deliveries"
    ) { grant in
      [
        grant.grant.text, grant.state.rawValue, grant.product.text, grant.version.text,
        grant.length.description, grant.bytesDelivered.description, grant.transaction.text, grant.device.text,
        grant.history.last?.at.description ?? "",
      ]
    }
  }
}
