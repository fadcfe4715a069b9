import Commerce
import CoreTypes
import PullboxAPI
import PullboxKit
import ServiceRuntime
import Synchronization

/// `buy ID`: shows the price, asks, and lets the agent buy at the price that was shown.
///
/// The purchase names the price, the offer and the bonus that the question showed, so that the store refuses
/// it with `price-changed` if they are others by then. Every repetition of the request has the same key and
/// buys once. A product that is held already is reported and not bought, with exit code 0. With `--json` it
/// prints the product in that case; otherwise the transaction and, once it is finished, its downloads.
enum BuyCommand: Command {
  static let peer = CommandPeer.agent
  static let description = CommandDescription(
    "buy", summary: "Buy a product with the agent's store account",
    discussion: """
      The command shows what the product costs and asks. It charges nothing for what \
      is owned already or subscribed to, nor where the price has changed since it \
      was shown. Without a terminal to ask at, it needs --yes. With --opt-in the store \
      gets the account's contact data; the first period of some subscriptions lasts \
      longer then.

      The agent downloads the content whether this command waits or not. With --wait \
      the command ends when the transaction is finished: all content is on this \
      device and verified, and the store has closed the transaction.
      """,
    operands: [.forSale],
    options: [
      .flag("yes", abbreviation: "y", environment: .none, help: "Buy without asking"),
      .flag(
        "wait", abbreviation: "w", environment: .none, help: "Wait until the transaction is finished"),
      .timeout, .ignoredConditions,
      .value("quantity", "N", environment: .none, help: "Quantity of a consumable, 1 to 10"),
      .flag(
        "opt-in", environment: .none,
        help: "Give the store contact data, for a longer first period of some subscriptions"),
    ])

  /// Reads `--timeout` before anything is bought, so that a bad one buys nothing. Ends with code 1 for a
  /// product that is not for sale, and with 2 where it would have to ask and there is no terminal.
  static func run(_ context: CommandContext) async throws {
    let product = try context.product(0)
    let quantity = try context.arguments.integer("quantity", in: 1...10)
    _ = try context.timeout()
    let ignored = try context.ignoredConditions()
    let asks = !context.arguments.isSet("yes")
    guard !asks || Terminal.standardInput.isTerminal && Terminal.standardError.isTerminal else {
      throw UsageError("there is no terminal to ask at; --yes buys without asking")
    }
    let agent = try context.agent()
    let shown = try await agent.products([product.description], locale: ReaderLocale.tag())
    guard let offered = shown.products.first else {
      let hint =
        shown.nearest?[product.description].map { "did you mean \($0)?" }
        ?? "'pullbox shop' shows what is"
      throw CommandFailure(.failed, "\(product) is not for sale in \(shown.account.territory); \(hint)")
    }
    guard !offered.isHeld else {
      if context.console.printsJSON {
        try context.console.print(json: offered)
      } else {
        let isHere = try await agent.library().contains { $0.product == product && $0.state == .present }
        context.console.print(OfferText.held(offered, isHere: isHere))
      }
      return
    }
    let optsIn = context.arguments.isSet("opt-in")
    let offer = OfferText.offer(
      offered, quantity: quantity, environment: shown.account.environment, optsIn: optsIn)
    if !optsIn, let bonus = OfferText.bonus(offered) { context.console.note("with --opt-in \(bonus)") }
    if asks { try await Confirmation.ask("Buy \(offer)?") } else { context.console.note(offer) }
    let transaction = try await agent.buy(
      AgentPurchaseRequest(
        product: product, quantity: quantity,
        shown: ShownPrice(
          of: offered.listing, under: offered.offer, with: optsIn ? offered.bonusPeriod : nil),
        optIn: optsIn ? true : nil, ignore: ignored))
    try await follow(transaction, with: agent, in: context)
  }

  /// Prints the transaction, once it is finished where the command was told to wait. `redeem` uses it as
  /// well. A payment that failed ends with code 3. When the time of `--timeout` is over, the code is 4, or 5
  /// where a download waits for room; the agent goes on in either case.
  static func follow(
    _ transaction: AgentTransaction, with agent: AgentClient, in context: CommandContext
  ) async throws {
    guard context.arguments.isSet("wait") else {
      if transaction.state == "failed" {
        throw CommandFailure(
          .notEntitled, "the purchase failed: \(StandingText.why(transaction) ?? transaction.state)")
      }
      try report(transaction, downloads: [], on: context.console)
      return context.console.note("next: pullbox downloads --watch")
    }
    context.console.note("\(transaction.product): transaction \(transaction.id)")
    let latest = Mutex(PurchaseTracker(transaction.id))
    try await withTimeout(try context.timeout()) {
      try await wait(for: transaction, with: agent, on: context.console) { tracker in
        latest.locked { $0 = tracker }
      }
    } expired: {
      latest.locked(\.expiry)
    }
    let finished = try await agent.transaction(transaction.id)
    var downloads: [DownloadStatus] = []
    for id in finished.downloads { downloads.append(try await agent.download(id)) }
    try report(finished, downloads: downloads, on: context.console)
  }

