import Synchronization

/// Counts the bodies of a grant or a device on every loop at once, without a lock, and holds them against a
/// ``TokenBucket``. Bytes are counted when the kernel accepts them and charged to the bucket in batches, so that a
/// small range needs no look at the clock.
package struct RateMeter: ~Copyable {
  /// Bytes that are charged for a body beside its own: about the price of its head and its handling.
  static let bodyCost: Int64 = 512
  /// The most bytes that are not charged yet when another body may begin.
  static let largestBatch: Int64 = 1 << 20

  private let bytes = Atomic<Int64>(0)
  private let begun = Atomic<Int>(0)
  private let ended = Atomic<Int>(0)
  /// Bodies that began and ended in one step, and are in neither of the two above.
  private let atOnce = Atomic<Int>(0)
  /// The part of ``bytes`` and of the bodies' costs that is charged.
  private let charged = Atomic<Int64>(0)
  private let paidUntil: Atomic<UInt64>

  /// `start` is the present, in nanoseconds of the clock that ``delay(by:now:)`` gets.
  package init(start: UInt64) {
    paidUntil = Atomic(start)
  }

  func didBegin() { begun.add(1, ordering: .relaxed) }

  package func didEnd() { ended.add(1, ordering: .relaxed) }

  func didSend(_ count: Int) { bytes.add(Int64(count), ordering: .relaxed) }

  /// A body that began and ended in one step; it never ran beside another.
  func didSendAtOnce(_ count: Int) {
    bytes.add(Int64(count), ordering: .relaxed)
    atOnce.add(1, ordering: .relaxed)
  }

  /// Bytes since the meter was made.
  package var total: Int64 { bytes.load(ordering: .relaxed) }

  /// Bodies that are running.
  package var bodies: Int { begun.load(ordering: .relaxed) - ended.load(ordering: .relaxed) }

  /// Bytes that the bucket has room for at `now`.
  package func room(in bucket: TokenBucket, now: UInt64) -> Int64 {
    bucket.room(beyond: pending, paidUntil: paidUntil.load(ordering: .relaxed), now: now)
  }

  /// Bytes that are not charged yet.
  private var pending: Int64 {
    let bodies = Int64(begun.load(ordering: .relaxed) + atOnce.load(ordering: .relaxed))
    return total + bodies * Self.bodyCost - charged.load(ordering: .relaxed)
  }

  /// Nanoseconds until the bucket lets another body begin; zero when it may begin now. Loops that ask at the same moment
  /// may each let one in.
  package func delay(by bucket: TokenBucket, now: () -> UInt64) -> UInt64 {
    while true {
      let pending = pending
      guard pending >= min(Self.largestBatch, bucket.burst / 4) else { return 0 }
      let before = paidUntil.load(ordering: .relaxed)
      switch bucket.charge(pending, paidUntil: before, now: now()) {
      case .wait(let nanoseconds): return nanoseconds
      case .paid(let until):
        guard paidUntil.compareExchange(expected: before, desired: until, ordering: .relaxed).exchanged else {
          continue
        }
        charged.add(pending, ordering: .relaxed)
        return 0
      }
    }
  }
}
