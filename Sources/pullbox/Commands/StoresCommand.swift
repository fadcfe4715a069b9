import PullboxAPI
import PullboxKit
import ServiceRuntime

enum StoresCommand: Command {
  static let peer = CommandPeer.server
  static let description = CommandDescription(
    "stores", summary: "Show the payment stores of the server, and how it stands with each",
    discussion: """
      A store that does not answer is left alone but for a probe now and then. What it
      tells by itself, refunds say, is shown with the date at which it was signed;
      "recovered" counts what had not arrived and was found in the store's history.
      A store that takes back what it is not told of shows how many purchases wait
      for that, and when it takes back the first.
      """)

  static func run(_ context: CommandContext) async throws {
    let stores = try await context.operatorClient().stores()
    if context.console.printsJSON {
      for store in stores { try context.console.print(json: store) }
      return
    }
    try context.console.print(
      stores,
      columns: [
        .text("STORE"), .text("KIND"), .text("ENVIRONMENTS"), .text("STATE"), .text("LAST NOTIFICATION"),
        .text("SIGNED"), .number("RECOVERED"), .number("WAITING"), .number("PARKED"), .text("OLDEST CALL"),
        .number("UNACKNOWLEDGED"), .text("TAKEN BACK"),
      ], whenEmpty: "no stores"
    ) { store in
      let notification = store.lastNotification
      let words = [notification?.type, notification?.subtype].compactMap { $0 }
      return [
        store.name, store.kind, store.environments.joined(separator: ", "), state(of: store),
        words.joined(separator: " "), notification.map { LocalTime.text($0.signed) } ?? "",
        String(store.recoveredNotifications), String(store.callsWaiting), String(store.callsParked),
        store.oldestCall.map(LocalTime.text) ?? "", store.unacknowledged.map { String($0) } ?? "",
        store.nextAcknowledgement.map(LocalTime.text) ?? "",
      ]
    }
  }

  private static func state(of store: StoreStatus) -> String {
    store.isReachable ? "reachable" : "left alone"
  }
}
