import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `outbox`: the calls to payment stores that the server has written down, or one of three changes of them.
enum OutboxCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "outbox", summary: "Show the calls that the server makes to its payment stores, newest first",
    discussion: """
      Calls of the kinds finish, acknowledge and consume end a transaction once it is
      delivered. A call of the kind consumption tells a store, which decides on a
      refund, how much was delivered.
      The server repeats a call until the store accepts it. A call that the store
      refused too often is parked: it waits for --retry or --retry-parked, once the
      cause is gone, or for --drop.
      A store that sold several products by one order is told of all of them at once: a
      call that waits for the others is held, and no retry makes it earlier.
      """,
    options: [
      .value(
        "state", "STATE", environment: .none,
        help: "Show only calls in this state: waiting, parked, done or dropped"),
      .value("store-name", "NAME", environment: .none, help: "Show only calls to this store"),
      .value("kind", "KIND", environment: .none, help: "Show only calls of this kind, such as finish"),
      .value(
        "retry", "ID", environment: .none,
        help: "Make this call again at once, also while its store does not answer"),
      .flag(
        "retry-parked",
        help: "Make all parked calls again at once, to all stores or to that of --store-name"),
      .value(
        "drop", "ID", environment: .none,
        help: "Do not make this call: its transaction stays unfinished at the store"),
      .value(
        "reason", "TEXT", environment: .none,
        help: "Reason for --drop, kept in the audit log; needed for a call that waits"),
      .limit,
    ])

  /// At most one of `--retry`, `--retry-parked` and `--drop`; other combinations are wrong usage before any
  /// request.
  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let (retried, dropped) = (try id("retry", in: arguments), try id("drop", in: arguments))
    let retriesParked = arguments.isSet("retry-parked")
    guard [retried != nil, retriesParked, dropped != nil].count(where: \.self) <= 1 else {
      throw UsageError("give one of --retry, --retry-parked and --drop")
    }
    guard !retriesParked || arguments.value("state") == nil else {
      throw UsageError("--state does not go with --retry-parked")
    }
    guard dropped != nil || arguments.value("reason") == nil else {
      throw UsageError("--reason goes with --drop")
    }
    if let retried {
      try await retry(retried, context)
    } else if let dropped {
      try await drop(dropped, context)
    } else if retriesParked {
      try await retryParked(context)
    } else {
      try await list(context)
    }
  }

  /// A call that the store has accepted is printed as it is, with a remark and exit code 0.
  private static func retry(_ id: Int64, _ context: CommandContext) async throws {
    let call = try await context.patientClient().retryOutboxCall(id)
    try print([call], on: context.console)
    if call.state == .done {
      context.console.note("the store has accepted call \(id) before: it is not made again")
    }
    explainHolds([call], on: context.console)
  }

  /// A remark for each call that a retry does not make, since its store is told of an order as a whole.
  private static func explainHolds(_ calls: [OutboxCall], on console: Console) {
    for call in calls {
      guard let until = call.heldUntil else { continue }
      let others = (call.waitsFor ?? []).joined(separator: ", ")
      console.note(
        """
        call \(call.id) is not made yet: its store is told of an order once all of it is delivered. It waits for \(others), \
        until \(LocalTime.text(until)) at the latest
        """)
    }
  }

  /// A call that the store has accepted is exit code 1.
  private static func drop(_ id: Int64, _ context: CommandContext) async throws {
    let call = try await context.patientClient().dropOutboxCall(id, reason: context.arguments.value("reason"))
    try print([call], on: context.console)
    if call.state == .done {
      throw CommandFailure(.failed, "the store has accepted call \(id) before: it cannot be dropped any more")
    }
  }

  /// One request for each call, and the first that is refused ends the command; the calls before it are
  /// retried then.
  private static func retryParked(_ context: CommandContext) async throws {
    let (store, kind) = (context.arguments.value("store-name"), context.arguments.value("kind"))
    let client = try context.patientClient()
    var parked: [OutboxCall] = []
    // A call that is retried leaves the list, so the list is read before.
    _ = try await Paging.forEachPage(limit: .max) {
      try await client.outboxCalls(in: .parked, to: store, kind: kind, after: $0)
    } body: {
      parked += $0
      return true
    }
    var retried: [OutboxCall] = []
    for call in parked { retried.append(try await client.retryOutboxCall(call.id)) }
    try print(retried, on: context.console)
    explainHolds(retried, on: context.console)
  }

  /// The newest calls first, filtered by the server.
  private static func list(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let state = try arguments.value("state").map { text throws(UsageError) in
      guard let state = OutboxCall.State(rawValue: text) else {
        throw UsageError("--state takes waiting, parked, done or dropped, not '\(text)'")
      }
      return state
    }
    let (store, kind) = (arguments.value("store-name"), arguments.value("kind"))
    let client = try context.operatorClient()
    try await context.printList {
      try await client.outboxCalls(in: state, to: store, kind: kind, after: $0)
    } asTable: {
      try print($0, on: context.console)
    }
  }

  /// SINCE is when the call was done or parked, else when it was made. A call that is held has no NEXT but the latest time.
  private static func print(_ calls: [OutboxCall], on console: Console) throws {
    try console.print(
      calls,
      columns: [
        .number("ID"), .text("STATE"), .name("STORE"), .text("KIND"), .name("TRANSACTION"),
        .number("ATTEMPTS"), .text("SINCE"), .text("NEXT"), .sentence("LAST ERROR"),
      ], whenEmpty: "no calls"
    ) { call in
      [
        String(call.id), call.state.rawValue, call.store, call.kind, call.transaction, String(call.attempts),
        LocalTime.text(call.done ?? call.parked ?? call.created), next(of: call),
        call.lastError ?? "",
      ]
    }
  }

  /// The latest time of a call that is held, else that of its next attempt; empty for a call that is not tried again.
  private static func next(of call: OutboxCall) -> String {
    if let until = call.heldUntil { return "held until \(LocalTime.text(until))" }
    return call.nextAttempt.map(LocalTime.text) ?? ""
  }

  /// Nil where the option is not given. Throws for what is no number from 1 on.
  private static func id(_ name: String, in arguments: ParsedArguments) throws(UsageError) -> Int64? {
    guard let text = arguments.value(name) else { return nil }
    guard let id = Int64(text), id > 0 else {
      throw UsageError("--\(name) takes the number of a call, as 'pullbox outbox' shows it, not '\(text)'")
    }
    return id
  }
}
