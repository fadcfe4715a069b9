import CoreTypes
import HTTPServer
import Monitoring
import PullboxAPI
import Synchronization

/// Decides about every request that is not for content, before anything is done for it: by its address, by the client
/// that it names, and by what is in progress already. What it refuses is told when to come back: later, the more are
/// waiting (``ReturnSchedule``).
///
///     try admission.admit(.store, from: address, client: nil)   // 429 or 503
///     defer { admission.didAnswer(.store) }
final class AdmissionControl: Sendable {
  /// Buckets of addresses and clients that are kept: 3 MiB, of which none is given up while it owes much.
  static let buckets = 98_304

  /// Why a request was refused.
  enum Reason: String, CaseIterable, Hashable, Sendable {
    case address
    case client
    /// As many requests of its class are in progress as may be.
    case inProgress = "in-progress"
    /// As many requests are in progress as the process may have.
    case process
  }

  /// What is counted of one class.
  struct Counts: Hashable, Sendable {
    var inProgress = 0
    var admitted = 0
    var refused: [Reason: Int] = [:]
  }

  fileprivate struct Class {
    var counts = Counts()
    var throughput = ThroughputEstimate()
    var returns = ReturnSchedule()
  }

  fileprivate struct State {
    var limits: AdmissionLimits
    var table = BucketTable(capacity: AdmissionControl.buckets)
    var classes: [AdmissionClass: Class] = [:]
    var inProgress = 0
  }

  let bodies: BodyBudget
  private let timer: any MonotonicClock
  private let state: Mutex<State>

  init(_ limits: AdmissionLimits, timer: any MonotonicClock) {
    self.timer = timer
    bodies = BodyBudget(bytes: limits.bodyBytes, timer: timer)
    state = Mutex(State(limits: limits))
  }

  /// Takes other limits from now on; what is in progress counts on.
  func replace(_ limits: AdmissionLimits) {
    state.withLock { $0.limits = limits }
    bodies.setBudget(limits.bodyBytes)
  }

  var limits: AdmissionLimits { state.withLock { $0.limits } }

  /// Admits a request, which then counts as in progress until ``didAnswer(_:)`` or ``suspend(_:)``. `address` is the client's, not a
  /// proxy's; `client` stands for what the request names. Throws `too-many-requests` or `unavailable` with the time
  /// to come back.
  func admit(_ kind: AdmissionClass, from address: PeerAddress, client: ClientKey?) throws(Problem) {
    let now = timer.now().nanoseconds
    let refusal = state.withLock { state in state.admit(kind, from: address, client: client, now: now) }
    if let refusal { throw refusal.problem }
  }

  /// Charges what a request names in its body, for a request that is in progress. Throws `too-many-requests`.
  func charge(_ kind: AdmissionClass, client: ClientKey) throws(Problem) {
    let now = timer.now().nanoseconds
    let refusal = state.withLock { state in state.charge(kind, client: client, now: now) }
    if let refusal { throw refusal.problem }
  }

  /// Charges the client's address once more, for a request that is in progress and asks for more than one thing. Throws
  /// `too-many-requests`.
  func charge(_ kind: AdmissionClass, address: PeerAddress) throws(Problem) {
    let now = timer.now().nanoseconds
    let refusal = state.withLock { state in state.charge(kind, address: address, now: now) }
    if let refusal { throw refusal.problem }
  }

  /// A request that was admitted waits for its body, and does not count as in progress meanwhile.
  func suspend(_ kind: AdmissionClass) {
    state.withLock { $0.leave(kind) }
  }

  /// A request that was suspended has its body, and counts as in progress again. Throws `unavailable`, with the time to
  /// come back, where there is no place for it.
  func resume(_ kind: AdmissionClass) throws(Problem) {
    let now = timer.now().nanoseconds
    let refusal = state.withLock { state in
      let refusal = state.refusalWhenFull(kind, now: now)
      if refusal == nil { state.enter(kind) }
      return refusal
    }
    if let refusal { throw refusal.problem }
  }

