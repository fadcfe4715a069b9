import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime

enum BuyCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "buy", summary: "Buy a product with the agent's store account",
    discussion: """
      The agent fetches what was bought whether this command waits or not. With
      --wait it ends when the transaction is finished: everything is on this device,
      verified, and the store has closed it.
      """,
    operands: [.init("ID")],
    options: [
      .flag(
        "wait", abbreviation: "w", environment: .some(nil), help: "Wait until the transaction is finished"),
      .value(
        "timeout", "SECONDS", environment: .some(nil),
        help: "With --wait, give up waiting (exit code 4) after so long; the agent goes on"),
      .value("quantity", "N", environment: .some(nil), help: "How many, 1 to 10; for consumables"),
    ])

  static func run(_ context: CommandContext) async throws {
    let product = try context.product(0)
    let quantity = try context.arguments.integer("quantity", in: 1...10)
    let timeout = try context.arguments.integer("timeout", in: 1...604_800)
    let agent = try context.agent()
    let transaction = try await agent.buy(product, quantity: quantity)
    guard context.arguments.isSet("wait") else {
      if transaction.state == "failed" {
        throw CommandFailure(.notEntitled, "the purchase failed: \(transaction.reason ?? transaction.state)")
      }
      return try report(transaction, [], context.console)
    }
    context.console.note("\(product): transaction \(transaction.id)")
    try await withTimeout(timeout.map { .seconds($0) }) {
      try await wait(for: transaction, agent)
    } expired: {
      CommandFailure(
        .undetermined, "transaction \(transaction.id) is not finished yet; the agent goes on with it")
    }
    let finished = try await agent.transactions().first { $0.id == transaction.id } ?? transaction
    let downloads = try await agent.downloads().filter { $0.transaction == transaction.id }
    try report(finished, downloads, context.console)
  }

  private static func wait(for transaction: AgentTransaction, _ agent: AgentClient) async throws {
    var display = DownloadDisplay(.error, .standardError)
    var watch = PurchaseTracker(transaction.id)
    var absence = AgentOutageNotice()
    var obstacle: String?
    var failure: CommandFailure?
    try await agent.follow { update in
      let (news, verdict) = watch.take(update)
      for download in news { display.show(download) }
      if let note = absence.note(on: update) { display.note(note) }
      switch verdict {
      case .finished: return .stop
      case .failed(let reason):
        failure = reason
        return .stop
      case nil: break
      }
      if watch.obstacle != obstacle {
        obstacle = watch.obstacle
        if let obstacle { display.note(obstacle) }
      }
      return .goOn
    }
    display.finish()
    if let failure { throw failure }
  }

  private static func report(
    _ transaction: AgentTransaction, _ downloads: [DownloadStatus], _ console: Console
  ) throws {
    if console.printsJSON {
      try console.print(json: transaction)
      for download in downloads { try console.print(json: download) }
      return
    }
    console.print(
      "transaction \(transaction.id) \(transaction.step == "finished" ? "finished" : transaction.state)")
    for download in downloads {
      guard let path = download.contentPath else { continue }
      console.print("\(download.product) \(download.version?.text ?? "")  \(path)")
    }
  }
}
