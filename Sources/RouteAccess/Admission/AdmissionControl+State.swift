import ContentDelivery
import CoreTypes
package import HTTPServer
package import PullboxAPI

extension AdmissionControl {
  /// The counts of one class, and what was learned of the rate at which it is answered.
  package struct Class {
    var counts = Counts()
    var throughput = ThroughputEstimate()
    var returns = ReturnSchedule()
  }

  /// How waiting ended.
  package enum Ending {
    /// It has a place, and may be answered.
    case turn
    /// It has waited as long as requests may.
    case refused(Refusal)
    /// The client is gone.
    case abandoned
  }

  /// The state that all requests share, behind one lock. Nothing under it waits or resumes a task.
  package struct State {
    /// The limits in force; requests in progress were admitted by earlier ones, perhaps.
    package var limits: AdmissionLimits
    var table = BucketTable(capacity: AdmissionControl.buckets)
    var classes: [AdmissionClass: Class] = [:]
    /// Requests in progress, of the classes that count for all.
    package var inProgress = 0
    /// The requests that were admitted and have no place yet.
    package var room = WaitingRoom()
    /// The continuations of requests that wait, or are about to.
    var waiters: [WaitingRoom.Number: CheckedContinuation<Ending, Never>] = [:]
    var endings: [WaitingRoom.Number: Ending] = [:]
    /// The continuations to resume after a change, collected under the lock and resumed after it.
    var wakes: [(CheckedContinuation<Ending, Never>, Ending)] = []
  }