  /// A request that was admitted, and is not suspended, is answered.
  func didAnswer(_ kind: AdmissionClass) {
    let now = timer.now().nanoseconds
    state.withLock { state in
      state.leave(kind)
      state.classes[kind]?.throughput.didAnswer(now: now)
    }
  }

  /// Seconds after which a client that found no place for its connection is to come back.
  func secondsForConnection() -> Int {
    let now = timer.now().nanoseconds
    return Refusal.seconds(state.withLock { $0.delayForConnection(now: now) })
  }

  /// What was counted since the start.
  var counts: [AdmissionClass: Counts] { state.withLock { $0.classes.mapValues(\.counts) } }

  /// One refusal, made under the lock.
  fileprivate struct Refusal {
    var reason: Reason
    var nanoseconds: UInt64

    static func seconds(_ nanoseconds: UInt64) -> Int {
      RetryAfter.seconds(clamping: (nanoseconds + 999_999_999) / 1_000_000_000)
    }

    var problem: Problem {
      let seconds = Self.seconds(nanoseconds)
      return switch reason {
      case .address:
        Problem(.tooManyRequests, "too many requests came from this address", retryAfterSeconds: seconds)
      case .client:
        Problem(.tooManyRequests, "too many requests came from this client", retryAfterSeconds: seconds)
      case .inProgress, .process:
        Problem(.unavailable, "too many requests are in progress", retryAfterSeconds: seconds)
      }
    }
  }
}

extension AdmissionControl.State {
  fileprivate mutating func admit(
    _ kind: AdmissionClass, from address: PeerAddress, client: ClientKey?, now: UInt64
  ) -> AdmissionControl.Refusal? {
    // What is cheapest to say comes first, and costs the client nothing of its bucket.
    if let refusal = refusalWhenFull(kind, now: now) { return refusal }
    if let refusal = charge(kind, address: address, now: now) { return refusal }
    if let client, let refusal = charge(kind, client: client, now: now) { return refusal }
    classes[kind, default: .init()].counts.admitted += 1
    enter(kind)
    return nil
  }

  /// The refusal of one more request in progress, if there may be none.
  fileprivate mutating func refusalWhenFull(_ kind: AdmissionClass, now: UInt64) -> AdmissionControl.Refusal?
  {
    if classes[kind]?.counts.inProgress ?? 0 >= limits[kind].inProgress {
      return refuse(kind, because: .inProgress, now: now)
    }
    if kind.countsForAll, inProgress >= limits.inProgress { return refuse(kind, because: .process, now: now) }
    return nil
  }

  fileprivate mutating func enter(_ kind: AdmissionClass) {
    classes[kind, default: .init()].counts.inProgress += 1
    if kind.countsForAll { inProgress += 1 }
  }

  fileprivate mutating func leave(_ kind: AdmissionClass) {
    classes[kind, default: .init()].counts.inProgress -= 1
    if kind.countsForAll { inProgress -= 1 }
  }

  fileprivate mutating func charge(
    _ kind: AdmissionClass, address: PeerAddress, now: UInt64
  ) -> AdmissionControl.Refusal? {
    guard let bucket = limits[kind].address, isLimited(address) else { return nil }
    let key = ClientKey(kind, PeerNetwork(limiting: address))
    return charge(kind, key, by: bucket, because: .address, now: now)
  }

  fileprivate mutating func charge(
    _ kind: AdmissionClass, client: ClientKey, now: UInt64
  ) -> AdmissionControl.Refusal? {
    guard let bucket = limits[kind].client else { return nil }
    return charge(kind, client, by: bucket, because: .client, now: now)
  }

  private mutating func charge(
    _ kind: AdmissionClass, _ key: ClientKey, by bucket: TokenBucket, because reason: AdmissionControl.Reason,
    now: UInt64
  ) -> AdmissionControl.Refusal? {
    guard case .refused(let nanoseconds) = table.charge(key.value, by: bucket, now: now) else { return nil }
    classes[kind, default: .init()].counts.refused[reason, default: 0] += 1
    return AdmissionControl.Refusal(reason: reason, nanoseconds: nanoseconds)
  }

