import Commerce
import CoreTypes
import PullboxAPI
import Testing

@testable import DeliveryModel

@Suite("What a feed has to tell")
struct FeedPlanTests {
  private let issue: ProductIdentifier
  private let transaction: TransactionIdentifier
  private let first: ContentVersion
  private let second: ContentVersion
  private let date = Timestamp(millisecondsSinceEpoch: 1_790_000_000_000)

  init() throws {
    issue = try #require(ProductIdentifier("com.example.heroes.1"))
    transaction = try #require(TransactionIdentifier("1"))
    first = try #require(ContentVersion("1.0"))
    second = try #require(ContentVersion("1.1"))
  }

  private func available(_ version: ContentVersion) -> FeedStanding {
    .available(version, ByteCount(1000), transaction, notBefore: nil)
  }

  /// Returns the kinds that are told when the product stands so, one after the other; nil where there is nothing to tell.
  private func told(_ standings: FeedStanding..., granted: Bool = false) -> [FeedEntry.Kind?] {
    var told: [ProductIdentifier: FeedItem] = [:]
    return standings.map { standing in
      let change = FeedPlan.changes(
        told: told, standings: [issue: standing], granted: granted ? [issue: [transaction]] : [:]
      ).first
      if let change { told[issue] = change }
      return change?.kind
    }
  }

