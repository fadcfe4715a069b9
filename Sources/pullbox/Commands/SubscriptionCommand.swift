import Commerce
import PullboxAPI
import PullboxKit
import ServiceRuntime
import SystemCalls

/// `subscription [ID]`: lists the account's subscriptions, or changes the one that is named or that alone
/// runs. The change is made at the store, by the agent.
enum SubscriptionCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "subscription", summary: "Show the subscriptions of this device's account, or change one",
    discussion: """
      A change counts from the next period on: what is paid for serves to its end. ID \
      is the product that is subscribed to; it may be left out where one \
      subscription runs.
      """,
    operands: [.subscription],
    options: [
      .flag("off", environment: .none, help: "End the subscription with the present period"),
      .flag("on", environment: .none, help: "Renew it after all"),
      .value(
        "change", "ID", environment: .none, help: "Renew it as this product, of the same publication"),
    ])

  /// Without an option for a change it prints all subscriptions, those that ended too. A change needs exactly one that
  /// runs; several are wrong usage.
  static func run(_ context: CommandContext) async throws {
    let change = try change(context.arguments)
    let product = try context.arguments.operands.isEmpty ? nil : context.product(0)
    let agent = try context.agent()
    let subscriptions = try await agent.subscriptions().filter { product == nil || $0.product == product }
    guard let change else { return try print(subscriptions, on: context.console) }
    let running = subscriptions.filter { $0.state != .expired }
    guard let subscription = running.first else {
      throw CommandFailure(.failed, "no subscription\(product.map { " to \($0)" } ?? "") runs")
    }
    guard running.count == 1 else {
      throw UsageError(
        "subscriptions run to \(running.map(\.product.description).joined(separator: ", ")); name one")
    }
    try print([try await agent.change(subscription.originalId, to: change)], on: context.console)
  }

  /// Nil where nothing is to be changed.
  static func change(_ arguments: ParsedArguments) throws(UsageError) -> SubscriptionChange? {
    let (off, on) = (arguments.isSet("off"), arguments.isSet("on"))
    guard !(off && on) else { throw UsageError("--off and --on exclude each other") }
    let product = try arguments.value("change").map(CommandContext.product)
    guard off || on || product != nil else { return nil }
    return SubscriptionChange(autoRenew: off ? false : on ? true : nil, product: product)
  }

  /// UNTIL is the end of the grace period where the subscription is in one.
  private static func print(_ subscriptions: [StoreSubscription], on console: Console) throws {
    try console.print(
      subscriptions,
      columns: [.name("SUBSCRIPTION"), .text("STATE"), .text("UNTIL"), .text("THEN")],
      whenEmpty: "no subscriptions"
    ) { subscription in
      [
        subscription.product.description, subscription.state.rawValue,
        LocalTime.text(subscription.gracePeriodExpiresDate ?? subscription.expiresDate), next(subscription),
      ]
    }
  }

  /// Returns words for the time after the present period.
  static func next(_ subscription: StoreSubscription) -> String {
    guard subscription.state != .expired else { return "" }
    guard subscription.autoRenew else { return "ends" }
    return subscription.renewalProduct.map { "goes on as \($0)" } ?? "goes on"
  }
}
