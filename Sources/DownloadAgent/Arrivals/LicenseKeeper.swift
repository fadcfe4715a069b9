import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import Crypto
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// Holds the license of this device, renews it where the server is heard anyway, and says from it what the account owns. Content that was
/// taken back leaves the tree that readers see, and comes back, by its loop.
///
/// ```swift
/// async let running: Void = licenses.run()             // until the task is cancelled
/// await licenses.heard(feed, isNews: true)             // the feed has answered
/// let answer = try await licenses.ownership(of: product)
/// ```
actor LicenseKeeper {
  /// The service whose licenses count, and the device that they are for.
  struct Terms: Sendable {
    /// The server's address, as it is configured.
    var service: String
    /// The keys that the configuration names; none where those count that the service shows first.
    var keys: [VerificationKey] = []
    var device: DeviceIdentifier
    var deviceKey: VerificationKey
  }

  /// The time is saved that often; a process that is killed loses no more of it.
  static let savingInterval: Duration = .seconds(300)
  /// Between two looks whether content is where it belongs, and the pauses after tries that failed: the first within the minute that is
  /// promised.
  static let settlingPause: Duration = .seconds(3600)
  static let settlingBackoff = Backoff(initial: .seconds(20), cap: .seconds(3600), jitter: 0)
  /// A server without licenses is asked again after that.
  static let pauseWithoutLicenses: Duration = .seconds(86_400)

  private let terms: Terms
  private let database: AgentDatabase
  private let server: DeliveryClient
  private let library: Library
  private let hub: EventHub
  private let clock: any MonotonicClock
  private let wallClock: any WallClock
  private let boot: String?
  private let log: Log
  private let backoff: Backoff
  /// From 0 to 1; devices differ in it.
  private let jitter: Double

  private var held: HeldLicense?
  private var trust: LicenseTrust
  private var time = HighestTime()
  private var savedTime: Timestamp?
  /// When the feed was answered last, by the server's clock.
  private var heard: Timestamp?
  private var failures = 0
  private var notBefore: MonotonicInstant
  /// Something was told that the license does not say.
  private var isWanted = false

  /// `boot` names this start of the machine.
  init(
    _ terms: Terms, database: AgentDatabase, server: DeliveryClient, library: Library, hub: EventHub,
    clock: any MonotonicClock, wallClock: any WallClock, boot: String?,
    jitter: Double = .random(in: 0...1), backoff: Backoff, log: Log
  ) {
    self.terms = terms
    self.database = database
    self.server = server
    self.library = library
    self.hub = hub
    self.clock = clock
    self.wallClock = wallClock
    self.boot = boot
    self.jitter = jitter
    self.backoff = backoff
    self.log = log
    trust = LicenseTrust(kept: [], configured: terms.keys)
    notBefore = clock.now()
  }

  /// Reads what an earlier process held. A license that does not count here any more is passed over. Throws what the database throws.
  func restore() async throws {
    let terms = terms
    let (text, trust, time, heard) = try await BlockingPool.shared.run { [database] in
      (
        try database.licenseText(of: terms.service),
        try database.licenseTrust(in: terms.service, configured: terms.keys),
        try database.highestTime(), try database.ownershipHeard()
      )
    }
    // The first look saves what has passed since, however short this process lives.
    (self.trust, self.time, self.heard) = (trust, time, heard)
    guard let text else { return }
    do {
      held = try HeldLicense(text, trusting: trust, device: terms.device, key: terms.deviceKey)
      // That process may have ended before it asked for the next.
      isWanted = held?.isOvertaken(by: library.ownership.all) ?? true
    } catch {
      log.info("the license that was kept does not count here", ["reason": LogValue(error)])
    }
  }

  /// Moves content where it belongs whenever that may be elsewhere, until the task is cancelled.
  func run() async {
    var failures = 0
    while !Task.isCancelled {
      let settled = await library.settleWithdrawals()
      for item in settled.changed { hub.publish(.library(LibraryEvent(change: .changed, item: item))) }
      await noteTime()
      failures = settled.isPending ? failures + 1 : 0
      let pause = settled.isPending ? Self.settlingBackoff.delay(afterFailures: failures) : Self.settlingPause
      // A library that is back, and news of ownership, begin anew.
      if await library.withdrawals.wait(atMost: pause, clock: clock) { failures = 0 }
    }
  }

  private var reading: HighestTime.Reading {
    HighestTime.Reading(
      wall: wallClock.now(), boot: boot,
      uptime: .nanoseconds(Int64(clamping: clock.now().nanoseconds)))
  }

  /// The time that counts now; it is saved at the first look and from time to time, so that no later process goes back behind it.
  @discardableResult
  func noteTime() async -> Timestamp {
    time.note(reading)
    let now = time.highest ?? wallClock.now()
    if savedTime.map({ now - $0 >= Self.savingInterval }) ?? true { await saveTime(now) }
    return now
  }

  /// Saves the time at the end of the process, however short that was.
  func stop() async {
    time.note(reading)
    await saveTime(time.highest ?? wallClock.now())
  }

  private func saveTime(_ now: Timestamp) async {
    savedTime = now
    let (time, heard) = (time, heard)
    do {
      try await BlockingPool.shared.run { [database] in
        try database.save(time)
        try database.setOwnershipHeard(heard)
      }
    } catch {
      log.warning("the time cannot be saved", ["error": LogValue(error)])
    }
  }

  /// The feed has answered. A license is asked for where none is good, where half of its life is over, and where there are news that it does
  /// not have. A failure is tried again with a later answer.
  func heard(_ feed: FeedReference, isNews: Bool) async {
    if isNews { isWanted = true }
    let now = await noteTime()
    heard = now
    let isDue = held.map { now >= $0.renewal(jitter: jitter) } ?? true
    guard isDue || isWanted, clock.now() >= notBefore else { return }
    do {
      // Of what is told while it is asked, the next one says it.
      isWanted = false
      let asked = wallClock.now()
      let serial = Base64.encode(RandomBytes.make(16), .url)
      try await take(try await server.license(feed, serial: serial), serial: serial, asked: asked, at: now)
      failures = 0
    } catch {
      isWanted = true
      guard !Task.isCancelled else { return }
      failures += 1
      let hasNone = (error as? APICallError)?.isOfMissingRoute == true
      notBefore = clock.now() + (hasNone ? Self.pauseWithoutLicenses : backoff.delay(afterFailures: failures))
      if failures == 1, !hasNone {
        log.warning("the license cannot be renewed", ["error": LogValue(error)])
      }
    }
  }

  /// All that follows from a license is saved in one write. Throws ``LicenseError`` for one that does not count here, and what the database
  /// throws: then everything is as it was.
  ///
  /// - Parameters:
  ///   - serial: the name by which it was asked for.
  ///   - asked: when it was asked for, by the clock that people set.
  ///   - now: the time that counts.
  private func take(
    _ answer: LicenseResponse, serial: String, asked: Timestamp, at now: Timestamp
  ) async throws {
    var trust = trust
    trust.take(answer.keys)
    let new = try HeldLicense(
      answer.license, trusting: trust, device: terms.device, key: terms.deviceKey,
      after: held.flatMap { $0.isGood(at: now) ? $0 : nil })
    // One that was signed for an earlier question would bring back what has ended since, and the time of then.
    guard new.license.serial == serial else {
      throw LicenseError(.untrusted, "it answers another question")
    }
    var time = time
    let before = time.now(at: reading)
    if time.hear(new.license.issued, at: reading) {
      log.warning(
        "the server's date was wrong before, or is now; its last word counts",
        ["before": LogValue("\(before)"), "now": LogValue("\(new.license.issued)")])
    }
    trust.note(licenseSignedBy: new.signer, at: new.license.issued, among: answer.keys)
    let (saved, kept, service) = (time, trust, terms.service)
    let changed = try await library.noteLicensed(new.license, asked: asked) { [database] news in
      try database.save(license: new.text, of: service, trust: kept, time: saved, news)
    }
    (held, self.trust, self.time) = (new, trust, time)
    (heard, savedTime) = (new.license.issued, time.highest)
    log.debug(
      "the license was renewed",
      ["serial": LogValue(new.license.serial), "expires": LogValue("\(new.license.expires)")])
    for item in changed { hub.publish(.library(LibraryEvent(change: .changed, item: item))) }
  }

  /// Says what this device knows of the product; it asks no service. Throws what the database throws.
  func ownership(of product: ProductIdentifier) async throws -> ProductOwnership {
    let now = await noteTime()
    let items = try await library.items().filter { $0.product == product }
    return answer(product, known: library.ownership[product], items, at: now)
  }

  /// The same of all products that the server has told of, by name.
  func ownership() async throws -> OwnershipResponse {
    let now = await noteTime()
    let items = Dictionary(grouping: try await library.items(), by: \.product)
    let known = library.ownership.all.sorted { $0.key < $1.key }
    return OwnershipResponse(
      products: known.map { answer($0.key, known: $0.value, items[$0.key] ?? [], at: now) },
      license: held.map { LicenseSummary(of: $0.license) })
  }

  /// `items` are those of the product.
  private func answer(
    _ product: ProductIdentifier, known: KnownOwnership?, _ items: [LibraryItem], at now: Timestamp
  ) -> ProductOwnership {
    var answer = ProductOwnership(of: product, known: known, held: held, heard: heard, at: now)
    if items.contains(where: { $0.withdrawn != true }) {
      answer.content = .present
    } else if !items.isEmpty {
      answer.content = .withdrawn
    }
    return answer
  }
}
