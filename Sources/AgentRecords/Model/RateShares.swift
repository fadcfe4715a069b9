package import CoreTypes
package import PullboxAPI

/// Divides one rate among the transfers that run: by urgency, within one urgency by weight. What one does not use goes to the
/// others, and while one wants bytes, none of the rate is left. Pure: it is told the time.
///
/// A transfer takes bytes as they come. Where it may not, it waits, and ``nextTurn(at:)`` says when ``grant(at:)`` names the ones
/// that go on:
///
/// ```swift
/// var shares = RateShares(rate: .mebibytes(2))
/// shares.join(1, RateShares.Claim(urgency: .now))
/// shares.take(16_384, by: 1, at: now)      // false: it waits
/// shares.nextTurn(at: now)                 // after so long
/// shares.grant(at: now + .milliseconds(8)) // [1]
/// ```
///
/// The order of those of one urgency is that of start-time fair queueing: each has a position that grows by what it gets, divided
/// by its weight, and the one behind goes first.
package struct RateShares: Sendable {
  /// The properties that a transfer's part depends on.
  package struct Claim: Hashable, Sendable {
    /// The more urgent one goes before all that are less urgent, but for ``RateShares/smallestPart``.
    package var urgency: DownloadUrgency
    /// The one with twice the weight of another one of its urgency gets twice as much; more than 0.
    package var weight: Double

    package init(urgency: DownloadUrgency = .normal, weight: Double = 1) {
      self.urgency = urgency
      self.weight = weight
    }

    /// The claim of a download's priority: 1 counts twice as much as 0, 2 three times, -1 half as much.
    package init(urgency: DownloadUrgency, priority: Int) {
      self.init(urgency: urgency, weight: priority < 0 ? 1 / Double(1 - priority) : Double(1 + priority))
    }
  }

  private struct Member {
    var claim: Claim
    /// Bytes that it may still take; below zero for the part of a span that was more.
    var credit = 0.0
    /// Its position among those of its urgency.
    var position = 0.0
    /// Since when it waits; nil while it does not.
    var waitsSince: MonotonicInstant?
  }

  /// The most that a transfer takes at once: as much as comes in one call.
  package static let largestSpan = 16 << 10
  /// The part of the rate that comes at once to a transfer which waited for it, as seconds.
  private static let turn = 0.02
  /// The bytes that may be caught up with after none wanted any, as seconds.
  private static let backlog = 0.1
  /// A transfer that waits behind more urgent ones gets this part of the rate, or ``largestSpan`` in ``longestWait``: its connection
  /// stays open.
  package static let smallestPart = 1.0 / 64
  package static let longestWait: Duration = .seconds(15)

  /// Bytes a second of all transfers together, more than 0; nil is no bound.
  package private(set) var rate: ByteCount?
  private var members: [UInt64: Member] = [:]
  /// The position of the one that was served last, of each urgency: who comes later begins there.
  private var front: [DownloadUrgency: Double] = [:]
  /// Bytes that may be given now; below zero after a turn that was more.
  private var available = 0.0
  private var filled: MonotonicInstant?

  package init(rate: ByteCount? = nil) {
    self.rate = rate
  }

  /// Counts from `now` on; what was given before is not changed.
  package mutating func setRate(_ rate: ByteCount?, at now: MonotonicInstant) {
    fill(at: now)
    self.rate = rate
    available = min(available, 0)
    if rate == nil { available = 0 }
  }

  /// A transfer that takes nothing yet.
  package mutating func join(_ member: UInt64, _ claim: Claim) {
    members[member] = Member(claim: claim)
  }

  /// Another claim of one that has joined; it counts from its next turn on.
  package mutating func change(_ member: UInt64, to claim: Claim) {
    guard members[member]?.claim != claim else { return }
    if members[member]?.claim.urgency != claim.urgency { members[member]?.position = 0 }
    members[member]?.claim = claim
  }

  /// It wants nothing for now; what it has not used goes to the others.
  package mutating func rest(_ member: UInt64) {
    guard let known = members[member] else { return }
    members[member]?.waitsSince = nil
    members[member]?.credit = 0
    available += known.credit
  }

  /// It is over.
  package mutating func leave(_ member: UInt64) {
    rest(member)
    members[member] = nil
  }

  /// Whether anyone waits.
  package var isAwaited: Bool { members.values.contains { $0.waitsSince != nil } }

  /// Whether the member may take so many bytes, at most ``largestSpan``; it has taken them then. Otherwise it waits for
  /// ``grant(at:)`` to name it.
  package mutating func take(_ count: Int, by member: UInt64, at now: MonotonicInstant) -> Bool {
    guard rate != nil, let known = members[member] else { return true }
    if known.credit <= 0 {
      fill(at: now)
      guard available > 0, !isBehind(member, at: now) else {
        if known.waitsSince == nil { members[member]?.waitsSince = now }
        return false
      }
      serve(member)
    }
    members[member]?.credit -= Double(count)
    return true
  }

  /// Gives what there is to those that wait, and names the ones that go on, in their order.
  package mutating func grant(at now: MonotonicInstant) -> [UInt64] {
    guard rate != nil else {
      let all = members.filter { $0.value.waitsSince != nil }.keys
      for member in all { members[member]?.waitsSince = nil }
      return all.sorted()
    }
    fill(at: now)
    var served: [UInt64] = []
    while available > 0, let next = first(at: now) {
      serve(next)
      served.append(next)
    }
    return served
  }

  /// The time until someone who waits may go on; nil where none waits.
  package func nextTurn(at now: MonotonicInstant) -> Duration? {
    guard isAwaited else { return nil }
    guard let rate, let filled else { return .zero }
    let missing = -available - (now - filled).inSeconds * Double(rate.rawValue)
    guard missing >= 0 else { return .zero }
    // A nanosecond more, so that there is something by then.
    return .nanoseconds(Int64(clamping: missing / Double(rate.rawValue) * 1e9) + 1)
  }

  private mutating func fill(at now: MonotonicInstant) {
    defer { filled = max(now, filled ?? now) }
    guard let rate, let filled, now > filled else { return }
    let speed = Double(rate.rawValue)
    available = min(available + (now - filled).inSeconds * speed, max(available, speed * Self.backlog))
  }

  /// The bytes of one turn.
  private var quantum: Double {
    max(Double(Self.largestSpan), Double(rate?.rawValue ?? 0) * Self.turn)
  }

  private mutating func serve(_ member: UInt64) {
    guard let known = members[member] else { return }
    let (start, quantum) = (start(of: known), quantum)
    front[known.claim.urgency] = start
    members[member]?.position = start + quantum / known.claim.weight
    members[member]?.credit += quantum
    members[member]?.waitsSince = nil
    available -= quantum
  }

  private func start(of member: Member) -> Double {
    max(member.position, front[member.claim.urgency] ?? 0)
  }

  /// Whether one that waits goes before the member.
  private func isBehind(_ member: UInt64, at now: MonotonicInstant) -> Bool {
    guard let own = members[member] else { return false }
    return members.contains { key, other in
      key != member && other.waitsSince != nil && isBefore((key, other), (member, own), at: now)
    }
  }

  private func first(at now: MonotonicInstant) -> UInt64? {
    members.filter { $0.value.waitsSince != nil }
      .min { isBefore(($0.key, $0.value), ($1.key, $1.value), at: now) }?.key
  }

  private func isBefore(
    _ left: (key: UInt64, member: Member), _ right: (key: UInt64, member: Member), at now: MonotonicInstant
  ) -> Bool {
    let (hasLongWaited, other) = (isOverdue(left.member, at: now), isOverdue(right.member, at: now))
    guard hasLongWaited == other else { return hasLongWaited }
    guard left.member.claim.urgency == right.member.claim.urgency else {
      return left.member.claim.urgency > right.member.claim.urgency
    }
    let (start, end) = (start(of: left.member), start(of: right.member))
    return start == end ? left.key < right.key : start < end
  }

  /// Whether its smallest part is due.
  private func isOverdue(_ member: Member, at now: MonotonicInstant) -> Bool {
    guard let rate, let since = member.waitsSince else { return false }
    let longest = quantum / (Double(rate.rawValue) * Self.smallestPart)
    return (now - since).inSeconds >= min(longest, Self.longestWait.inSeconds)
  }
}
