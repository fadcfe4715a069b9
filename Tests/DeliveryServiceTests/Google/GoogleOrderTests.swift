import Commerce
import CoreTypes
import PaymentStores
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Synchronization
import Testing

@testable import DeliveryService

/// docs/stores.md: the order of notifications does not matter, and each counts once by its `messageId`. A period begins where the one
/// before it ended, as far as the server knows it. A token that names another one takes its place, and the purchases of the
/// other end at that moment. A known refund stays one.
@Suite("Notifications of Google in any order", .timeLimit(.minutes(2)))
struct GoogleOrderTests {
  /// The course of one subscription: its periods as they stand in the end, and what the store tells of them.
  private struct History {
    struct Period {
      /// Purchase tokens are counted from 0, and so are the periods of each.
      var token: Int
      var place: Int
      var start: Timestamp
      var end: Timestamp
      var refunded: Timestamp?
    }

    enum Change {
      case bought
      case renewed
      case cancelled
      case refunded
      case revoked

      /// The number of a notification about the subscription; a refund is told by one of another kind.
      var number: Int {
        switch self {
        case .bought: 4
        case .renewed: 2
        case .cancelled: 3
        case .revoked: 12
        case .refunded: 0
        }
      }
    }

    struct Step {
      var date: Timestamp
      var change: Change
      /// The period that it is about.
      var period: Int
    }

    /// The length of a period as it is paid for.
    static let length = Duration.seconds(7 * 86_400)

    var periods: [Period]
    var steps: [Step]
    /// Whether the store says of a token that was replaced that it is over.
    let endsReplaced: Bool

    /// All steps within a period are hours apart, and well before its end.
    init(from start: Timestamp, using random: inout SplitMix) {
      periods = [Period(token: 0, place: 0, start: start, end: start + Self.length)]
      steps = [Step(date: start, change: .bought, period: 0)]
      endsReplaced = Bool.random(using: &random)
      var now = start
      for _ in 0..<Int.random(in: 2...6, using: &random) {
        let last = periods.count - 1
        let (token, place) = (periods[last].token, periods[last].place)
        let later = now + .seconds(Int.random(in: 3600...72_000, using: &random))
        switch Int.random(in: 0..<8, using: &random) {
        case 0...2:
          now = periods[last].end
          periods.append(Period(token: token, place: place + 1, start: now, end: now + Self.length))
          steps.append(Step(date: now, change: .renewed, period: last + 1))
        case 3...4:
          now = later
          periods[last].end = now
          periods.append(Period(token: token + 1, place: 0, start: now, end: now + Self.length))
          steps.append(Step(date: now, change: .bought, period: last + 1))
        case 5:
          now = later
          steps.append(Step(date: now, change: .cancelled, period: last))
        default:
          let kept = periods.indices.filter { periods[$0].refunded == nil }
          guard let refunded = kept.randomElement(using: &random) else { continue }
          now = later
          periods[refunded].refunded = now
          steps.append(Step(date: now, change: .refunded, period: refunded))
        }
      }
      guard Bool.random(using: &random) else { return }
      now = now + .seconds(Int.random(in: 3600...72_000, using: &random))
      periods[periods.count - 1].end = now
      steps.append(Step(date: now, change: .revoked, period: periods.count - 1))
    }

    static func product(_ period: Period) -> String {
      period.token % 2 == 0 ? "com.example.magazine.monthly" : "com.example.magazine.premium"
    }

    /// An order without the text that all orders of a subscription begin with.
    static func order(_ period: Period) -> String {
      "\(period.token)" + (period.place == 0 ? "" : "..\(period.place - 1)")
    }

    /// The periods that the documentation promises.
    var ledger: [String: LedgerEntry] {
      Dictionary(
        uniqueKeysWithValues: periods.map { period in
          (
            Self.order(period),
            LedgerEntry(
              product: Self.product(period), original: "\(period.token)", start: period.start,
              end: period.end, revoked: period.refunded)
          )
        })
    }
  }

  private let google: FakeGoogleStore

  init() throws {
    google = try FakeGoogleStore()
  }

  private func prefix(_ name: String) -> String { "GPA.\(name)-" }

  /// The store has it so from now on.
  private func make(_ step: History.Step, of history: History, named name: String) {
    func tell(_ period: History.Period, until end: Timestamp, state: String) {
      let bought = history.periods.first { $0.token == period.token }
      google.subscribe(
        History.product(period), token: "\(name)-\(period.token)",
        order: prefix(name) + History.order(period), from: bought?.start ?? period.start, to: end,
        state: state, linked: period.token == 0 ? nil : "\(name)-\(period.token - 1)")
    }
    let period = history.periods[step.period]
    let end = period.start + History.length
    switch step.change {
    case .bought, .renewed:
      let order = prefix(name) + History.order(period)
      google.state.withLock { $0.orders[order] = period.start }
      tell(period, until: end, state: "ACTIVE")
      if step.change == .bought, step.period > 0, history.endsReplaced {
        tell(history.periods[step.period - 1], until: step.date, state: "EXPIRED")
      }
    case .cancelled: tell(period, until: end, state: "CANCELED")
    case .refunded: break
    case .revoked: tell(period, until: step.date, state: "EXPIRED")
    }
  }

