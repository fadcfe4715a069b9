import CoreTypes
import Crypto
import PullboxAPI
import ServiceRuntime
import Synchronization

/// The grants and packages whose bytes may not flow any more although tickets for them are out. A stop refuses what is
/// asked for from then on and resets the connections whose bodies are running; taking it back lets everybody go on.
///
/// This is the memory of the loops, not the record: whoever stops something has written it down before
/// (``GrantTable``, ``BlockedContentTable``), and ``DeliveryServer`` brings it back at the start.
final class RevocationList: Sendable {
  private struct State {
    var grants: Set<Ticket.InlineGrant> = []
    var contents: Set<SHA256Digest> = []
    var abort: (@Sendable (GrantMeter) -> Void)?
  }

  private let state = Mutex(State())
  private let total = Atomic<Int>(0)
  private let changes: Generation
  private let meters: MeterRegistry

  init(meters: MeterRegistry, changes: Generation) {
    self.meters = meters
    self.changes = changes
  }

  /// Stops since the start, for the metrics.
  var count: Int { total.load(ordering: .relaxed) }

  /// How running bodies are ended; until it is given, stops only refuse.
  func abortBodies(with abort: @escaping @Sendable (GrantMeter) -> Void) {
    state.withLock { $0.abort = abort }
  }

  /// Why nothing may be sent for that grant and content: `entitlement-revoked` or `content-withdrawn`; nil when it may.
  func reason(_ grant: Ticket.InlineGrant, _ content: SHA256Digest) -> ProblemCode? {
    state.withLock { state in
      if state.grants.contains(grant) { return .entitlementRevoked }
      return state.contents.contains(content) ? .contentWithdrawn : nil
    }
  }

  func isStopped(content: SHA256Digest) -> Bool { state.withLock { $0.contents.contains(content) } }

  func stop(grant: GrantIdentifier) {
    let grant = Ticket.InlineGrant(grant)
    guard state.withLock({ $0.grants.insert(grant).inserted }) else { return }
    total.add(1, ordering: .relaxed)
    changes.add()
    abort { $0.grant == grant }
  }

  func allow(grant: GrantIdentifier) {
    let grant = Ticket.InlineGrant(grant)
    guard state.withLock({ $0.grants.remove(grant) }) != nil else { return }
    changes.add()
  }

  func stop(content: SHA256Digest) {
    guard state.withLock({ $0.contents.insert(content).inserted }) else { return }
    total.add(1, ordering: .relaxed)
    changes.add()
    abort { $0.content == content }
  }

  func allow(content: SHA256Digest) {
    guard state.withLock({ $0.contents.remove(content) }) != nil else { return }
    changes.add()
  }

  /// What was written down before the start.
  func restore(grants: [GrantIdentifier], contents: [SHA256Digest]) {
    state.withLock { state in
      state.grants.formUnion(grants.map(Ticket.InlineGrant.init))
      state.contents.formUnion(contents)
    }
    changes.add()
  }

  /// Ends bodies that were let in before a stop and began after it: a request on its way from an async handler to its
  /// loop when the stop was posted. Called twice a second.
  func sweep() {
    let (grants, contents) = state.withLock { ($0.grants, $0.contents) }
    guard !grants.isEmpty || !contents.isEmpty else { return }
    abort { meter in
      meter.hasBodies && (grants.contains(meter.grant) || contents.contains(meter.content))
    }
  }

  /// Sweeps until the task is cancelled.
  func run(clock: any MonotonicClock) async {
    await Worker(clock: clock).run(every: .milliseconds(500), sweep, onFailure: { _ in })
  }

  private func abort(_ isStopped: (GrantMeter) -> Bool) {
    guard let abort = state.withLock({ $0.abort }) else { return }
    for meter in meters.all(where: isStopped) { abort(meter) }
  }
}

/// Closes and opens packages for grants that were made before.
protocol ContentBlocking: Sendable {
  /// Returns once running downloads of that package are being broken off; new requests for it are refused.
  func stop(content: SHA256Digest)
  func allow(content: SHA256Digest)
}

extension RevocationList: ContentBlocking {}