  /// One refusal, made under the lock.
  package struct Refusal: Error {
    /// The limit that was reached.
    package var reason: Reason
    /// When the client may come again, from now on.
    package var nanoseconds: UInt64

    /// Whole seconds, rounded up, in the range of ``RetryAfter``.
    package static func seconds(_ nanoseconds: UInt64) -> Int {
      RetryAfter.seconds(clamping: (nanoseconds + 999_999_999) / 1_000_000_000)
    }

    /// The document that the client gets, `too-many-requests` or `unavailable`, with the time to come back.
    package var problem: Problem {
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
  /// Admits a request before its body is read. Places are looked at before buckets, so that a refusal for want
  /// of a place costs the client nothing.
  package mutating func admit(
    _ kind: AdmissionClass, from address: PeerAddress, client: ClientKey?, now: UInt64
  ) -> Result<AdmissionControl.Turn, AdmissionControl.Refusal> {
    // What is cheapest to say comes first, and costs the client nothing of its bucket.
    if !canEnter(kind, hasBody: false) { return .failure(refuseEntry(to: kind, now: now)) }
    if let refusal = charge(kind, address: address, now: now) { return .failure(refusal) }
    if let client, let refusal = charge(kind, client: client, now: now) { return .failure(refusal) }
    let turn = enter(kind, hasBody: false, now: now)
    if case .success = turn { classes[kind, default: .init()].counts.admitted += 1 }
    return turn
  }

  /// Gives the request a place, or lets it wait for one.
  mutating func enter(
    _ kind: AdmissionClass, hasBody: Bool, now: UInt64
  ) -> Result<AdmissionControl.Turn, AdmissionControl.Refusal> {
    if hasPlace(for: kind), room.count(of: kind) == 0 {
      takePlace(kind)
      return .success(.now)
    }
    let own = classes[kind] ?? .init()
    guard
      let number = room.join(
        kind, hasBody: hasBody, limit: waitingLimit(of: kind), perSecond: own.throughput.perSecond, now: now)
    else { return .failure(refuseEntry(to: kind, now: now)) }
    noteFull(kind, now: now)
    classes[kind, default: .init()].counts.waiting += 1
    return .success(.later(number))
  }

  /// Whether the request would get a place, or may wait for one.
  private func canEnter(_ kind: AdmissionClass, hasBody: Bool) -> Bool {
    if hasPlace(for: kind), room.count(of: kind) == 0 { return true }
    let perSecond = (classes[kind] ?? .init()).throughput.perSecond
    return room.canJoin(kind, hasBody: hasBody, limit: waitingLimit(of: kind), perSecond: perSecond)
  }

  /// A class learns what it can answer while its own places are taken, not while other classes take those of the process.
  private mutating func noteFull(_ kind: AdmissionClass, now: UInt64) {
    guard bound(of: kind) == .inProgress else { return }
    classes[kind, default: .init()].throughput.wasFull(now: now)
  }

  private func waitingLimit(of kind: AdmissionClass) -> Int { kind.canWait ? limits.waiting : 0 }

  /// Why there is no place, where there is none.
  private func bound(of kind: AdmissionClass) -> AdmissionControl.Reason? {
    if classes[kind]?.counts.inProgress ?? 0 >= limits[kind].inProgress { return .inProgress }
    return kind.countsForAll && inProgress >= limits.inProgress ? .process : nil
  }

  private func hasPlace(for kind: AdmissionClass) -> Bool { bound(of: kind) == nil }

  private mutating func refuseEntry(to kind: AdmissionClass, now: UInt64) -> AdmissionControl.Refusal {
    refuse(kind, because: bound(of: kind) ?? .inProgress, now: now)
  }

  private mutating func takePlace(_ kind: AdmissionClass) {
    classes[kind, default: .init()].counts.inProgress += 1
    if kind.countsForAll { inProgress += 1 }
  }

  /// A request of the class is answered: its place goes to the next one that waits.
  package mutating func leave(_ kind: AdmissionClass) {
    classes[kind, default: .init()].counts.inProgress -= 1
    if kind.countsForAll { inProgress -= 1 }
    callNext()
  }

  /// Gives the places that are free to those that wait.
  mutating func callNext() {
    while room.count > 0 {
      let free = Set(AdmissionClass.allCases.filter(hasPlace))
      guard let entry = room.next(where: { free.contains($0) }) else { return }
      takePlace(entry.kind)
      end(entry, with: .turn)
    }
  }

  /// Refuses those that have waited for ``WaitingRoom/patience``.
  mutating func sendAwayExpired(now: UInt64) {
    for entry in room.takeExpired(now: now) {
      end(entry, with: .refused(refuseEntry(to: entry.kind, now: now)))
    }
  }

  /// The client is gone; nothing happens where its turn has come already.
  package mutating func abandon(_ number: WaitingRoom.Number) {
    if let entry = room.remove(number) { end(entry, with: .abandoned) }
  }

  private mutating func end(_ entry: WaitingRoom.Entry, with ending: AdmissionControl.Ending) {
    classes[entry.kind]?.counts.waiting -= 1
    if let waiter = waiters.removeValue(forKey: entry.number) {
      wakes.append((waiter, ending))
    } else {
      endings[entry.number] = ending
    }
  }

  /// Charges the network of the address; nil where it may ask, or is not limited.
  package mutating func charge(
    _ kind: AdmissionClass, address: PeerAddress, now: UInt64
  ) -> AdmissionControl.Refusal? {
    guard let bucket = limits[kind].address, isLimited(address) else { return nil }
    let key = ClientKey(kind, PeerNetwork(limiting: address))
    return charge(kind, key, by: bucket, because: .address, now: now)
  }

  /// Charges the client; nil where it may ask, or the class limits no clients.
  package mutating func charge(
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
    if reason == .inProgress { own.throughput.wasFull(now: now) }
    let delay = own.returns.delay(perSecond: own.throughput.returnsPerSecond, now: now)
    classes[kind] = own
    return AdmissionControl.Refusal(reason: reason, nanoseconds: delay)
  }

  /// Such a client is likely to ask for what most others wait for: it takes its place behind them, at the highest rate that a
  /// class was seen to reach, since it may want something else all the same.
  mutating func delayForConnection(now: UInt64) -> UInt64 {
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
