import Commerce
import CoreTypes
import PaymentStores
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import DeliveryService
@testable import Receipts

/// docs/stores.md: of two words on one transaction the later one counts, in whatever order they come, and a notification counts once
/// by its `notificationUUID`.
@Suite("Notifications of Apple in any order", .timeLimit(.minutes(2)))
struct AppleOrderTests {
  /// The course of one subscription: its periods as they stand in the end, and what the store tells of them.
  private struct History {
    struct Period {
      /// From 0.
      var number: Int
      var start: Timestamp
      var end: Timestamp
      var refunded: Timestamp?
    }

    struct Step {
      var date: Timestamp
      /// The type of the notification.
      var kind: String
      /// Its state at that moment.
      var period: Period
    }

    static let length = Duration.seconds(2 * 86_400)
    static let product = "com.example.magazine.monthly"

    private(set) var periods: [Period]
    private(set) var steps: [Step]

    /// All steps within a period are a good part of an hour apart at least, and well before its end.
    init(from start: Timestamp, using random: inout SplitMix) {
      let first = Period(number: 0, start: start, end: start + Self.length)
      periods = [first]
      steps = [Step(date: start, kind: "SUBSCRIBED", period: first)]
      var now = start
      for _ in 0..<Int.random(in: 3...8, using: &random) {
        let last = periods.count - 1
        let later = now + .seconds(Int.random(in: 3600...18_000, using: &random))
        switch Int.random(in: 0..<8, using: &random) {
        case 0...1:
          now = periods[last].end
          periods.append(Period(number: last + 1, start: now, end: now + Self.length))
          steps.append(Step(date: now, kind: "DID_RENEW", period: periods[last + 1]))
        case 2:
          now = later
          periods[last].end = periods[last].end + .seconds(86_400)
          steps.append(Step(date: now, kind: "RENEWAL_EXTENDED", period: periods[last]))
        case 3...5:
          let kept = periods.indices.filter { periods[$0].refunded == nil }
          guard let place = kept.randomElement(using: &random) else { continue }
          now = later
          periods[place].refunded = now
          steps.append(Step(date: now, kind: "REFUND", period: periods[place]))
        default:
          let refunded = periods.indices.filter { periods[$0].refunded != nil }
          guard let place = refunded.randomElement(using: &random) else { continue }
          now = later
          periods[place].refunded = nil
          steps.append(Step(date: now, kind: "REFUND_REVERSED", period: periods[place]))
        }
      }
    }

    /// The periods as the store told of each last.
    var ledger: [String: LedgerEntry] {
      Dictionary(
        uniqueKeysWithValues: periods.map { period in
          (
            "\(period.number)",
            LedgerEntry(
              product: Self.product, original: "0", start: period.start, end: period.end,
              revoked: period.refunded)
          )
        })
    }
  }

  private let apple: FakeAppleStore

  init() throws {
    apple = try FakeAppleStore()
  }

  private func transaction(_ period: History.Period, named name: String, from start: Timestamp)
    -> SignedTransaction
  {
    var transaction = apple.transaction(
      "\(name)-\(period.number)", original: "\(name)-0", product: History.product)
    transaction.type = "Auto-Renewable Subscription"
    transaction.purchaseDate = SignedDate(period.start)
    transaction.originalPurchaseDate = SignedDate(start)
    transaction.expiresDate = SignedDate(period.end)
    return period.refunded.map { apple.refund(transaction, at: $0) } ?? transaction
  }

  private func set(_ date: Timestamp, on server: ServerHarness) {
    server.clock.set(date)
    // The responder's answers are of that moment as well.
    apple.clock.set(date)
  }

  private func post(_ text: String, _ server: ServerHarness) async throws {
    _ = try await server.api.call(
      "POST", "/v1/notifications/apple", body: StoreNotification(signedPayload: text),
      as: NotificationReceipt.self)
  }

  /// A device shows what was signed, and it is looked at, whatever became of it a moment ago.
  private func show(
    _ text: String, _ server: ServerHarness, _ timer: ManualMonotonicClock
  ) async throws {
    timer.advance(by: VerdictCache.lifetime)
    let request = EntitlementsRequest(
      proof: Proof(store: "apple", signedTransaction: text), device: server.device)
    _ = try await server.api.call("POST", "/v1/entitlements", body: request, as: EntitlementsResponse.self)
  }

  /// Each step happens to two subscriptions. Of the one the server is told at once, and once; of the other in any order, again and
  /// again, and devices show in between what the store signed of it at whatever time.
  private func play(
    _ history: History, _ seed: UInt64, _ server: ServerHarness, _ timer: ManualMonotonicClock,
    using random: inout SplitMix
  ) async throws {
    let (ordered, mixed) = ("a\(seed)", "b\(seed)")
    let start = history.periods[0].start
    var told: [String] = []
    var posted: Set<Int> = []
    var proofs: [String] = []
    /// Their present states.
    var periods: [History.Period] = []

    func pass(_ random: inout SplitMix) {
      set(server.clock.now() + .seconds(Int.random(in: 1...60, using: &random)), on: server)
    }
    func showMixed(_ random: inout SplitMix) async throws {
      pass(&random)
      if Bool.random(using: &random), let period = periods.randomElement(using: &random) {
        // A new signature, which is of this moment.
        proofs.append(try apple.sign(transaction(period, named: mixed, from: start)))
      }
      guard let proof = proofs.randomElement(using: &random) else { return }
      try await show(proof, server, timer)
    }
    func postMixed(_ number: Int, _ random: inout SplitMix) async throws {
      pass(&random)
      try await post(told[number], server)
      posted.insert(number)
    }

    for (number, step) in history.steps.enumerated() {
      set(step.date, on: server)
      periods.removeAll { $0.number == step.period.number }
      periods.append(step.period)
      let notifications = try [ordered, mixed].map { name in
        try apple.notification(
          step.kind, transaction(step.period, named: name, from: start), at: step.date,
          uuid: "\(name)-\(number)")
      }
      told.append(notifications[1])
      pass(&random)
      try await post(notifications[0], server)
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        if Bool.random(using: &random) {
          try await showMixed(&random)
        } else {
          try await postMixed(Int.random(in: 0...number, using: &random), &random)
        }
      }
    }
    let rest = history.steps.indices.filter { !posted.contains($0) } + history.steps.indices
    for number in rest.shuffled(using: &random) {
      try await postMixed(number, &random)
      if Bool.random(using: &random) { try await showMixed(&random) }
    }
    for name in [ordered, mixed] {
      let ledger = try await server.ledger(of: "\(name)-")
      #expect(ledger == history.ledger, "\(name): \(history.steps)")
    }
  }

  @Test("a subscription ends in the ledger as if each notification had come once and in its order")
  func anyOrder() async throws {
    let timer = ManualMonotonicClock()
    try await ServerHarness.run(
      options: apple.option(), timer: timer, log: Log(level: .error, output: { _ in })
    ) { server in
      for seed in UInt64(0)..<16 {
        var random = SplitMix(seed: seed)
        let history = History(from: server.clock.now(), using: &random)
        try await play(history, seed, server, timer, using: &random)
        set(server.clock.now() + History.length, on: server)
      }
    }
    await apple.stop()
  }
}
