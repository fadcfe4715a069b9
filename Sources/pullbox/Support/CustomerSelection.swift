import ServiceRuntime

/// The options that name a customer to the server: by its own name, by a transaction, a device or the application's user.
struct CustomerSelection {
  /// The options as a command's help shows them.
  static let options: [CommandOption] = [
    .value("customer", "ID", environment: .none, help: "The customer by the name that the server uses"),
    .value("transaction", "ID", environment: .none, help: "The customer who paid with this transaction"),
    .value("device", "ID", environment: .none, help: "The customers whose purchases this device showed"),
    .value(
      "account", "NAME", environment: .none, help: "The customers who bought for this user of an application"),
    .value(
      "store-name", "NAME", environment: .none, help: "The store of the transaction, the device or the user"),
    .value(
      "environment", "NAME", environment: .none,
      help: "The environment of the transaction, or the user: Production or Sandbox"),
  ]

  /// The customer's name at the server; nil where another option names the customer.
  let customer: String?
  /// The identifier of a transaction; nil likewise.
  let transaction: String?
  /// The identifier of a device; nil likewise.
  let device: String?
  /// The application's name for its user; nil likewise.
  let account: String?
  /// The store in which the transaction, the device or the user is looked for; nil for all.
  let store: String?
  /// The environment of the transaction or the user; nil for all.
  let environment: String?

  /// Throws wrong usage unless exactly one option names the customer.
  init(_ arguments: ParsedArguments) throws(UsageError) {
    customer = arguments.value("customer")
    transaction = arguments.value("transaction")
    device = arguments.value("device")
    account = arguments.value("account")
    store = arguments.value("store-name")
    environment = arguments.value("environment")
    guard [customer, transaction, device, account].count(where: { $0 != nil }) == 1 else {
      throw UsageError("give one of --customer, --transaction, --device and --account")
    }
  }
}