  private func post(_ number: Int, of history: History, named name: String, _ server: ServerHarness)
    async throws
  {
    let step = history.steps[number]
    let period = history.periods[step.period]
    let token = "\(name)-\(period.token)"
    let order = prefix(name) + History.order(period)
    let content =
      step.change == .refunded
      ? #""voidedPurchaseNotification":{"purchaseToken":"\#(token)","orderId":"\#(order)","productType":1,"refundType":1}"#
      : #""subscriptionNotification":{"notificationType":\#(step.change.number),"purchaseToken":"\#(token)"}"#
    _ = try await server.api.exchange(
      "POST", "/v1/notifications/google",
      bytes: google.message(content, id: "\(name)-\(number)", at: step.date), mediaType: "application/json",
      headers: [("Authorization", "Bearer \(google.identity(at: server.clock.now()))")])
  }

  /// A device shows the token, and the store is asked, whatever it said a moment ago.
  private func show(
    _ token: Int, named name: String, _ server: ServerHarness, _ timer: ManualMonotonicClock
  ) async throws {
    timer.advance(by: VerdictCache.lifetime)
    let request = EntitlementsRequest(
      proof: Proof(store: "google", purchaseToken: "\(name)-\(token)"), device: server.device)
    _ = try await server.api.call("POST", "/v1/entitlements", body: request, as: EntitlementsResponse.self)
  }

  /// Each step happens to two subscriptions. Of the one the server is told at once, and once; of the other in any order, again and
  /// again, and devices show its tokens in between. It is asked about each period of that one before the next.
  private func play(
    _ history: History, _ seed: UInt64, _ server: ServerHarness, _ timer: ManualMonotonicClock,
    using random: inout SplitMix
  ) async throws {
    let (ordered, mixed) = ("a\(seed)", "b\(seed)")
    var (posted, seen): (Set<Int>, Set<Int>) = ([], [])
    var last = 0

    func pass(_ random: inout SplitMix) {
      server.clock.advance(by: .seconds(Int.random(in: 1...60, using: &random)))
    }
    func see(_ token: Int) {
      if let latest = history.periods[...last].lastIndex(where: { $0.token == token }) { seen.insert(latest) }
    }
    func showMixed(_ token: Int, _ random: inout SplitMix) async throws {
      pass(&random)
      try await show(token, named: mixed, server, timer)
      see(token)
    }
    func postMixed(_ number: Int, _ random: inout SplitMix) async throws {
      pass(&random)
      try await post(number, of: history, named: mixed, server)
      // A repetition leads to no question, and a refund to none where its order is known.
      let step = history.steps[number]
      if posted.insert(number).inserted, step.change != .refunded { see(history.periods[step.period].token) }
    }

    for (number, step) in history.steps.enumerated() {
      if step.change == .renewed, !seen.contains(step.period - 1) {
        try await showMixed(history.periods[step.period - 1].token, &random)
      }
      server.clock.set(step.date)
      last = max(last, step.period)
      for name in [ordered, mixed] { make(step, of: history, named: name) }
      pass(&random)
      try await post(number, of: history, named: ordered, server)
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        if Bool.random(using: &random) {
          try await showMixed(Int.random(in: 0...history.periods[last].token, using: &random), &random)
        } else {
          try await postMixed(Int.random(in: 0...number, using: &random), &random)
        }
      }
    }
    let rest = history.steps.indices.filter { !posted.contains($0) } + history.steps.indices
    for number in rest.shuffled(using: &random) {
      try await postMixed(number, &random)
      guard Bool.random(using: &random) else { continue }
      try await showMixed(Int.random(in: 0...history.periods[last].token, using: &random), &random)
    }
    for name in [ordered, mixed] {
      let ledger = try await server.ledger(of: prefix(name))
      #expect(ledger == history.ledger, "\(name): \(history.steps)")
    }
  }

  @Test("a subscription ends in the ledger as if each notification had come once and in its order")
  func anyOrder() async throws {
    let timer = ManualMonotonicClock()
    try await ServerHarness.run(
      options: google.option(), timer: timer, log: Log(level: .error, output: { _ in })
    ) { server in
      for seed in UInt64(0)..<16 {
        var random = SplitMix(seed: seed)
        let history = History(from: server.clock.now(), using: &random)
        try await play(history, seed, server, timer, using: &random)
        server.clock.advance(by: History.length)
      }
    }
    await google.stop()
  }
}
