import Commerce
import CoreTypes
import Entitlements
import PullboxTesting

/// A customer's whole story with one publication, drawn at random, and an instant at which it is looked at: up to 60
/// transactions of four subscriptions and of single issues, with lapses, cancellations, refunds, upgrades, downgrades at
/// renewal, changed durations, graces and charging recovered inside and outside, gifts, restored purchases and licenses.
///
/// Everything happens at whole ticks of four hours, so that a look at every tick is a look at every moment at which something
/// can change. Periods are short, so that they often touch, overlap, begin at once, or leave a gap around the tolerated one.
struct GeneratedStory: CustomStringConvertible {
  static let tick: Duration = .seconds(4 * 3600)
  static let length = 300
  static let publication = product("com.example.daily")
  static let monthly = product("com.example.daily.a")
  static let yearly = product("com.example.daily.b")
  static let season = product("com.example.daily.season")
  static let free = product("com.example.daily.free")
  static let subscriptions = [monthly, yearly, season, free]

  var policy = PublicationPolicy()
  /// The ticks at which issues appear.
  var issues: [ProductIdentifier: Int] = [:]
  /// The ticks at which some of them were released first: before their dates, with them, and later.
  var releases: [ProductIdentifier: Int] = [:]
  var transactions: [VerifiedTransaction] = []
  var record = EntitlementRecord.empty
  var now: Int

  init(seed: UInt64) {
    var random = SplitMix(seed: seed)
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
    now = number(0...Self.length)
    policy = PublicationPolicy(
      keepsIssuesAfterLapse: !chance(3), unlocksLatestIssue: !chance(4),
      backIssues: chance(2) ? 0 : number(1...3),
      // Behind periods of hours and days little of it is left.
      tolerance: Self.tick * (chance(2) ? number(0...5) : number(6...60)), servesInGrace: !chance(3),
      servesInBillingRetry: chance(2),
      keepsIssuesOfUnrecoveredGrace: chance(2))
    for index in 0..<number(1...10) {
      issues[product("com.example.daily.\(index)")] = number(0...Self.length)
    }
    let shelf = issues.keys.sorted()
    for issue in shelf where !chance(3) {
      releases[issue] = max(0, (issues[issue] ?? 0) + number(-20...40))
    }
    let count = number(0...(chance(4) ? 60 : 12))
    var clock = number(0...Self.length / 2)
    var plan = chance(2) ? Self.monthly : Self.yearly
    var last: VerifiedTransaction?
    while transactions.count < count {
      let id = "\(1000 + transactions.count)"
      let refund = chance(6) ? number(0...40) : nil
      switch number(0...11) {
      case 0...6:
        // A period of a subscription that renews: on time, late, early, or after a lapse; often of the other one, at its
        // renewal or as an upgrade that ends the period before.
        if chance(6) { plan = plan == Self.monthly ? Self.yearly : Self.monthly }
        if chance(8), let period = last, let end = period.expiresDate, Self.tick(of: end) - clock > 1 {
          clock += 1
        }
        let start = chance(5) ? clock + number(-3...12) : clock
        let length = number(1...(plan == Self.monthly ? 8 : 30))
        let begin = max(0, start)
        let isCut = chance(8)
        let end = begin + (isCut ? max(1, length / 2) : length)
        let failed = chance(3)
        let period = made(
          id, of: plan, at: begin, until: end, grace: failed ? end + number(0...10) : nil,
          retry: failed && chance(2) ? end + number(0...24) : nil, revoked: refund.map { begin + $0 })
        transactions.append(period)
        last = period
        clock = end + (failed ? number(0...14) : 0)
      case 7:
        clock = max(0, clock + number(-30...20))
        // Some stores continue the first purchase with each later one.
        let first = chance(2) ? transactions.first { $0.product == Self.season } : nil
        transactions.append(
          made(
            id, of: Self.season, at: clock, revoked: refund.map { clock + $0 }, continuing: first))
        if chance(3) { record.lengths[transaction(id)] = period("P2D") }
      case 8:
        if chance(3) {
          transactions.append(made(id, of: Self.free, at: clock, revoked: refund.map { clock + $0 }))
        }
      case 9, 10:
        // An issue of its own, perhaps of a volume purchase.
        let start = number(0...Self.length)
        guard let issue = shelf.randomElement(using: &random) else { continue }
        transactions.append(
          made(
            id, of: issue, at: start, revoked: refund.map { start + $0 },
            license: chance(3) ? start + number(1...60) : nil))
      default:
        // Restored, under a number of its own.
        guard let shown = transactions.randomElement(using: &random) else { continue }
        transactions.append(shown.restored(as: id))
      }
    }
    for paid in transactions where Self.subscriptions.contains(paid.product) && chance(8) {
      guard let issue = shelf.randomElement(using: &random) else { continue }
      if chance(2) {
        record.unlocked[paid.id] = [issue]
      } else {
        record.granted[paid.id] = [issue]
      }
    }
  }

