import Commerce
import CoreTypes
import Entitlements
import PullboxTesting

/// A customer's transactions over a few hours, drawn at random, and the shop they are of. Everything happens at whole
/// minutes and close together, so that periods often touch, overlap, begin at once, or leave a gap around the bridged one.
struct GeneratedHistory: CustomStringConvertible {
  static let length = 240
  static let publication = product("com.example.daily")
  static let subscriptions = [product("com.example.daily.a"), product("com.example.daily.b")]

  /// The minutes at which issues appear, by issue.
  var issues: [ProductIdentifier: Int] = [:]
  var transactions: [VerifiedTransaction] = []
  /// In minutes.
  var now: Int

  init(seed: UInt64) {
    var random = SplitMix(seed: seed)
    now = Int.random(in: 0...Self.length, using: &random)
    for number in 0..<Int.random(in: 1...9, using: &random) {
      issues[product("com.example.daily.\(number)")] = Int.random(in: 0..<Self.length, using: &random)
    }
    let shelf = issues.keys.sorted()
    var end = 0
    for number in 0..<Int.random(in: 0...10, using: &random) {
      // Events later than now no store has told of yet.
      let isRenewal = Bool.random(using: &random)
      let drawn =
        isRenewal ? end + Int.random(in: -2...8, using: &random) : Int.random(in: 0...now, using: &random)
      let start = min(max(drawn, 0), now)
      let isSubscription = Int.random(in: 0..<4, using: &random) > 0
      if isSubscription { end = start + Int.random(in: 1...40, using: &random) }
      transactions.append(
        purchase(
          "\(1000 + number)",
          of: (isSubscription ? Self.subscriptions : shelf).randomElement(using: &random) ?? Self.publication,
          at: Self.moment(start), until: isSubscription ? Self.moment(end) : nil,
          revoked: Int.random(in: 0..<5, using: &random) == 0 ? Self.moment(now) : nil))
    }
  }

  static func moment(_ minute: Int) -> Timestamp { day("2026-05-20") + .seconds(minute * 60) }

  static func minute(_ moment: Timestamp) -> Int { Int((moment - self.moment(0)).milliseconds / 60_000) }

  var catalog: [Product] {
    issues.sorted { $0.key < $1.key }.map { id, minute in
      Product(
        id: id, type: .nonConsumable, publication: Self.publication, publicationDate: Self.moment(minute))
    }
      + Self.subscriptions.map {
        Product(
          id: $0, type: .autoRenewableSubscription, publication: Self.publication, period: period("P1D"))
      }
  }

  func evaluate(_ transactions: [VerifiedTransaction]? = nil) -> EntitlementReport {
    EntitlementRules().evaluate(
      transactions ?? self.transactions, catalog: catalog, now: Self.moment(now))
  }

  /// The products that are owned, found without the rules' own means: by looking at every minute in its turn.
  func ownedByLooking() -> Set<ProductIdentifier> {
    var owned: Set<ProductIdentifier> = []
    var isPaid = [Bool](repeating: false, count: Self.length * 2)
    for transaction in transactions where transaction.revokedDate == nil {
      guard let expires = transaction.expiresDate else {
        owned.insert(transaction.product)
        continue
      }
      let minutes = Self.minute(transaction.purchaseDate)..<Self.minute(expires)
      for minute in minutes { isPaid[minute] = true }
      if minutes.contains(now) { owned.insert(transaction.product) }
    }
    // The minute after the last one that was paid, while it is no more than five minutes ago.
    var lastPaid: Int?
    for minute in isPaid.indices where isPaid[minute] {
      if let last = lastPaid, minute - last <= 6 {
        for bridged in last..<minute { isPaid[bridged] = true }
      }
      lastPaid = minute
    }
    var wasPaid = false
    for minute in isPaid.indices {
      if isPaid[minute] {
        for (issue, appeared) in issues where appeared == minute { owned.insert(issue) }
        if !wasPaid, let latest = issues.values.filter({ $0 <= minute }).max() {
          for (issue, appeared) in issues where appeared == latest { owned.insert(issue) }
        }
      }
      wasPaid = isPaid[minute]
    }
    let isSold: (ProductIdentifier) -> Bool = { id in
      transactions.contains { $0.product == id && $0.revokedDate == nil && $0.expiresDate == nil }
    }
    return owned.filter { id in (issues[id].map { $0 <= now } ?? true) || isSold(id) }
  }

  var description: String {
    let lines = transactions.map { transaction in
      let end = transaction.expiresDate.map { " to \(Self.minute($0))" } ?? ""
      let refund = transaction.revokedDate == nil ? "" : ", refunded"
      return
        "\(transaction.id) \(transaction.product) at \(Self.minute(transaction.purchaseDate))\(end)\(refund)"
    }
    let shelf = issues.sorted { $0.value < $1.value }.map { "\($0.key) at \($0.value)" }
    return "now \(now); \(shelf.joined(separator: ", "))\n" + lines.joined(separator: "\n")
  }
}
