import PullboxAPI
import PullboxKit
import PullboxOperatorKit
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// `stores`: the payment stores of the server, one request.
enum StoresCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "stores", summary: "Show the payment stores of the server, and how it stands with each",
    discussion: """
      STATE is the result of the last question or call to the store: "answered",
      "failed", or "unknown" while none was made since the server started. A store that
      failed several times in a row "does not answer": calls wait, and one tries it
      every 30 seconds. LAST ANSWER is when it answered last. The last notification of
      a store, such as one about a refund, is shown with the date at which the store
      signed it; "recovered" counts notifications that had not arrived and were found
      in the store's history. Some stores take back a purchase that they are not told
      is delivered: the command shows how many such purchases wait, and when the store
      takes back the first.
      """)

  /// Asks for all stores at once and prints one line, or one JSON object, for each.
  static func run(_ context: CommandContext) async throws {
    let stores = try await context.operatorClient().stores()
    if context.console.printsJSON {
      for store in stores { try context.console.print(json: store) }
      return
    }
    try context.console.print(
      stores,
      columns: [
        .name("STORE"), .text("KIND"), .text("ENVIRONMENTS"), .text("STATE"), .text("LAST ANSWER"),
        .text("LAST NOTIFICATION"), .text("SIGNED"), .number("RECOVERED"), .number("WAITING"),
        .number("PARKED"), .text("OLDEST CALL"),
        .number("UNACKNOWLEDGED"), .text("TAKEN BACK"),
      ], whenEmpty: "no stores"
    ) { store in
      let notification = store.lastNotification
      let words = [notification?.type, notification?.subtype].compactMap { $0 }
      return [
        store.name, store.kind, store.environments.joined(separator: ", "), state(of: store),
        store.lastAnswer.map(LocalTime.text) ?? "", words.joined(separator: " "),
        notification.map { LocalTime.text($0.signed) } ?? "",
        String(store.recoveredNotifications), String(store.callsWaiting), String(store.callsParked),
        store.oldestCall.map(LocalTime.text) ?? "", store.unacknowledged.map { String($0) } ?? "",
        store.nextAcknowledgement.map(LocalTime.text) ?? "",
      ]
    }
  }

  /// The later of the last answer and the last failure decides; an answer at the same moment counts.
  private static func state(of store: StoreStatus) -> String {
    guard store.isReachable else { return "does not answer" }
    return switch (store.lastAnswer, store.lastFailure) {
    case (nil, nil): "unknown"
    case (let answer?, let failure) where answer >= failure ?? answer: "answered"
    default: "failed"
    }
  }
}