  private func made(
    _ id: String, of product: ProductIdentifier, at start: Int, until end: Int? = nil, grace: Int? = nil,
    retry: Int? = nil, revoked: Int? = nil, license: Int? = nil, continuing first: VerifiedTransaction? = nil
  ) -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: transaction(id), originalID: first?.id ?? transaction(id),
      product: product,
      purchaseDate: Self.moment(start), expiresDate: end.map(Self.moment),
      graceExpiresDate: grace.map(Self.moment), billingRetryEndDate: retry.map(Self.moment),
      revokedDate: revoked.map(Self.moment), licenseEndDate: license.map(Self.moment))
  }

  static func moment(_ tick: Int) -> Timestamp { day("2026-05-20") + self.tick * tick }

  static func tick(of moment: Timestamp) -> Int {
    Int((moment - self.moment(0)).milliseconds / tick.milliseconds)
  }

  var catalog: [Product] {
    issues.sorted { $0.key < $1.key }.map { id, tick in
      var issue = Product(
        id: id, type: .nonConsumable, publication: Self.publication, publicationDate: Self.moment(tick))
      issue.firstReleased = releases[id].map(Self.moment)
      return issue
    } + [
      Product(
        id: Self.monthly, type: .autoRenewableSubscription, publication: Self.publication,
        period: period("P1D")),
      Product(
        id: Self.yearly, type: .autoRenewableSubscription, publication: Self.publication,
        period: period("P5D")),
      Product(
        id: Self.season, type: .nonRenewingSubscription, publication: Self.publication, period: period("P3D")),
      Product(id: Self.free, type: .freeSubscription, publication: Self.publication),
    ]
  }

  /// By the rules, at the story's instant: what came later had not happened.
  func report(of list: [VerifiedTransaction]? = nil) -> EntitlementReport {
    let moment = Self.moment(now)
    return EntitlementRules().evaluate(
      (list ?? transactions).compactMap { $0.standing(at: moment) }, catalog: catalog,
      policies: [Self.publication: policy], record: record, now: moment)
  }

  var description: String {
    func number(_ date: Timestamp?, _ word: String) -> String {
      date.map { " \(word) \(Self.tick(of: $0))" } ?? ""
    }
    let lines = transactions.map { paid in
      "\(paid.id) \(paid.product) at \(Self.tick(of: paid.purchaseDate))" + number(paid.expiresDate, "until")
        + number(paid.graceExpiresDate, "grace") + number(paid.billingRetryEndDate, "charging")
        + number(paid.revokedDate, "refunded") + number(paid.licenseEndDate, "licensed to")
        + (paid.originalID == paid.id ? "" : " restores \(paid.originalID)")
    }
    let shelf = issues.sorted { $0.value < $1.value }.map { id, tick in
      "\(id) at \(tick)" + (releases[id].map { " released \($0)" } ?? "")
    }
    return (["now \(now), \(policy)", shelf.joined(separator: ", "), "\(record)"] + lines).joined(
      separator: "\n")
  }

  /// The smallest story that still fails `check`: without transactions, issues and records that have no part in it.
  func shrunk(_ fails: (GeneratedStory) -> Bool) -> GeneratedStory {
    var smallest = self
    var isSmaller = true
    while isSmaller {
      isSmaller = false
      var candidates: [GeneratedStory] = []
      for index in smallest.transactions.indices {
        var candidate = smallest
        candidate.transactions.remove(at: index)
        candidates.append(candidate)
      }
      for issue in smallest.issues.keys {
        var candidate = smallest
        candidate.issues[issue] = nil
        candidates.append(candidate)
        candidate = smallest
        if candidate.releases.removeValue(forKey: issue) != nil { candidates.append(candidate) }
      }
      var plain = smallest
      plain.record = .empty
      if plain.record != smallest.record { candidates.append(plain) }
      plain = smallest
      plain.policy = .standard
      if plain.policy != smallest.policy { candidates.append(plain) }
      if let candidate = candidates.first(where: fails) {
        smallest = candidate
        isSmaller = true
      }
    }
    return smallest
  }
}

extension VerifiedTransaction {
  /// The transaction as a restore shows it: under a number of its own.
  func restored(as id: String) -> VerifiedTransaction {
    VerifiedTransaction(
      vouchedForBy: store, in: environment, id: transaction(id), originalID: originalID,
      product: self.product,
      purchaseDate: purchaseDate, expiresDate: expiresDate, graceExpiresDate: graceExpiresDate,
      billingRetryEndDate: billingRetryEndDate, revokedDate: revokedDate, licenseEndDate: licenseEndDate)
  }
}
