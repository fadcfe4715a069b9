import ServiceRuntime

/// The options that name a customer to the server: by its own name, by a transaction or by a device.
struct CustomerSelection {
  /// The options as a command's help shows them.
  static let options: [CommandOption] = [
    .value("customer", "ID", environment: .none, help: "The customer by the name that the server uses"),
    .value("transaction", "ID", environment: .none, help: "The customer who paid with this transaction"),
    .value("device", "ID", environment: .none, help: "The customers whose purchases this device showed"),
    .value(
      "store-name", "NAME", environment: .none, help: "The store of the transaction, or of the device"),
    .value(
      "environment", "NAME", environment: .none,
      help: "The environment of the transaction: Production or Sandbox"),
  ]

  /// The customer's name at the server; nil where another option names the customer.
  let customer: String?
  /// The identifier of a transaction; nil likewise.
  let transaction: String?
  /// The identifier of a device; nil likewise.
  let device: String?
  /// The store in which the transaction or the device is looked for; nil for all.
  let store: String?
  /// The environment of the transaction; nil for all.
  let environment: String?

  /// Throws wrong usage unless exactly one option names the customer.
  init(_ arguments: ParsedArguments) throws(UsageError) {
    customer = arguments.value("customer")
    transaction = arguments.value("transaction")
    device = arguments.value("device")
    store = arguments.value("store-name")
    environment = arguments.value("environment")
    guard [customer, transaction, device].count(where: { $0 != nil }) == 1 else {
      throw UsageError("give one of --customer, --transaction and --device")
    }
  }
}