  /// Follows the transaction through restarts of the agent until it has ended.
  ///
  /// - Parameter note: gets the tracker after each update, from which the message at the end of the time is
  ///   made.
  private static func wait(
    for transaction: AgentTransaction, with agent: AgentClient, on console: Console,
    noting note: (PurchaseTracker) -> Void
  ) async throws {
    var display = DownloadDisplay(.error, terminal: .standardError, console: console)
    var tracker = PurchaseTracker(transaction.id)
    var obstacle: String?
    var failure: CommandFailure?
    try await agent.follow([transaction.id]) { update in
      let (news, verdict) = tracker.apply(update)
      note(tracker)
      for download in news { display.show(download) }
      display.noteOutage(update)
      switch verdict {
      case .finished: return .stop
      case .failed(let reason):
        failure = reason
        return .stop
      case nil: break
      }
      if tracker.obstacle != obstacle {
        obstacle = tracker.obstacle
        if let obstacle { display.note(obstacle) }
      }
      return .continue
    }
    display.finish()
    if let failure { throw failure }
  }

  /// Prints the transaction and then its downloads: as JSON all of them, as lines those that are placed, with
  /// the path of their content.
  private static func report(
    _ transaction: AgentTransaction, downloads: [DownloadStatus], on console: Console
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
      console.print("\(download.name) \(download.version?.description ?? "")  \(path)")
    }
  }
}

/// Follows one transaction to its end, by the agent's updates. Pure.
struct PurchaseTracker {
  /// How a transaction ended.
  enum Verdict {
    /// The transaction is finished.
    case finished
    /// The wait is over without that; the failure tells the exit code and the sentence.
    case failed(CommandFailure)
  }

  /// Downloads and events of other transactions are ignored.
  let transaction: TransactionIdentifier
  /// The last status of each download of the transaction.
  private var downloads: [DownloadIdentifier: DownloadStatus] = [:]
  /// The last state of the transaction; nil before the first update that has it.
  private var latest: AgentTransaction?

  /// A tracker that has seen no update yet.
  init(_ transaction: TransactionIdentifier) {
    self.transaction = transaction
  }

  /// Why the transaction waits, for people; nil while it does not.
  var obstacle: String? {
    guard let latest, latest.reason != nil else { return nil }
    return StandingText.why(latest)
  }

  /// How the wait ends when its time is over. What waits for room alone is told by its own code.
  var expiry: CommandFailure {
    let waiting = downloads.values.filter { !$0.state.isFinal }.sorted { $0.id < $1.id }
    if let download = waiting.first(where: { $0.reason == "insufficient-space" }) {
      return CommandFailure(
        .noSpace,
        "transaction \(transaction) \(StandingText.of(download)); the agent goes on when there is room")
    }
    let why = waiting.first { $0.state == .waiting }.map { " (\(StandingText.of($0)))" } ?? ""
    return CommandFailure(
      .undetermined, "transaction \(transaction) is not finished yet\(why); the agent continues it")
  }

  /// Answers the downloads of the transaction that changed, and how it ended once it has.
  mutating func apply(_ update: AgentUpdate) -> (news: [DownloadStatus], verdict: Verdict?) {
    switch update {
    case .snapshot(let transactions, let downloads):
      let news = downloads.filter { apply($0) }
      guard let found = transactions.first(where: { $0.id == transaction }) else {
        return (news, .failed(forgotten))
      }
      latest = found
      return (news, verdict)
    case .event(.transaction(let transaction)) where transaction.id == self.transaction:
      latest = transaction
      return ([], verdict)
    case .event(.download(let download)):
      return apply(download) ? ([download], verdict) : ([], nil)
    case .event, .lost:
      return ([], nil)
    }
  }

  /// Takes in the status of a download. Returns whether it is new or other than the one before; false for a download of
  /// another transaction.
  private mutating func apply(_ download: DownloadStatus) -> Bool {
    guard download.transaction == transaction else { return false }
    return downloads.updateValue(download, forKey: download.id) != download
  }

  /// Nil while the transaction goes on. Its own step counts first, then an error that means "not entitled",
  /// then a reason that needs the user: a revocation, or a download that failed or was cancelled. Other
  /// reasons are waited out.
  private var verdict: Verdict? {
    guard let latest else { return nil }
    if latest.step == "finished" { return .finished }
    let why = StandingText.why(latest) ?? latest.state
    if latest.step == "failed" || latest.state == "failed" {
      return .failed(CommandFailure(.notEntitled, "the purchase failed: \(why)"))
    }
    if let error = latest.error, ExitCode(error) == .notEntitled {
      return .failed(CommandFailure(.notEntitled, error.description))
    }
    switch latest.reason {
    case "grant-revoked": return .failed(CommandFailure(.notEntitled, "the purchase was refunded or revoked"))
    case "download-failed", "download-cancelled": return failedDownload
    default: return nil
    }
  }

  /// Nil while it is not known which one it was: its event comes before or after the transaction's.
  private var failedDownload: Verdict? {
    let failed = downloads.values.filter { $0.state == .failed || $0.state == .cancelled }
    guard let download = failed.min(by: { $0.id < $1.id }) else { return nil }
    return .failed(
      CommandFailure(
        ExitCode(endOf: download),
        "\(StandingText.ending(of: download)); 'pullbox resume \(download.id)' tries again"
      ))
  }

  /// The end for a transaction that is in no snapshot: the agent lists those that are asked for, unless it
  /// has forgotten them.
  private var forgotten: CommandFailure {
    CommandFailure(
      .undetermined,
      "the agent does not know transaction \(transaction) any more; 'pullbox library' shows what is on this device"
    )
  }
}