  private mutating func refuse(
    _ kind: AdmissionClass, because reason: AdmissionControl.Reason, now: UInt64
  ) -> AdmissionControl.Refusal {
    var own = classes[kind] ?? .init()
    own.counts.refused[reason, default: 0] += 1
    own.throughput.didRefuse(now: now)
    let delay = own.returns.delay(perSecond: own.throughput.returnsPerSecond, now: now)
    classes[kind] = own
    return AdmissionControl.Refusal(reason: reason, nanoseconds: delay)
  }

  /// Such a client is likely to ask for what most others wait for: it takes its place behind them, at the highest rate that a
  /// class was seen to reach, since it may want something else all the same.
  fileprivate mutating func delayForConnection(now: UInt64) -> UInt64 {
    let busiest = classes.max { $0.value.returns.filledUntil < $1.value.returns.filledUntil }?.key ?? .store
    var own = classes[busiest] ?? .init()
    let learned = classes.values.map(\.throughput).filter(\.isLearned)
    let rate = (learned.max { $0.perSecond < $1.perSecond } ?? .init()).returnsPerSecond
    let delay = own.returns.delay(perSecond: rate, now: now)
    classes[busiest] = own
    return delay
  }

  /// Unix sockets have no addresses.
  private func isLimited(_ address: PeerAddress) -> Bool {
    address.family != .unix && !limits.unlimited.contains { $0.contains(address) }
  }
}

/// Stands for an address, a device, a grant or a key in the table of buckets. Hashing is seeded for each process: a
/// client cannot choose names that share a bucket with another's.
struct ClientKey: Hashable, Sendable {
  let value: UInt64

  init(_ kind: AdmissionClass, _ name: some Hashable & Sendable) {
    var hasher = Hasher()
    hasher.combine(kind)
    hasher.combine(name)
    // Zero is an empty slot.
    value = max(1, UInt64(bitPattern: Int64(hasher.finalize())))
  }
}

extension AdmissionControl: MetricSource {
  func register(in metrics: inout MetricRegistry) {
    let admission: [Metric<[AdmissionClass: Counts]>] = [
      .counter("pullbox_admission_admitted_total", help: "Requests admitted, by class.", labels: ["class"]) {
        counts in
        AdmissionClass.allCases.map { .init(counts[$0]?.admitted ?? 0, labels: [$0.rawValue]) }
      },
      .counter(
        "pullbox_admission_refused_total", help: "Requests refused before they began, by class and reason.",
        labels: ["class", "reason"]
      ) { counts in
        AdmissionClass.allCases.flatMap { kind in
          Reason.allCases.map { .init(counts[kind]?.refused[$0] ?? 0, labels: [kind.rawValue, $0.rawValue]) }
        }
      },
      .gauge(
        "pullbox_admission_in_progress",
        help: "Requests that are not answered yet and have their bodies, by class.",
        labels: ["class"]
      ) { counts in
        AdmissionClass.allCases.map { .init(counts[$0]?.inProgress ?? 0, labels: [$0.rawValue]) }
      },
    ]
    metrics.register(admission) { self.counts }
    metrics.register([
      .gauge("pullbox_request_body_bytes", help: "Memory reserved for request bodies.") {
        self.bodies.bytesHeld
      },
      .gauge("pullbox_request_body_budget_bytes", help: "What may be reserved for request bodies.") {
        self.limits.bodyBytes.rawValue
      },
      .counter(
        "pullbox_request_bodies_refused_total", help: "Request bodies that were not read to their end.",
        labels: ["reason"]
      ) {
        let refusals = self.bodies.refusals
        return [
          .init(refusals.noRoom, labels: ["no-room"]), .init(refusals.timedOut, labels: ["too-slow"]),
        ]
      },
    ])
  }
}
