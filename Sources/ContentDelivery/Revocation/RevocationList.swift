package import Commerce
package import CoreTypes
package import Crypto
package import Monitoring
package import PullboxAPI
package import ServiceAPI
import ServiceRuntime
import Synchronization

/// The grants and packages whose bytes may not flow although there are valid tickets for them. To revoke
/// a grant, to block a package or to set a damaged one aside refuses what is requested from then on, and resets the
/// connections whose bodies are running; the opposite lets requests succeed again.
///
/// This is the memory of the loops, not the record: the caller has written the change to the database before
/// (``GrantTable``, ``BlockedContentTable``, ``PackageCheckTable``), and ``ContentComponents`` restores the list at the start.
///
///     let revocations = RevocationList(meters: meters, generation: generation)
///     revocations.abortBodies { meters in server.abortBodies(meteredBy: meters) }
///     revocations.revoke(grant: grant.handle)
///     revocations.reason(for: ticket.handle, content: digest)  // .entitlementRevoked
package final class RevocationList: Sendable {
  private struct State {
    var grants: Set<DeliveryHandle> = []
    /// Those that a publication's policy has closed with the subscription.
    var closed: [DeliveryHandle: Closing] = [:]
    var contents = StoppedContents()
    /// Set where other nodes stop things as well: it looks again at what the database says of what was applied here.
    var follower: (@Sendable (Applied) -> Void)?
    var abort: (@Sendable ([GrantMeter]) -> Void)?
  }

  /// The packages of which nothing is sent, as they are at one moment: what decides in a write that may run twice.
  package struct StoppedContents: Sendable {
    fileprivate(set) var blocked: Set<SHA256Digest> = []
    package fileprivate(set) var damaged: Set<SHA256Digest> = []

    /// `content-withdrawn` or `content-damaged`; nil for what is sent.
    package func reason(for content: SHA256Digest) -> ProblemCode? {
      if blocked.contains(content) { return .contentWithdrawn }
      return damaged.contains(content) ? .contentDamaged : nil
    }
  }

  /// Why a grant's tickets are refused, until the last of them is over by itself.
  private struct Closing {
    var publication: ProductIdentifier
    var until: Timestamp
  }

  private let state = Mutex(State())
  private let total = Atomic<Int>(0)
  private let generation: Generation
  private let meters: MeterRegistry

  package init(meters: MeterRegistry, generation: Generation) {
    self.meters = meters
    self.generation = generation
  }

  /// Sets how running bodies are ended, those of a whole edition with one call; before, a revocation only refuses
  /// requests.
  package func abortBodies(with abort: @escaping @Sendable ([GrantMeter]) -> Void) {
    state.locked { $0.abort = abort }
  }

  /// Things that a write of this process has stopped, or given back.
  package enum Applied: Hashable, Sendable {
    /// Grants, by the names that tickets have.
    case grants([DeliveryHandle])
    /// All tickets of the package with that digest.
    case content(SHA256Digest)
  }

  /// Lets the database have the last word, since other nodes stop things as well, and their writes may have come behind one whose effect
  /// is only applied here: `follower` is told what was applied, and applies what stands there by then by ``apply(_:)`` and
  /// ``apply(_:isBlocked:isDamaged:)``.
  package func follow(by follower: @escaping @Sendable (Applied) -> Void) {
    state.locked { $0.follower = follower }
  }

  private func tell(_ applied: Applied) { state.locked { $0.follower }?(applied) }

  /// Why nothing may be sent for that grant and content: `entitlement-revoked`, `ticket-expired`, `content-withdrawn` or `content-damaged`; nil
  /// if it may.
  package func reason(for grant: DeliveryHandle, content: SHA256Digest) -> ProblemCode? {
    state.locked { state in
      if state.grants.contains(grant) { return .entitlementRevoked }
      // Another ticket is made where the subscription has gone on, as its store knows first.
      if state.closed[grant] != nil { return .ticketExpired }
      return state.contents.reason(for: content)
    }
  }

  /// Why nothing of that content may be sent, whatever the grant: `content-withdrawn` or `content-damaged`; nil if it may.
  package func reason(for content: SHA256Digest) -> ProblemCode? {
    state.locked { $0.contents.reason(for: content) }
  }

  package var stoppedContents: StoppedContents { state.locked { $0.contents } }

  /// Refuses the grant's tickets, and ends its running bodies. A second call changes nothing.
  package func revoke(grant: DeliveryHandle) { enforce([(grant, isRevoked: true)]) }

  /// Accepts the grant's tickets again.
  package func reinstate(grant: DeliveryHandle) { enforce([(grant, isRevoked: false)]) }

  /// Both, for many grants at once, each as the last element about it says. It costs what the grants do that are named, however
  /// many others are being sent: it is called on the database's writing thread.
  package func enforce(_ standings: [(grant: DeliveryHandle, isRevoked: Bool)]) {
    apply(standings)
    tell(.grants(standings.map(\.grant)))
  }

  /// Applies what the database says of grants.
  package func apply(_ standings: [(grant: DeliveryHandle, isRevoked: Bool)]) {
    let (revoked, hasChanged) = state.locked { state in
      var (revoked, hasChanged) = ([DeliveryHandle](), false)
      for (grant, isRevoked) in standings {
        if isRevoked {
          guard state.grants.insert(grant).inserted else { continue }
          revoked.append(grant)
        } else {
          guard state.grants.remove(grant) != nil else { continue }
        }
        hasChanged = true
      }
      return (revoked.filter { state.grants.contains($0) }, hasChanged)
    }
    guard hasChanged else { return }
    total.add(revoked.count, ordering: .relaxed)
    generation.advance()
    abort(revoked)
  }

  /// Refuses the tickets of these grants, which the publication's policy has closed, and ends their running bodies; accepts those of
  /// the publication's other grants unless `others` stay closed. No ticket is made for a closed grant, and those that are out are over
  /// `until` then: so it is forgotten after that.
  package func close(
    grants: Set<DeliveryHandle>, of publication: ProductIdentifier, until: Timestamp, others: Others = .open
  ) {
    let (new, isChange) = state.locked { state in
      let before = Set(state.closed.lazy.filter { $0.value.publication == publication }.map(\.key))
      let opened = others == .open ? before.subtracting(grants) : []
      for handle in opened { state.closed[handle] = nil }
      for handle in grants { state.closed[handle] = Closing(publication: publication, until: until) }
      let new = grants.subtracting(before)
      return (new, !new.isEmpty || !opened.isEmpty)
    }
    guard isChange else { return }
    generation.advance()
    abort(Array(new))
  }

  /// The treatment of a publication's closed grants that a call does not name.
  package enum Others {
    /// They open their content again.
    case open
    /// They stay as they are.
    case unchanged
  }

  /// The grants that a policy has closed and of which there may be tickets.
  package var closedCount: Int { state.locked { $0.closed.count } }

  /// Whether a policy has closed the grant.
  package func isClosed(_ grant: DeliveryHandle) -> Bool { state.locked { $0.closed[grant] != nil } }

  /// Accepts the tickets of a grant that is paid for again; whether it was closed.
  @discardableResult
  package func reopen(grant: DeliveryHandle) -> Bool {
    guard state.locked({ $0.closed.removeValue(forKey: grant) }) != nil else { return false }
    generation.advance()
    return true
  }

  /// Refuses every ticket for the package, and ends its running bodies. A second call changes nothing.
  package func block(content: SHA256Digest) {
    setBlocked(content)
    tell(.content(content))
  }

  private func setBlocked(_ content: SHA256Digest) {
    guard state.locked({ $0.contents.blocked.insert(content).inserted }) else { return }
    total.add(1, ordering: .relaxed)
    generation.advance()
    abort { $0.content == content }
  }

  /// Accepts tickets for the package again.
  package func unblock(content: SHA256Digest) {
    setUnblocked(content)
    tell(.content(content))
  }

  private func setUnblocked(_ content: SHA256Digest) {
    guard state.locked({ $0.contents.blocked.remove(content) }) != nil else { return }
    generation.advance()
  }

  /// Refuses every ticket for a package whose bytes are not there or not the right ones, and ends its running bodies.
  package func setAside(damaged content: SHA256Digest) {
    setDamaged(content)
    tell(.content(content))
  }

  private func setDamaged(_ content: SHA256Digest) {
    guard state.locked({ $0.contents.damaged.insert(content).inserted }) else { return }
    total.add(1, ordering: .relaxed)
    generation.advance()
    abort { $0.content == content }
  }

  /// Accepts tickets for a package whose bytes are right again.
  package func takeBack(repaired content: SHA256Digest) {
    setRepaired(content)
    tell(.content(content))
  }

  /// Applies what the database says of a package.
  package func apply(_ content: SHA256Digest, isBlocked: Bool, isDamaged: Bool) {
    if isBlocked { setBlocked(content) } else { setUnblocked(content) }
    if isDamaged { setDamaged(content) } else { setRepaired(content) }
  }

  /// Applies all that the database says, in place of all that was known of revoked grants and stopped packages.
  package func replace(grants: [DeliveryHandle], blocked: [SHA256Digest], damaged: [SHA256Digest]) {
    let (known, contents) = state.locked { ($0.grants, $0.contents) }
    let revoked = Set(grants)
    apply(
      known.subtracting(revoked).map { (grant: $0, isRevoked: false) }
        + revoked.map { (grant: $0, isRevoked: true) })
    for content in contents.blocked.subtracting(blocked) { setUnblocked(content) }
    for content in contents.damaged.subtracting(damaged) { setRepaired(content) }
    for content in blocked { setBlocked(content) }
    for content in damaged { setDamaged(content) }
  }

  private func setRepaired(_ content: SHA256Digest) {
    guard state.locked({ $0.contents.damaged.remove(content) }) != nil else { return }
    generation.advance()
  }

  /// Adds what the database says, at the start.
  package func restore(grants: [DeliveryHandle], contents: [SHA256Digest], damaged: [SHA256Digest] = []) {
    state.locked { state in
      state.grants.formUnion(grants)
      state.contents.blocked.formUnion(contents)
      state.contents.damaged.formUnion(damaged)
    }
    generation.advance()
  }

  /// Ends bodies that were admitted before a revocation and began after it: their requests were on their way from
  /// an async handler to their loop when the revocation was posted. Forgets closed grants whose tickets are over. Called twice a
  /// second.
  package func sweep(at now: Timestamp) {
    let (grants, closed, contents) = state.locked { state in
      if state.closed.contains(where: { $0.value.until < now }) {
        state.closed = state.closed.filter { $0.value.until >= now }
      }
      return (state.grants, state.closed, state.contents.blocked.union(state.contents.damaged))
    }
    guard !grants.isEmpty || !closed.isEmpty || !contents.isEmpty else { return }
    abort { meter in
      meter.hasBodies
        && (grants.contains(meter.handle) || closed[meter.handle] != nil || contents.contains(meter.content))
    }
  }

  /// The devices, by their tags in tickets, to which bodies are on their way.
  package func devicesWithBodies() -> Set<UInt64> {
    Set(meters.all { $0.hasBodies }.map(\.deviceTag))
  }

  /// Ends the bodies on their way to a device, and refuses nothing.
  package func endBodies(ofDevice tag: UInt64) {
    abort { $0.hasBodies && $0.deviceTag == tag }
  }

  /// Sweeps until the task is cancelled.
  package func run(timer: any MonotonicClock, clock: any WallClock) async {
    await Worker(clock: timer).run(
      every: .milliseconds(500), { self.sweep(at: clock.now()) }, onFailure: { _ in })
  }

  private func abort(_ grants: [DeliveryHandle]) {
    guard !grants.isEmpty, let abort = state.locked({ $0.abort }) else { return }
    let revoked = meters.all(of: grants)
    if !revoked.isEmpty { abort(revoked) }
  }

  private func abort(_ isRevoked: (GrantMeter) -> Bool) {
    guard let abort = state.locked({ $0.abort }) else { return }
    let revoked = meters.all(where: isRevoked)
    if !revoked.isEmpty { abort(revoked) }
  }
}