  @Test("an issue is told once, a correction as one, and a version that goes back as well")
  func versions() {
    #expect(
      told(available(first), available(first), available(second), available(second), available(first))
        == [.issueAvailable, nil, .correctionAvailable, nil, .correctionAvailable])
  }

  @Test("what is withdrawn or refunded is told once, and again when it is back")
  func goneAndBack() {
    #expect(
      told(available(first), .missing(transaction), .missing(transaction), available(first))
        == [.issueAvailable, .withdrawn, nil, .reinstated])
    #expect(
      told(available(first), .revoked(transaction), .revoked(transaction), available(first))
        == [.issueAvailable, .revoked, nil, .reinstated])
    #expect(
      told(available(first), .missing(transaction), available(second))
        == [.issueAvailable, .withdrawn, .correctionAvailable])
  }

  @Test("what was never told is not told to be gone")
  func neverThere() {
    #expect(
      told(.missing(transaction), .revoked(transaction), available(first)) == [nil, nil, .issueAvailable])
  }

  @Test("what the device was granted is told to be revoked though nothing was told of it, once")
  func grantedBefore() {
    #expect(
      told(
        .missing(transaction), .revoked(transaction), .revoked(transaction), available(first), granted: true)
        == [nil, .revoked, nil, .issueAvailable])
  }

  @Test("a second purchase that was granted and revoked before the feed told of it is told as well, once")
  func grantedAgain() throws {
    let second = try #require(TransactionIdentifier("2"))
    let told = FeedItem(product: issue, kind: .revoked, version: first, transaction: transaction, sequence: 3)
    func change(_ granted: Set<TransactionIdentifier>, told: FeedItem) -> FeedItem? {
      FeedPlan.changes(told: [issue: told], standings: [issue: .revoked(second)], granted: [issue: granted])
        .first
    }
    #expect(change([transaction], told: told) == nil, "it was granted by another purchase alone")
    let new = try #require(change([second], told: told))
    #expect(new.kind == .revoked && new.transaction == second)
    #expect(change([second], told: new) == nil)
  }

  @Test("what is gone and was never told of makes no room in a full feed, and the feed comes to rest")
  func grantedInFullFeed() throws {
    let names = try (0..<4).map { try #require(ProductIdentifier("com.example.heroes.\($0)")) }
    let room = FeedPlan.Room(limit: 3) { _ in nil }
    var standings = Dictionary(uniqueKeysWithValues: names[...2].map { ($0, available(first)) })
    standings[names[3]] = .revoked(transaction)
    var told: [ProductIdentifier: FeedItem] = [:]
    func tell() -> FeedPlan.Fitting {
      let fitting = room.fit(
        FeedPlan.changes(
          told: told, standings: standings, granted: [names[2]: [transaction], names[3]: [transaction]]),
        told: told,
        standings: standings)
      for product in fitting.forgotten { told[product] = nil }
      for item in fitting.told { told[item.product] = item }
      return fitting
    }
    #expect(tell().told.map(\.product) == Array(names[...2]))
    #expect(tell().isEmpty)
    // Of two, one has a place.
    standings[names[2]] = .revoked(transaction)
    told[names[2]] = nil
    #expect(tell().told.map(\.product) == [names[2]])
    #expect(tell().isEmpty)
  }

  @Test("of a subscription its coming end and its end are told, each once, and that it goes on")
  func subscription() {
    let later = date + .seconds(86_400)
    #expect(
      told(
        .running(transaction, until: date, endsSoon: false),
        .running(transaction, until: date, endsSoon: true),
        .running(transaction, until: date, endsSoon: true), .ended(transaction, at: date),
        .ended(transaction, at: date), .running(transaction, until: later, endsSoon: false),
        .running(transaction, until: later, endsSoon: false), .ended(transaction, at: later))
        == [nil, .subscriptionEnding, nil, .subscriptionEnded, nil, .reinstated, nil, .subscriptionEnded])
  }

  @Test("a correction of an issue that the device has not heard of is told as the issue")
  func unacknowledged() {
    func kind(told kind: FeedEntry.Kind, at sequence: Int64, acknowledged: Int64) -> FeedEntry.Kind? {
      let item = FeedItem(
        product: issue, kind: kind, version: first, transaction: transaction, sequence: sequence)
      return FeedPlan.changes(
        told: [issue: item], standings: [issue: available(second)], granted: [:],
        acknowledged: acknowledged
      ).first?.kind
    }
    #expect(kind(told: .issueAvailable, at: 7, acknowledged: 6) == .issueAvailable)
    #expect(kind(told: .issueAvailable, at: 7, acknowledged: 7) == .correctionAvailable)
    // The device has the issue of which a correction did not arrive.
    #expect(kind(told: .correctionAvailable, at: 7, acknowledged: 6) == .correctionAvailable)
  }

  @Test("for the same standings there is nothing more to tell, in whatever order they are found")
  func settled() throws {
    let other = try #require(ProductIdentifier("com.example.heroes.2"))
    let standings: [ProductIdentifier: FeedStanding] = [issue: available(first), other: available(second)]
    let changes = FeedPlan.changes(told: [:], standings: standings, granted: [:])
    #expect(changes.map(\.product) == [issue, other])
    let told = Dictionary(uniqueKeysWithValues: changes.map { ($0.product, $0) })
    #expect(FeedPlan.changes(told: told, standings: standings, granted: [:]).isEmpty)
  }

  @Test(
    "a feed that is full tells what came last: what is gone makes room, then what is oldest, and it comes to rest"
  )
  func full() throws {
    let names = try (0..<5).map { try #require(ProductIdentifier("com.example.heroes.\($0)")) }
    let dates = Dictionary(
      uniqueKeysWithValues: names.enumerated().map { ($1, date + .seconds($0 * 86_400)) })
    let subscription = try #require(ProductIdentifier("com.example.a.monthly"))
    let room = FeedPlan.Room(limit: 3) { dates[$0] }
    var told: [ProductIdentifier: FeedItem] = [:]
    /// Writes down what is told of the standings; answers it.
    func tell(_ standings: [ProductIdentifier: FeedStanding]) -> [ProductIdentifier] {
      let fitting = room.fit(
        FeedPlan.changes(told: told, standings: standings, granted: [:]), told: told, standings: standings)
      for product in fitting.forgotten { told[product] = nil }
      for item in fitting.told { told[item.product] = item }
      #expect(told.count <= 3)
      return fitting.told.map(\.product)
    }
    var standings = Dictionary(uniqueKeysWithValues: names[...2].map { ($0, available(first)) })
    #expect(tell(standings) == Array(names[...2]))
    standings[names[3]] = available(first)
    #expect(tell(standings) == [names[3]])
    #expect(Set(told.keys) == Set(names[1...3]))
    #expect(tell(standings).isEmpty)
    // That something is gone is told before it makes room.
    standings[names[3]] = .revoked(transaction)
    standings[subscription] = .ended(transaction, at: date)
    #expect(tell(standings) == [subscription, names[3]])
    #expect(tell(standings) == [names[1]])
    #expect(Set(told.keys) == [names[1], names[2], subscription])
    standings[names[4]] = available(first)
    #expect(tell(standings) == [names[4]])
    #expect(Set(told.keys) == [names[2], names[4], subscription])
    #expect(tell(standings).isEmpty)
  }

  @Test("a window goes before a bandwidth, and a bandwidth spreads a release over a day at most")
  func pace() {
    let length = ByteCount(1_000_000)
    #expect(ReleasePace().window(for: length, to: 1000) == .zero)
    #expect(ReleasePace(window: .zero, bandwidth: ByteCount(1)).window(for: length, to: 1000) == .zero)
    let bound = ReleasePace(bandwidth: ByteCount(10_000_000))
    #expect(bound.window(for: length, to: 1000) == .seconds(100))
    #expect(bound.window(for: length, to: 0) == .zero)
    #expect(bound.window(for: length, to: .max) == ReleasePace.longest)
    #expect(ReleasePace(bandwidth: .zero).window(for: length, to: 1000) == .zero)
  }

  @Test("the slots of a thousand devices fill the window evenly, and each is its device's for ever")
  func slots() throws {
    let window: Duration = .seconds(30)
    var tenths = [Int](repeating: 0, count: 10)
    for number in 0..<1000 {
      let device = try #require(DeviceIdentifier("device-\(number)"))
      func slot(_ now: Timestamp) -> Timestamp? {
        ReleaseWindow.slot(of: device, for: issue, released: date, window: window, now: now)
      }
      let slot = try #require(slot(date - .seconds(1)))
      #expect(slot >= date && slot < date + window)
      tenths[Int((slot - date) / .seconds(3))] += 1
      #expect(
        slot
          == ReleaseWindow.slot(
            of: device, for: issue, released: date, window: window, now: slot - .milliseconds(1)))
      #expect(ReleaseWindow.slot(of: device, for: issue, released: date, window: window, now: slot) == nil)
      #expect(ReleaseWindow.slot(of: device, for: issue, released: date, window: .zero, now: date) == nil)
    }
    #expect(tenths.allSatisfy { (70...130).contains($0) }, "\(tenths)")
  }
}
