import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `grants`: the server's grants page by page, with the short names that `revoke` and `reinstate` take.
enum GrantsCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "grants", summary: "Show grants with the short names that revoke and reinstate take",
    options: [
      .value("product", "ID", environment: .none, help: "Show only grants of this product"),
      .value("transaction", "ID", environment: .none, help: "Show only grants of this transaction"),
      .value("device", "ID", environment: .none, help: "Show only grants of this device"),
      .value(
        "customer", "ID", environment: .none,
        help: "Show only grants of this customer, by the name that 'customers' shows"),
      .flag("revoked", environment: .none, help: "Show only revoked grants"),
      .limit,
    ])

  /// Checks the identifiers before the first request. The server filters, and revoked grants alone are asked for with
  /// `--revoked`.
  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let product = try arguments.value("product").map(CommandContext.product)
    let transaction: TransactionIdentifier? = try identifier("transaction", in: arguments)
    let device: DeviceIdentifier? = try identifier("device", in: arguments)
    let client = try context.operatorClient()
    try await context.printList {
      try await client.grants(
        of: product, transaction: transaction, device: device, customer: arguments.value("customer"),
        revokedOnly: arguments.isSet("revoked"), after: $0)
    } asTable: {
      try print($0, on: context.console)
    }
  }

  /// SINCE and WHY are those of the last entry of a grant's history.
  static func print(_ grants: [OperatorGrant], on console: Console) throws {
    try console.print(
      grants,
      columns: [
        .name("GRANT"), .text("STATE"), .name("PRODUCT"), .name("TRANSACTION"), .name("DEVICE"),
        .text("SINCE"), .sentence("WHY"),
      ], whenEmpty: "no grants"
    ) { grant in
      let last = grant.history.last
      return [
        grant.grant.description, grant.state.rawValue, grant.product.description,
        grant.transaction.description,
        grant.device.description, last.map { LocalTime.text($0.at) } ?? "", last?.detail ?? "",
      ]
    }
  }

  /// The operand of `revoke` and `reinstate`. Throws for a text that is no short name of 16 hexadecimal
  /// digits.
  static func grant(_ context: CommandContext) throws -> GrantShortName {
    let text = try context.operand(0)
    guard let grant = GrantShortName(text) else {
      throw UsageError(
        "'\(text)' is not a grant's short name: 16 hexadecimal digits, as 'pullbox grants' shows them")
    }
    return grant
  }

  /// The value of the option of that name; nil where it is not given. Throws for a text that is no such
  /// identifier.
  static func identifier<Value: LosslessStringCodable>(
    _ name: String, in arguments: ParsedArguments
  ) throws(UsageError) -> Value? {
    guard let text = arguments.value(name) else { return nil }
    guard let value = Value(text) else {
      throw UsageError("--\(name) takes a \(name) identifier, not '\(text)'")
    }
    return value
  }
}

/// `revoke GRANT`, or all grants of a device.
enum RevokeCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "revoke", summary: "Revoke a grant: its downloads stop, and it allows no more",
    discussion: """
      With --device all grants of a device are revoked, for example of a lost one. The
      device then does not count any more among those that a customer may have.
      """,
    operands: [.init("GRANT", isRequired: false)],
    options: [
      .value("device", "ID", environment: .none, help: "Revoke all grants of this device"),
      .value(
        "reason", "TEXT", environment: .none, help: "Reason, kept in the grant's history and the audit log"),
    ])

  /// With `--device` the server revokes those that stand, 1,000 with each request. A failure in between leaves the ones before revoked;
  /// the command can be given again.
  static func run(_ context: CommandContext) async throws {
    let client = try context.patientClient()
    let reason = context.arguments.value("reason")
    let device: DeviceIdentifier? = try GrantsCommand.identifier("device", in: context.arguments)
    guard let device else {
      let status = try await client.revoke(try GrantsCommand.grant(context), reason: reason)
      return try GrantsCommand.print([status], on: context.console)
    }
    guard context.arguments.operands.isEmpty else {
      throw UsageError("GRANT and --device exclude each other")
    }
    var report = RevocationReport(revoked: 0, hasMore: true)
    while report.hasMore {
      let next = try await client.revokeAll(RevocationRequest(device: device.description, reason: reason))
      report = RevocationReport(revoked: report.revoked + next.revoked, hasMore: next.hasMore)
    }
    guard !context.console.printsJSON else {
      try context.console.print(json: report)
      return
    }
    context.console.print("\(report.revoked) grants are revoked")
  }
}

/// `reinstate GRANT`: undoes a revocation. The device goes on with the grant that it has.
enum ReinstateCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "reinstate", summary: "Reinstate a revoked grant: its device continues where it was stopped",
    operands: [.init("GRANT")],
    options: [
      .value(
        "reason", "TEXT", environment: .none, help: "Reason, kept in the grant's history and the audit log")
    ])

  /// Makes one request and prints the grant as the server has it now.
  static func run(_ context: CommandContext) async throws {
    let status = try await context.patientClient().reinstate(
      try GrantsCommand.grant(context), reason: context.arguments.value("reason"))
    try GrantsCommand.print([status], on: context.console)
  }
}

/// `deliveries`: the same grants as ``GrantsCommand`` shows, by how much of each was sent.
enum DeliveriesCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "deliveries", summary: "Show what the server granted and delivered",
    options: [
      .value("product", "ID", environment: .none, help: "Show only grants of this product"),
      .value("device", "ID", environment: .none, help: "Show only deliveries to this device"),
      .value(
        "state", "STATE", environment: .none,
        help: "Show only deliveries in this state: granted, completed, finished, reading or revoked"),
      .limit,
    ])

  /// Checks the filters before the first request; a state that does not exist is wrong usage.
  static func run(_ context: CommandContext) async throws {
    let product = try context.arguments.value("product").map(CommandContext.product)
    let device = try context.arguments.value("device").map { text throws(UsageError) in
      guard let device = DeviceIdentifier(text) else {
        throw UsageError("'\(text)' is not a device identifier")
      }
      return device
    }
    let state = try context.arguments.value("state").map { text throws(UsageError) in
      guard let state = GrantState(rawValue: text) else {
        throw UsageError("--state takes granted, completed, finished, reading or revoked, not '\(text)'")
      }
      return state
    }
    let client = try context.operatorClient()
    try await context.printList {
      try await client.deliveries(of: product, to: device, in: state, after: $0)
    } asTable: {
      try print($0, on: context.console)
    }
  }

  /// The last entry of a grant's history dates its line. SENT counts bytes that were sent again as well, and may be more
  /// than SIZE.
  private static func print(_ grants: [OperatorGrant], on console: Console) throws {
    try console.print(
      grants,
      columns: [
        .name("GRANT"), .text("STATE"), .name("PRODUCT"), .name("VERSION"), .number("SIZE"),
        .number("SENT"), .name("TRANSACTION"), .name("DEVICE"), .text("SINCE"),
      ], whenEmpty: "no deliveries"
    ) { grant in
      [
        grant.grant.description, grant.state.rawValue, grant.product.description, grant.version.description,
        grant.length.description, grant.bytesDelivered.description, grant.transaction.description,
        grant.device.description,
        grant.history.last.map { LocalTime.text($0.at) } ?? "",
      ]
    }
  }
}
