import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum GrantsCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "grants", summary: "Show grants, as revoke and reinstate name them",
    options: [
      .value("product", "ID", environment: .some(nil), help: "Only of this product"),
      .value("transaction", "ID", environment: .some(nil), help: "Only of this transaction"),
      .value("device", "ID", environment: .some(nil), help: "Only of this device"),
      .flag("revoked", environment: .some(nil), help: "Only revoked ones"),
      .value("limit", "N", environment: .some(nil), fallback: "200", help: "At most so many"),
    ])

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let product = try arguments.value("product").map(CommandContext.product)
    let transaction: TransactionIdentifier? = try named("transaction", arguments)
    let device: DeviceIdentifier? = try named("device", arguments)
    let limit = try arguments.integer("limit", in: 1...Paging.maximumItems) ?? 200
    let client = try context.operatorClient()
    let grants = try await Paging.all(limit: limit) {
      try await client.grants(
        of: product, transaction: transaction, device: device, revokedOnly: arguments.isSet("revoked"),
        after: $0)
    }
    try print(grants, context.console)
  }

  static func print(_ grants: [GrantStatus], _ console: Console) throws {
    try console.print(
      grants,
      columns: [
        .text("GRANT"), .text("STATE"), .text("PRODUCT"), .text("TRANSACTION"), .text("DEVICE"),
        .text("SINCE"), .text("WHY"),
      ], whenEmpty: "no grants"
    ) { grant in
      let last = grant.history.last
      return [
        grant.grant.text, grant.state.rawValue, grant.product.text, grant.transaction.text,
        grant.device.text, last?.at.description ?? "", last?.detail ?? "",
      ]
    }
  }

  /// The operand of `revoke` and `reinstate`.
  static func grant(_ context: CommandContext) throws -> GrantIdentifier {
    let text = try context.operand(0)
    guard let grant = GrantIdentifier(text) else {
      throw UsageError("'\(text)' is no grant: 32 hexadecimal digits, as 'pullbox grants' shows them")
    }
    return grant
  }

  private static func named<Value: TextCodable>(
    _ name: String, _ arguments: ParsedArguments
  ) throws(UsageError) -> Value? {
    guard let text = arguments.value(name) else { return nil }
    guard let value = Value(text) else { throw UsageError("--\(name): '\(text)' cannot be one") }
    return value
  }
}