extension RevocationList: MetricSource {
  package func register(in metrics: inout MetricRegistry) {
    metrics.register([
      .counter(
        "pullbox_stops_total",
        help: "Grants revoked, contents withdrawn and packages found damaged since the start."
      ) {
        self.total.load(ordering: .relaxed)
      }
    ])
  }
}

/// Blocks packages for grants that were made before, and unblocks them.
package protocol ContentBlocking: Sendable {
  /// Returns once running downloads of that package are being ended; new requests for it are refused.
  func block(content: SHA256Digest)

  /// Lets tickets open that package again.
  func unblock(content: SHA256Digest)
}

extension RevocationList: ContentBlocking {}

/// The number of the present state of what tickets are verified against: keys, limits, revocations. A loop
/// compares it with the number that it verified under: one load from memory that hardly ever changes, so that the
/// processors share it without contention.
package final class Generation: Sendable {
  private let count = Atomic<UInt64>(1)

  package init() {}

  /// Never zero.
  package var current: UInt64 { count.load(ordering: .acquiring) }

  /// Makes everything that was verified before stale. Call it once the change can be read.
  func advance() {
    count.add(1, ordering: .releasing)
  }
}

extension Problem {
  /// Why nothing is sent: one of ``RevocationList``'s reasons. What is damaged may be repaired soon.
  package static func stopped(_ reason: ProblemCode) -> Problem {
    Problem(reason, retryAfterSeconds: reason == .contentDamaged ? 60 : nil)
  }
}
